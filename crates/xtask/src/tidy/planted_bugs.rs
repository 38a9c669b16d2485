//! Planted bugs still fit the code, and each was found by those who have to find it.

use crate::planted;
use crate::tree::{Tree, Violation};

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let bugs = match planted::read_all(tree) {
        Ok(bugs) => bugs,
        Err(error) => return vec![Violation::of(planted::LISTS, format!("{error:#}"))],
    };
    let mut violations = Vec::new();
    for bug in &bugs {
        for change in &bug.changes {
            if !stands_once(tree, &change.file, &change.find) {
                let file = &change.file;
                let what = format!("'{}': what to find does not stand once in {file}", bug.name);
                violations.push(Violation::of(planted::LISTS, what));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_change_of_a_bug_has_to_fit_one_place() {
        let list = "[[bug]]\nname = \"n\"\nbreaks = \"b\"\nkind = \"fight\"\nbackend = \"sqlite\"\n\
                    [[bug.change]]\nfile = \"a.rs\"\nfind = \"x\"\nreplace = \"PLANTED || x\"\n";
        let path = &format!("{}/kinds.toml", planted::LISTS);
        let result =
            "[{\"bug\":\"n\",\"breaks\":\"b\",\"hunter\":\"h\",\"found\":true,\"seconds\":1.0}]";
        let tree =
            |text, result| Tree::of(&[(path, list), ("a.rs", text), (planted::RESULTS, result)]);
        let violations = |text| check(&tree(text, result)).len();
        assert_eq!(check(&tree("x", "[]")).len(), 1);
        assert_eq!(violations("x"), 0);
        assert_eq!(violations("x x"), 1);
        assert_eq!(violations("y"), 1);
        assert_eq!(check(&Tree::of(&[(path, "[[bug]]")])).len(), 1);
    }
}
