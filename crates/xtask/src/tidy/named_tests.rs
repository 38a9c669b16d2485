//! The pages of the guide that name tests name tests that exist.

use crate::tree::{Tree, Violation};

const PAGES: [&str; 3] = [
    "docs/RELIABILITY.md",
    "docs/guide/known-faults.md",
    "docs/guide/rules.md",
];

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let pages = PAGES.into_iter();
    pages.flat_map(|page| check_page(tree, page)).collect()
}

fn check_page(tree: &Tree, path: &str) -> Vec<Violation> {
    let Some(page) = tree.text(path) else {
        return Vec::new();
    };
    let mut violations = Vec::new();
    for (index, line) in page.lines().enumerate() {
        let quoted = line.split('`').skip(1).step_by(2);
        for (file, test) in quoted.filter_map(named_test) {
            if !exists(tree, file, test) {
                let message = format!(
                    "there is no test `{test}` in a file {file}.rs, name the one that shows it"
                );
                violations.push(Violation::at(path, index + 1, message));
            }
        }
    }
    violations
}

/// File and test, if both have the form of such names; the file may have folders before it.
fn named_test(text: &str) -> Option<(&str, &str)> {
    let (file, test) = text.split_once("::")?;
    let is_name = |name: &str| {
        name.chars()
            .all(|c| c == '_' || c.is_ascii_lowercase() || c.is_ascii_digit())
    };
    let names = file.split('/').all(is_name) && is_name(test);
    (names && (file, test) != ("file", "test")).then_some((file, test))
}

fn exists(tree: &Tree, file: &str, test: &str) -> bool {
    let (name, function) = (format!("/{file}.rs"), format!("fn {test}("));
    tree.rust_files()
        .any(|source| source.path.ends_with(&name) && source.text.contains(&function))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn violations(page: &str) -> Vec<String> {
        let test = "#[test]\nfn nothing_is_lost() {}\n";
        let tree = Tree::of(&[(PAGES[0], page), ("crates/a/tests/it/recovery.rs", test)]);
        check(&tree).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_test_that_exists_and_other_code_pass() {
        let page = "A test is `file::test`.\n| 1 | `recovery::nothing_is_lost`, `Recovery::none` |\n\
                    | 2 | `it/recovery::nothing_is_lost` |";
        assert_eq!(violations(page), [""; 0]);
    }

    #[test]
    fn a_test_that_does_not_exist_or_is_elsewhere_is_found() {
        let expected = |test, file| {
            format!(
                "{}:2: there is no test `{test}` in a file {file}.rs, name the one that shows it",
                PAGES[0]
            )
        };
        assert_eq!(
            violations(
                "\n`recovery::nothing_is_found`, `failures::nothing_is_lost`, `src/recovery::nothing_is_lost`"
            ),
            [
                expected("nothing_is_found", "recovery"),
                expected("nothing_is_lost", "failures"),
                expected("nothing_is_lost", "src/recovery")
            ]
        );
    }
}
