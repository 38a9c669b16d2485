//! The workflow builds each crate with the oldest Rust that its manifest names.

use std::collections::{BTreeMap, BTreeSet};

use toml::{Table, Value};

use super::published;
use crate::tree::{Tree, Violation};

/// The workflow, whose matrix has entries with a version of Rust, and the packages that are built with it.
const WORKFLOW: &str = ".github/workflows/ci.yml";
/// The text before the version of an entry.
const RUST: &str = "rust: \"";
/// The option before each package of an entry.
const PACKAGE: &str = "-p";

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let Some(workflow) = tree.text(WORKFLOW) else {
        return Vec::new();
    };
    let workspace = tree.text("Cargo.toml").unwrap_or_default();
    let workspace: Table = workspace.parse().unwrap_or_default();
    let of_workspace = text_at(&workspace, &["workspace", "package", "rust-version"]);
    let mut named = BTreeMap::new();
    let mut own = BTreeSet::new();
    for folder in tree.crate_folders() {
        let Some(manifest) = published::manifest(tree, folder) else {
            continue;
        };
        let Some(name) = text_at(&manifest, &["package", "name"]) else {
            continue;
        };
        let version = text_at(&manifest, &["package", "rust-version"]);
        if version.is_some() {
            own.insert(name.clone());
        }
        named.extend(
            version
                .or_else(|| of_workspace.clone())
                .map(|version| (name, version)),
        );
    }
    let mut violations = Vec::new();
    for (line, version, package) in built(workflow) {
        own.remove(package);
        match named.get(package) {
            Some(named) if named == version => {}
            Some(named) => {
                let text =
                    format!("builds {package} with Rust {version}, its manifest names {named}");
                violations.push(Violation::at(WORKFLOW, line, text));
            }
            None => {
                let text = format!("builds {package}, which is no published crate");
                violations.push(Violation::at(WORKFLOW, line, text));
            }
        }
    }
    let missing = own.iter().map(|name| {
        let text = format!("builds {name} with no oldest Rust, although its manifest names one");
        Violation::of(WORKFLOW, text)
    });
    violations.extend(missing);
    violations
}

/// Returns the line, from 1, the version of Rust and the name of each package that is built with it.
fn built(workflow: &str) -> Vec<(usize, &str, &str)> {
    let mut built = Vec::new();
    let mut version = None;
    for (at, line) in workflow.lines().enumerate() {
        if let Some((_, rest)) = line.split_once(RUST) {
            version = rest.split('"').next();
        } else if line.trim() == "steps:" {
            version = None;
        }
        let Some(version) = version else {
            continue;
        };
        let mut words = line.split_whitespace();
        while let Some(word) = words.next() {
            if word == PACKAGE {
                built.extend(words.next().map(|package| (at + 1, version, package)));
            }
        }
    }
    built
}

fn text_at(table: &Table, path: &[&str]) -> Option<String> {
    let (first, rest) = path.split_first()?;
    let found = rest
        .iter()
        .try_fold(table.get(*first)?, |value, key| value.get(*key));
    found.and_then(Value::as_str).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MATRIX: &str = "\
jobs:
  stable:
    run: cargo test -p ours-c
  oldest:
    matrix:
      - rust: \"1.89\"
        packages: >-
          -p ours-a
      - rust: \"1.94\"
        packages: -p ours-b --all-features
    steps:
      - run: cargo test -p ours-c
";

    fn found(workflow: &str) -> Vec<String> {
        let violations = check(&Tree::of(&[
            (WORKFLOW, workflow),
            (
                "Cargo.toml",
                "[workspace.package]\nrust-version = \"1.94\"\n",
            ),
            (
                "crates/a/Cargo.toml",
                "[package]\nname = \"ours-a\"\nrust-version = \"1.89\"\n",
            ),
            (
                "crates/b/Cargo.toml",
                "[package]\nname = \"ours-b\"\nrust-version.workspace = true\n",
            ),
            (
                "crates/c/Cargo.toml",
                "[package]\nname = \"ours-c\"\npublish = false\nrust-version = \"1.80\"\n",
            ),
        ]));
        violations.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn each_crate_is_built_with_the_version_that_it_names() {
        assert_eq!(found(MATRIX), [""; 0]);
        assert_eq!(
            found(&MATRIX.replace("1.89", "1.90")),
            [".github/workflows/ci.yml:8: builds ours-a with Rust 1.90, its manifest names 1.89"]
        );
        assert_eq!(
            found(&MATRIX.replace("ours-b", "ours-c")),
            [".github/workflows/ci.yml:10: builds ours-c, which is no published crate"]
        );
    }

    #[test]
    fn a_crate_with_a_version_of_its_own_is_built_with_it() {
        assert_eq!(
            found(&MATRIX.replace("-p ours-a", "")),
            [
                ".github/workflows/ci.yml: builds ours-a with no oldest Rust, although its manifest names one"
            ]
        );
    }
}
