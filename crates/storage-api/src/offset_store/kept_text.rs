//! Texts for a person, as every store can keep them.

use std::borrow::Cow;

/// The most bytes of a text that [`kept_text`] leaves.
const MOST_BYTES: usize = 8 * 1024;

/// Returns a text for a person as every store keeps it: without NUL, for which U+FFFD stands, and of 8 KiB of UTF-8 at most.
///
/// For plugins. Errors of handlers are of any length and hold anything; they are cut rather than refused.
pub fn kept_text(text: &str) -> Cow<'_, str> {
    let text = match text.contains('\0') {
        true => Cow::Owned(text.replace('\0', "\u{fffd}")),
        false => Cow::Borrowed(text),
    };
    if text.len() <= MOST_BYTES {
        return text;
    }
    let mut end = MOST_BYTES;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    Cow::Owned(text[..end].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kept_text_has_no_nul_and_is_cut_between_characters() {
        assert_eq!(kept_text("a\0b"), "a\u{fffd}b");
        let long = "ü".repeat(MOST_BYTES);
        assert_eq!(kept_text(&long).len(), MOST_BYTES);
        let odd = format!("a{long}");
        assert_eq!(kept_text(&odd).len(), MOST_BYTES - 1);
        let grows = "\0".repeat(MOST_BYTES);
        assert!(kept_text(&grows).len() <= MOST_BYTES);
    }
}
