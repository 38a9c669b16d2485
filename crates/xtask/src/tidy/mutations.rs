//! The faults that the model of the persistent actor has to find still fit the code.

use crate::mutations::{LIST, SOURCES, parse};
use crate::tidy::{Tree, Violation};

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
        let times = tree
            .text(&path)
            .map_or(0, |text| text.matches(&mutation.find).count());
        times != 1
    });
    misfit
        .map(|mutation| {
            let what = format!(
                "'{}': what to find does not stand once in {}",
                mutation.name, mutation.file
            );
            Violation::of(LIST, what)
        })
        .collect()
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
}
