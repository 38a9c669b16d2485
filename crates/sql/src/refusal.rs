//! Values that a database has no place for, found before it is asked.

use actix_persistence_storage_api::EventRecord;
use serde::de::IgnoredAny;

use crate::Dialect;

/// Returns the reason why an event cannot be stored, if there is one.
pub(crate) fn of_event<D: Dialect>(options: &D::Options, event: &EventRecord) -> Option<String> {
    let of_text = event.unfit_text();
    of_text.or_else(|| D::refuses(options, &event.payload.bytes))
}

/// Returns the reason why bytes cannot go into a column of JSON, if there is one.
pub fn refuses_no_json(bytes: &[u8]) -> Option<String> {
    // Skipped text is not looked at closely enough to find bytes that are not UTF-8.
    let is_json = std::str::from_utf8(bytes)
        .is_ok_and(|text| serde_json::from_str::<IgnoredAny>(text).is_ok());
    let message = "it is not JSON, which 'payload-column = \"json\"' asks for; use a serializer that writes JSON";
    (!is_json).then(|| message.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_json_goes_into_a_column_of_json() {
        for good in ["{}", "null", " [1, 2.5e300, \"\\u0000\"] ", "\"\u{1f980}\""] {
            assert_eq!(refuses_no_json(good.as_bytes()), None, "{good}");
        }
        let deep = "[".repeat(100_000);
        for bad in [
            "",
            "{",
            "{} {}",
            "\u{feff}1",
            "'a'",
            "\"\0\"",
            "NaN",
            deep.as_str(),
        ] {
            assert!(refuses_no_json(bad.as_bytes()).is_some(), "{bad}");
        }
        assert!(refuses_no_json(b"\"\xff\"").is_some());
    }
}
