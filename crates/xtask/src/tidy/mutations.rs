//! The faults that the model of the persistent actor , the torture and tests have to find still fit the code.

use crate::mutations::{LIST, SOURCES, parse};
use crate::planted;
use crate::tree::{Tree, Violation};

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let Some(list) = tree.text(LIST) else {
        return Vec::new();
    };
    let mutations = match parse(list) {
        Ok(mutations) => mutations,
        Err(error) => return vec![Violation::of(LIST, format!("{error:#}"))],
    };
    let misfit = mutations.iter().filter(|mutation| {
        let path = format!("{SOURCES}/{}", mutation.file);
        !stands_once(tree, &path, &mutation.find)
    });
    misfit
        .map(|mutation| misfits(LIST, &mutation.name, &mutation.file))
        .collect()
}

/// The same for planted bugs.
pub(super) fn check_planted(tree: &Tree) -> Vec<Violation> {
    let bugs = match planted::read_all(tree) {
        Ok(bugs) => bugs,
        Err(error) => return vec![Violation::of(planted::LISTS, format!("{error:#}"))],
    };
    let mut violations = Vec::new();
    for bug in &bugs {
        for change in &bug.changes {
            if !stands_once(tree, &change.file, &change.find) {
                violations.push(misfits(planted::LISTS, &bug.name, &change.file));
            }
        }
    }
    let found = planted::found(tree.text(planted::RESULTS).unwrap_or_default());
    let missing = bugs.iter().filter(|bug| !found.contains(&bug.name));
    violations.extend(missing.map(|bug| {
        let what = format!(
            "has no result for '{}': run `cargo xtask planted {} --json {}`",
            bug.name,
            bug.name,
            planted::RESULTS
        );
        Violation::of(planted::RESULTS, what)
    }));
    violations
}

fn stands_once(tree: &Tree, path: &str, find: &str) -> bool {
    tree.text(path)
        .is_some_and(|text| text.matches(find).count() == 1)
}

fn misfits(list: &str, name: &str, file: &str) -> Violation {
    let what = format!("'{name}': what to find does not stand once in {file}");
    Violation::of(list, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_has_to_fit_one_place() {
        let list = "[[mutation]]\nname = \"n\"\nfile = \"a.rs\"\nfind = \"x\"\nreplace = \"y\"\n";
        let source = format!("{SOURCES}/a.rs");
        let violations = |text| check(&Tree::of(&[(LIST, list), (&source, text)])).len();
        assert_eq!(violations("x"), 0);
        assert_eq!(violations("x x"), 1);
        assert_eq!(violations("y"), 1);
        assert_eq!(check(&Tree::of(&[(LIST, "[[mutation]]")])).len(), 1);
    }

    #[test]
    fn each_change_of_a_bug_has_to_fit_one_place() {
        let list = "[[bug]]\nname = \"n\"\nbreaks = \"b\"\nkind = \"fight\"\nbackend = \"sqlite\"\n\
                    [[bug.change]]\nfile = \"a.rs\"\nfind = \"x\"\nreplace = \"PLANTED || x\"\n";
        let path = &format!("{}/kinds.toml", planted::LISTS);
        let result =
            "[{\"bug\":\"n\",\"breaks\":\"b\",\"hunter\":\"h\",\"found\":true,\"seconds\":1.0}]";
        let tree =
            |text, result| Tree::of(&[(path, list), ("a.rs", text), (planted::RESULTS, result)]);
        let violations = |text| check_planted(&tree(text, result)).len();
        assert_eq!(check_planted(&tree("x", "[]")).len(), 1);
        assert_eq!(violations("x"), 0);
        assert_eq!(violations("x x"), 1);
        assert_eq!(violations("y"), 1);
        assert_eq!(check_planted(&Tree::of(&[(path, "[[bug]]")])).len(), 1);
    }
}
