//! Clauses, the page that collects them, and the cases that prove them belong together.

use std::collections::{BTreeMap, BTreeSet};

use crate::contract;
use crate::tree::{Tree, Violation};

/// The folder of the cases.
const CASES: &str = "tck/src";

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let clauses = contract::clause_ids(tree);
    let mut violations = Vec::new();
    violations.extend(doubles(&clauses));
    violations.extend(page(tree));
    violations.extend(cases(tree, &clauses));
    violations
}

fn doubles(clauses: &[String]) -> Vec<Violation> {
    let mut seen = BTreeSet::new();
    let again = clauses.iter().filter(|id| !seen.insert(*id));
    again
        .map(|id| {
            Violation::of(
                "crates/storage-api/src",
                format!("{id} is the number of two clauses"),
            )
        })
        .collect()
}

fn page(tree: &Tree) -> Option<Violation> {
    let current = tree.text(contract::PAGE) == Some(contract::page(tree).as_str());
    (!current).then(|| {
        let message = "does not show the clauses as they are, run `cargo xtask fix`";
        Violation::of(contract::PAGE, message)
    })
}

fn cases(tree: &Tree, clauses: &[String]) -> Vec<Violation> {
    let mut cited: BTreeMap<String, &str> = BTreeMap::new();
    let sources = tree.below(CASES);
    for file in sources.filter(|file| !file.path.ends_with("tests.rs")) {
        for id in contract::citations(&file.text) {
            cited.entry(id).or_insert(&file.path);
        }
    }
    let unproved = clauses.iter().filter(|id| !cited.contains_key(*id));
    let unknown = cited.iter().filter(|(id, _)| !clauses.contains(id));
    unproved
        .map(|id| {
            Violation::of(
                CASES,
                format!("no case cites {id}, write one that fails without it"),
            )
        })
        .chain(
            unknown.map(|(id, path)| {
                Violation::of(path, format!("{id} is no clause of the contract"))
            }),
        )
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOURNAL: &str = "\
/// # Contract
/// - **J-WRITE-1**: stores.
async fn write();
";

    fn violations(journal: &str, cases: &str, page: Option<&str>) -> Vec<String> {
        let mut files = vec![
            ("crates/storage-api/src/journal.rs", journal),
            ("tck/src/journal.rs", cases),
        ];
        let generated = contract::page(&Tree::of(&files));
        files.push((contract::PAGE, page.unwrap_or(&generated)));
        check(&Tree::of(&files))
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn a_contract_whose_clauses_are_shown_and_proved_passes() {
        assert_eq!(
            violations(JOURNAL, "clauses: &[\"J-WRITE-1\"]", None),
            [""; 0]
        );
    }

    #[test]
    fn an_old_page_is_found() {
        assert_eq!(
            violations(JOURNAL, "\"J-WRITE-1\"", Some("old")),
            [
                "docs/storage-contract.md: does not show the clauses as they are, run `cargo xtask fix`"
            ]
        );
    }

    #[test]
    fn a_clause_without_a_case_is_found() {
        assert_eq!(
            violations(JOURNAL, "// J-WRITE-1", None),
            ["tck/src: no case cites J-WRITE-1, write one that fails without it"]
        );
    }

    #[test]
    fn a_case_for_no_clause_is_found() {
        assert_eq!(
            violations(JOURNAL, "\"J-WRITE-1\" \"J-WRITE-7\"", None),
            ["tck/src/journal.rs: J-WRITE-7 is no clause of the contract"]
        );
    }

    #[test]
    fn a_number_given_twice_is_found() {
        let twice = JOURNAL.repeat(2);
        assert_eq!(
            violations(&twice, "\"J-WRITE-1\"", None),
            ["crates/storage-api/src: J-WRITE-1 is the number of two clauses"]
        );
    }
}
