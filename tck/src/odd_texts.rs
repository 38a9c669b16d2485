//! Texts that databases, file systems and query languages like to get wrong.

use actix_persistence_storage_api::PersistenceId;

/// The short texts that stores may confuse, all different byte by byte, none blank, none with NUL.
pub(crate) const ODD_TEXTS: &[&str] = &[
    // Case, and letters whose case depends on the locale.
    "case",
    "Case",
    "CASE",
    "i",
    "I",
    "\u{130}",
    "\u{131}",
    // Accents: composed, decomposed, and none; folds of collations.
    "e",
    "\u{e9}",
    "e\u{301}",
    "strasse",
    "stra\u{df}e",
    "ff",
    "\u{fb00}",
    // White space at the ends, and what counts as nothing to some collations.
    "space",
    "space ",
    "space  ",
    " space",
    "space\t",
    "space\n",
    "space\u{a0}",
    "space\u{200b}",
    "spa\u{ad}ce",
    // Wildcards, quotes, escapes, comments.
    "a%",
    "a_",
    "a*",
    "a?",
    "ab",
    "a'b",
    "a''b",
    "a\"b",
    "a`b",
    "a\\b",
    "a\\\\b",
    "a;--",
    "a/*b*/",
    "$1",
    ":a",
    "{a}",
    // Paths and devices.
    "../a",
    "a/b",
    "a:b",
    "CON",
    ".",
    "..",
    // Things that look like something else.
    "0",
    "00",
    "0.0",
    "1e0",
    "null",
    "NULL",
    "true",
    "a|b",
    "a|b|c",
    // Beyond the first plane, and right to left.
    "\u{1f980}",
    "\u{1f980}\u{1f980}",
    "\u{1f468}\u{200d}\u{1f469}",
    "\u{5d0}\u{5d1}",
    "\u{feff}a",
    "\u{1}",
    "\u{7f}",
    "\u{10ffff}",
];

/// Returns valid persistence ids that must be kept apart: the odd texts, and three of the greatest length.
pub(crate) fn odd_ids() -> Vec<PersistenceId> {
    let longest = [
        "x".repeat(255),
        format!("{}y", "x".repeat(254)),
        "\u{20ac}".repeat(85),
    ];
    let longest = longest.iter().map(String::as_str);
    ODD_TEXTS
        .iter()
        .copied()
        .chain(longest)
        .map(PersistenceId::of_unique)
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn odd_ids_are_valid_and_different() {
        let ids = odd_ids();
        for id in &ids {
            assert_eq!(id.validate(), Ok(()), "{id:?}");
        }
        let different: HashSet<_> = ids.iter().map(PersistenceId::as_str).collect();
        assert_eq!(different.len(), ids.len());
    }
}
