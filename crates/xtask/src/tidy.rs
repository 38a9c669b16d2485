//! `cargo xtask tidy`: the house rules that no compiler knows.
//!
//! A rule is a function from the [`Tree`] of source files to what breaks it, so that it is tested on files that
//! exist only in its test.

mod architecture;
mod conformance;
mod database_crates;
mod english;
mod every_call;
mod function_names;
mod guide;
mod links;
mod machine_paths;
mod manifests;
mod named_tests;
mod oldest_rust;
mod planted_bugs;
mod published;
mod source_files;
mod versions;

use std::path::Path;
use std::process::ExitCode;

use crate::dependency_rule;
use crate::snippets;
use crate::tree::{Tree, Violation};
use crate::workspace::{self, Workspace};

type Rule = fn(&Tree) -> Vec<Violation>;

const RULES: [Rule; 17] = [
    source_files::check,
    machine_paths::check,
    manifests::check,
    planted_bugs::check,
    architecture::check,
    conformance::check,
    database_crates::check,
    english::check,
    every_call::check,
    function_names::check,
    guide::check,
    links::check,
    named_tests::check,
    oldest_rust::check,
    published::check,
    snippets::check,
    versions::check,
];

/// Checks the rules and the dependencies, and says what breaks them.
pub(crate) fn run() -> anyhow::Result<ExitCode> {
    let violations = check(&workspace::root())?;
    for violation in &violations {
        println!("{violation}");
    }
    let misdirected = dependency_rule::check(&Workspace::load()?);
    for violation in &misdirected {
        println!("{violation}");
    }
    let count = violations.len() + misdirected.len();
    match count {
        1 => println!("1 violation"),
        _ => println!("{count} violations"),
    }
    Ok(if count == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Checks every rule on the files below `root`.
pub(crate) fn check(root: &Path) -> anyhow::Result<Vec<Violation>> {
    let tree = Tree::load(root)?;
    Ok(RULES.iter().flat_map(|rule| rule(&tree)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_is_tidy() {
        let violations = check(&workspace::root()).unwrap();
        let lines: Vec<String> = violations.iter().map(ToString::to_string).collect();
        assert!(lines.is_empty(), "\n{}\n", lines.join("\n"));
    }
}
