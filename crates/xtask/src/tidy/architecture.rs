//! The architecture page is short and names the crates that exist.

use std::collections::BTreeSet;

use crate::tree::{Tree, Violation};

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
    let named = quoted(page);
    for folder in folders.iter().filter(|folder| !named.contains(*folder)) {
        let message = format!("does not name the crate `{folder}`, in backquotes");
        violations.push(Violation::of(PAGE, message));
    }
    let unknown = named.iter().filter(|name| !folders.contains(name));
    for name in unknown.filter(|name| is_folder_of_a_crate(name)) {
        let message = format!("names `{name}`, which is no crate");
        violations.push(Violation::of(PAGE, message));
    }
    violations
}

/// Returns the texts in backquotes on a page.
fn quoted(page: &str) -> BTreeSet<&str> {
    let lines = page.lines();
    lines
        .flat_map(|line| line.split('`').skip(1).step_by(2))
        .collect()
}

/// Returns whether a path has the form of a crate's folder.
fn is_folder_of_a_crate(path: &str) -> bool {
    matches!(path.split('/').collect::<Vec<_>>()[..], ["crates" | "examples", name] if !name.is_empty())
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
        let page = "`crates/memory` and `tck`.\n| `examples/bank-account` | see `crates/memory/src/lib.rs` in `crates/` |";
        assert_eq!(violations(page), [""; 0]);
    }

    #[test]
    fn a_crate_that_is_not_named_is_found() {
        assert_eq!(
            violations("`memory`, crates/memory, `tck`, `examples/bank-account`"),
            ["docs/ARCHITECTURE.md: does not name the crate `crates/memory`, in backquotes"]
        );
    }

    #[test]
    fn a_name_without_a_crate_is_found() {
        assert_eq!(
            violations("`crates/memory`, `crates/oracle`, `tck`, `examples/bank-account`"),
            ["docs/ARCHITECTURE.md: names `crates/oracle`, which is no crate"]
        );
    }

    #[test]
    fn a_page_that_is_long_or_missing_is_found() {
        let long = format!(
            "`crates/memory` `tck` `examples/bank-account`{}",
            "\n".repeat(151)
        );
        assert_eq!(
            violations(&long),
            ["docs/ARCHITECTURE.md: 151 lines are more than 150, say less"]
        );
        assert_eq!(check(&Tree::of(&[])).len(), 1);
    }
}
