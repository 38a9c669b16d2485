//! The crates of the databases look alike, so that their difference reads as a guide to the dialects.

use std::collections::BTreeSet;

use crate::tree::{SourceFile, Tree, Violation};

/// The crates that are one database each.
const DATABASES: [&str; 3] = ["crates/sqlite", "crates/postgres", "crates/mysql"];

/// The files that each of them has in `src`.
const PRESCRIBED: [&str; 9] = [
    "lib.rs",
    "dialect.rs",
    "connection.rs",
    "error.rs",
    "journal.rs",
    "options.rs",
    "queries.rs",
    "schema.rs",
    "session.rs",
];

/// The crate that they share.
const SHARED: &str = "crates/sql/src";

/// The call that puts names into SQL text, at one place of the shared crate; put together so that this file is not such
/// a place.
const AUDITED_CALL: &str = concat!("AssertSqlSafe", "(");

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut first: Option<(&str, BTreeSet<&str>)> = None;
    let shared: Vec<_> = tree.below(SHARED).collect();
    violations.extend(audited_calls(
        SHARED,
        &shared,
        usize::from(!shared.is_empty()),
    ));
    for folder in DATABASES {
        let source = format!("{folder}/src");
        let files: Vec<_> = tree.below(&source).collect();
        if files.is_empty() {
            continue;
        }
        violations.extend(audited_calls(&source, &files, 0));
        let names: BTreeSet<&str> = files
            .iter()
            .filter_map(|file| file.path.strip_prefix(&source)?.strip_prefix('/'))
            .filter(|name| !name.contains('/'))
            .collect();
        for missing in PRESCRIBED.iter().filter(|name| !names.contains(*name)) {
            let message = format!("`{missing}` is missing, every database crate has it");
            violations.push(Violation::of(&source, message));
        }
        let (model, expected) = first.get_or_insert_with(|| (folder, names.clone()));
        for odd in names.symmetric_difference(expected) {
            let message = format!("`{odd}` is either here or in {model}, not in both");
            violations.push(Violation::of(&source, message));
        }
    }
    violations
}

fn audited_calls(source: &str, files: &[&SourceFile], expected: usize) -> Option<Violation> {
    let code = files.iter().flat_map(|file| file.text.lines());
    let calls: usize = code
        .filter(|line| !line.trim_start().starts_with("//"))
        .map(|line| line.matches(AUDITED_CALL).count())
        .sum();
    (calls != expected).then(|| {
        let message =
            format!("{calls} calls of `{AUDITED_CALL}..)` instead of {expected}: names enter SQL at one place of `{SHARED}`");
        Violation::of(source, message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder, the prescribed files that it lacks, and files that it has besides, with their text.
    type Crate<'a> = (&'a str, &'a [&'a str], &'a [(&'a str, &'a str)]);

    fn tree(crates: &[Crate<'_>]) -> Tree {
        let mut files = Vec::new();
        for (folder, without, with) in crates {
            for name in PRESCRIBED.iter().filter(|name| !without.contains(name)) {
                files.push((format!("{folder}/src/{name}"), String::new()));
            }
            for (name, text) in *with {
                files.push((format!("{folder}/src/{name}"), (*text).to_owned()));
            }
        }
        let files: Vec<_> = files
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()))
            .collect();
        Tree::of(&files)
    }

    fn violations(crates: &[Crate<'_>]) -> Vec<String> {
        check(&tree(crates))
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn alike_crates_pass() {
        let none = [""; 0];
        assert_eq!(violations(&[("crates/sqlite", &[], &[])]), none);
        let more: &[_] = &[("state_store.rs", ""), ("schema/tests.rs", "")];
        let less: &[_] = &[("state_store.rs", "")];
        assert_eq!(
            violations(&[("crates/sqlite", &[], more), ("crates/mysql", &[], less)]),
            none
        );
    }

    #[test]
    fn a_missing_file_is_named() {
        assert_eq!(
            violations(&[("crates/sqlite", &["schema.rs"], &[])]),
            ["crates/sqlite/src: `schema.rs` is missing, every database crate has it"]
        );
    }

    #[test]
    fn a_file_that_only_one_of_them_has_is_named() {
        let more: &[_] = &[("state_store.rs", "")];
        assert_eq!(
            violations(&[("crates/sqlite", &[], more), ("crates/mysql", &[], &[])]),
            ["crates/mysql/src: `state_store.rs` is either here or in crates/sqlite, not in both"]
        );
    }

    #[test]
    fn names_enter_sql_at_exactly_one_place() {
        let call = format!("// {AUDITED_CALL}\nuse x;\n{AUDITED_CALL}sql)");
        let found = |shared: &str, own: &str| {
            let tree = tree(&[("crates/sqlite", &["queries.rs"], &[("queries.rs", own)])]);
            let mut files: Vec<_> = tree
                .below("crates")
                .map(|file| (file.path.as_str(), file.text.as_str()))
                .collect();
            files.push(("crates/sql/src/names.rs", shared));
            let violations = check(&Tree::of(&files));
            violations
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
        };
        assert_eq!(found(&call, ""), [""; 0]);
        let [without] = &found("", "")[..] else {
            panic!("a place that is lost is found")
        };
        assert!(without.starts_with("crates/sql/src: 0 calls"), "{without}");
        let [second] = &found(&call, &call)[..] else {
            panic!("a second place is found")
        };
        assert!(second.starts_with("crates/sqlite/src: 1 calls"), "{second}");
    }
}
