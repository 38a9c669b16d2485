//! The reasons of errors of serde without the value: their texts quote it, and errors are logged and sent to askers.

use std::error::Error;

use serde_json::error::Category;

use super::guarded::{NOT_FINITE, TOO_DEEP};
use super::serde_format::NOTHING_READ;

type Failure = Box<dyn Error + Send + Sync>;

/// The texts of errors in which nothing of a value stands.
const SAFE: [&str; 4] = [
    TOO_DEEP,
    NOT_FINITE,
    NOTHING_READ,
    // From `serde_json`.
    "key must be a string",
];

/// Returns why a value could not be encoded, as far as that can be told without the value.
pub(super) fn of_encoding(failure: &Failure) -> &'static str {
    safe_text(failure).unwrap_or(
        "the format has no form for it, or its `Serialize` failed; their text is not shown, as it may quote the value",
    )
}

/// Returns why bytes could not be decoded, as far as that can be told without the value.
pub(super) fn of_decoding(failure: &Failure) -> String {
    if let Some(error) = failure.downcast_ref::<serde_json::Error>() {
        return of_json(error);
    }
    let reason = match failure.downcast_ref::<rmp_serde::decode::Error>() {
        Some(error) => of_message_pack(error),
        None => safe_text(failure).unwrap_or(NO_VALUE),
    };
    reason.to_owned()
}

const NO_VALUE: &str = "they are no value of the type";

fn safe_text(failure: &Failure) -> Option<&'static str> {
    let text = failure.to_string();
    SAFE.into_iter().find(|safe| text.contains(safe))
}

fn of_json(error: &serde_json::Error) -> String {
    let reason = match error.classify() {
        Category::Data => NO_VALUE,
        Category::Eof => "they end too early",
        Category::Syntax | Category::Io => "they are not well-formed",
    };
    match (error.line(), error.column()) {
        // The place is not known where serde keeps a part of the value to look at it again.
        (0, _) => reason.to_owned(),
        (line, column) => format!("{reason}, at line {line} column {column}"),
    }
}

fn of_message_pack(error: &rmp_serde::decode::Error) -> &'static str {
    use rmp_serde::decode::Error as Problem;
    match error {
        Problem::InvalidMarkerRead(_) | Problem::InvalidDataRead(_) => "they end too early",
        Problem::TypeMismatch(_) => "a part of them is of another type",
        Problem::OutOfRange => "a number is out of range",
        Problem::LengthMismatch(_) => "a list or a map is of another length",
        Problem::Utf8Error(_) => "a text is not UTF-8",
        Problem::DepthLimitExceeded => TOO_DEEP,
        Problem::Uncategorized(_) | Problem::Syntax(_) => NO_VALUE,
    }
}
