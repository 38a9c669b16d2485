//! The tags of an event in one text: `<bytes>:<tag>` one after the other.

use std::sync::Arc;

/// Takes the tags apart; `None` if the text is not what the replay statement makes.
pub(super) fn unpack(mut packed: &str) -> Option<Vec<Arc<str>>> {
    let mut tags = Vec::new();
    while !packed.is_empty() {
        let (bytes, rest) = packed.split_once(':')?;
        let (tag, rest) = rest.split_at_checked(bytes.parse().ok()?)?;
        tags.push(Arc::from(tag));
        packed = rest;
    }
    Some(tags)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unpacked(packed: &str) -> Option<Vec<String>> {
        let tags = unpack(packed)?;
        Some(tags.iter().map(|tag| tag.to_string()).collect())
    }

    #[test]
    fn tags_may_hold_anything() {
        assert_eq!(unpacked("").unwrap(), [""; 0]);
        assert_eq!(unpacked("1:a").unwrap(), ["a"]);
        assert_eq!(unpacked("0:3:1:22:ü").unwrap(), ["", "1:2", "ü"]);
        assert_eq!(
            unpacked("4:a,\"\n2:\0\u{1}").unwrap(),
            ["a,\"\n", "\0\u{1}"]
        );
    }

    #[test]
    fn what_is_damaged_is_refused() {
        for packed in [
            "a",
            "2:a",
            "1:ü",
            "x:a",
            "1:ab",
            "-1:a",
            "99999999999999999999:a",
        ] {
            assert_eq!(unpacked(packed), None, "{packed:?}");
        }
    }
}
