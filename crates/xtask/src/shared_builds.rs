//! The crates that `cargo xtask` and the tests share are built once: both resolve them with the same features.
//!
//! cargo builds `xtask` with the features that its own dependencies ask for. With others than those of the whole workspace,
//! it builds a crate, and all that depend on it, a second time. `crates/xtask/Cargo.toml` asks for what is lacking.

use std::collections::BTreeSet;

use anyhow::Context;

use crate::child;
use crate::workspace::{self, Workspace};

/// Returns a line for each crate that is built twice.
pub(crate) fn check(workspace: &Workspace) -> anyhow::Result<Vec<String>> {
    if workspace.members_called(&["xtask"]).is_empty() {
        return Ok(Vec::new());
    }
    let own = tree(&["--package", "xtask", "--edges", "normal,build"])?;
    let of_all = tree(&["--workspace", "--all-features"])?;
    Ok(built_twice(&own, &of_all))
}

/// Asks cargo for the packages with the features that they are built with, one in each line.
fn tree(arguments: &[&str]) -> anyhow::Result<String> {
    let mut command = workspace::cargo("tree");
    command
        .args(["--prefix", "none", "--format", "{p}, features {f}"])
        .args(arguments);
    let (status, lines) = child::output(command)?;
    anyhow::ensure!(status.success(), "cargo tree failed, see above");
    String::from_utf8(lines).context("cargo tree wrote no UTF-8")
}

fn built_twice(own: &str, of_all: &str) -> Vec<String> {
    let of_all = packages(of_all);
    packages(own)
        .difference(&of_all)
        // Our own crates have their path there, and features on purpose.
        .filter(|line| !line.contains("(/"))
        .map(|line| {
            format!(
                "crates/xtask/Cargo.toml: {line}, is built once more for the workspace, whose features `cargo tree \
                 --workspace --all-features --invert {}` names",
                line.split(' ').next().unwrap_or(line)
            )
        })
        .collect()
}

/// Each package that cargo lists; it marks one that it has listed before.
fn packages(tree: &str) -> BTreeSet<&str> {
    tree.lines()
        .map(|line| line.strip_suffix(" (*)").unwrap_or(line))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_with_other_features_is_named() {
        let own = "xtask v0.1.0 (/src/xtask), features \nsyn v3.0.9, features derive\nquote v1.0.0, features \n";
        let of_all = "quote v1.0.0, features  (*)\nsyn v3.0.9, features derive,visit\n";
        let found = built_twice(own, of_all);
        assert_eq!(found.len(), 1);
        assert!(
            found[0].contains("syn v3.0.9, features derive, is built once more"),
            "{found:?}"
        );
        assert!(built_twice(of_all, of_all).is_empty());
    }
}
