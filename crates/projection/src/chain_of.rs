//! The text of an error with all of its causes.

use std::error::Error;

/// Returns an error with all of its causes.
pub(crate) fn chain_of(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let message = error.to_string();
        if !text.ends_with(&message) {
            text = format!("{text}: {message}");
        }
        cause = error.source();
    }
    text
}
