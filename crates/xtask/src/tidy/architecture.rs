//! The architecture page is short and names the crates that exist.

use std::collections::BTreeSet;

use super::tree::{Tree, Violation};

const PAGE: &str = "docs/ARCHITECTURE.md";
const LONGEST_PAGE: usize = 150;

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let Some(page) = tree.text(PAGE) else {
        return vec![Violation::of(
            PAGE,
            "is missing, write how the crates fit together",
        )];
    };
    let mut violations = Vec::new();
    let lines = page.lines().count();
    if lines > LONGEST_PAGE {
        let message = format!("{lines} lines are more than {LONGEST_PAGE}, say less");
        violations.push(Violation::of(PAGE, message));
    }
    let folders = tree.crate_folders();
    let named = named_folders(page);
    for folder in folders.iter().filter(|folder| !names(page, folder)) {
        let message = format!("does not name the crate {folder}");
        violations.push(Violation::of(PAGE, message));
    }
    for folder in named.iter().filter(|folder| !folders.contains(*folder)) {
        let message = format!("names {folder}, which is no crate");
        violations.push(Violation::of(PAGE, message));
    }
    violations
}

/// Whether the page has the last part of the folder as a word of its own.
fn names(page: &str, folder: &str) -> bool {
    let name = folder.rsplit('/').next().unwrap_or(folder);
    words(page).any(|word| word.split('/').any(|part| part == name))
}

/// What the page gives as the path of a crate.
fn named_folders(page: &str) -> BTreeSet<&str> {
    words(page)
        .filter_map(|word| {
            let (parent, rest) = word.split_once('/')?;
            let name = rest.split('/').next().filter(|name| !name.is_empty())?;
            let folder = &word[..parent.len() + 1 + name.len()];
            ["crates", "examples"].contains(&parent).then_some(folder)
        })
        .collect()
}

/// Runs of what names and paths are made of.
fn words(page: &str) -> impl Iterator<Item = &str> {
    page.split(|c: char| !(c.is_ascii_alphanumeric() || "-_/".contains(c)))
        .filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn violations(page: &str) -> Vec<String> {
        let tree = Tree::of(&[
            (PAGE, page),
            ("crates/memory/Cargo.toml", ""),
            ("tck/Cargo.toml", ""),
            ("examples/bank-account/Cargo.toml", ""),
        ]);
        check(&tree).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_page_that_names_the_crates_that_exist_passes() {
        for page in [
            "`crates/memory`, `tck` and `examples/bank-account`.",
            "crates/\n  memory/   the reference\ntck/\nexamples/\n  bank-account/",
            "See crates/memory/src/lib.rs, tck/src and examples/bank-account.",
        ] {
            assert_eq!(violations(page), [""; 0], "{page}");
        }
    }

    #[test]
    fn a_crate_that_is_not_named_is_found() {
        assert_eq!(
            violations("`memory-like`, `tck`, bank-account"),
            ["docs/ARCHITECTURE.md: does not name the crate crates/memory"]
        );
    }

    #[test]
    fn a_name_without_a_crate_is_found() {
        assert_eq!(
            violations("crates/memory, crates/oracle, tck, examples/bank-account"),
            ["docs/ARCHITECTURE.md: names crates/oracle, which is no crate"]
        );
    }

    #[test]
    fn a_page_that_is_long_or_missing_is_found() {
        let long = format!("memory tck bank-account{}", "\n".repeat(151));
        assert_eq!(
            violations(&long),
            ["docs/ARCHITECTURE.md: 151 lines are more than 150, say less"]
        );
        assert_eq!(check(&Tree::of(&[])).len(), 1);
    }
}
