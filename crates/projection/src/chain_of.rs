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

/// The most bytes of a reason that are stored.
const MOST_BYTES: usize = 8 * 1024;

/// Returns a reason as every database can keep it: without NUL, and cut.
pub(crate) fn stored(reason: &str) -> String {
    let mut reason = reason.replace('\0', "\u{fffd}");
    if reason.len() > MOST_BYTES {
        let mut end = MOST_BYTES;
        while !reason.is_char_boundary(end) {
            end -= 1;
        }
        reason.truncate(end);
    }
    reason
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_that_is_stored_has_no_nul_and_is_cut() {
        assert_eq!(stored("a\0b"), "a\u{fffd}b");
        let long = "ü".repeat(MOST_BYTES);
        assert_eq!(stored(&long).len(), MOST_BYTES);
        let odd = format!("a{long}");
        assert_eq!(stored(&odd).len(), MOST_BYTES - 1);
    }
}
