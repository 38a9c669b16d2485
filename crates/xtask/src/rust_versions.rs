//! The oldest Rust that a published crate names is not older than what its dependencies name.
//!
//! Clippy compares what a crate uses of the standard library with the same number.

use std::collections::{BTreeMap, BTreeSet};

use cargo_metadata::semver::Version;
use cargo_metadata::{DependencyKind, PackageId};

use crate::package::published;
use crate::workspace::Workspace;

/// Returns a sentence for each crate that names a version that cannot build it.
pub(crate) fn check(workspace: &Workspace) -> Vec<String> {
    let graph = graph(workspace);
    let mut violations = Vec::new();
    for package in published(workspace) {
        let Some(named) = &package.rust_version else {
            violations.push(format!("{} names no rust-version", package.name));
            continue;
        };
        for id in reached(&graph, &package.id) {
            let dependency = &workspace.metadata[id];
            if let Some(needed) = dependency.rust_version.as_ref().filter(|v| *v > named) {
                violations.push(format!(
                    "{} names rust-version {}, its dependency {} needs {}",
                    package.name,
                    short(named),
                    dependency.name,
                    short(needed)
                ));
            }
        }
    }
    violations
}

type Graph<'w> = BTreeMap<&'w PackageId, Vec<&'w PackageId>>;

/// Returns what each package needs to be built, tests left out.
fn graph(workspace: &Workspace) -> Graph<'_> {
    let nodes = workspace
        .metadata
        .resolve
        .iter()
        .flat_map(|resolve| &resolve.nodes);
    nodes
        .map(|node| {
            let needed = node.deps.iter().filter(|dependency| {
                let mut kinds = dependency.dep_kinds.iter();
                kinds.any(|info| info.kind != DependencyKind::Development)
            });
            (&node.id, needed.map(|dependency| &dependency.pkg).collect())
        })
        .collect()
}

fn reached<'w>(graph: &Graph<'w>, from: &'w PackageId) -> BTreeSet<&'w PackageId> {
    let mut reached = BTreeSet::new();
    let mut next = vec![from];
    while let Some(id) = next.pop() {
        if reached.insert(id) {
            next.extend(graph.get(id).into_iter().flatten());
        }
    }
    reached
}

fn short(version: &Version) -> String {
    format!("{}.{}", version.major, version.minor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_that_is_too_old_for_a_dependency_is_named() {
        let mut workspace = Workspace::load().expect("this is a workspace");
        assert_eq!(check(&workspace), [""; 0]);
        let packages = &mut workspace.metadata.packages;
        let uuid = packages.iter_mut().find(|package| package.name == "uuid");
        uuid.expect("ids of writers are made by it").rust_version = Some(Version::new(1, 999, 0));
        let violations = check(&workspace);
        let message = "actix-persistence-storage-api names rust-version 1.89, its dependency uuid needs 1.999";
        assert!(
            violations.iter().any(|text| text == message),
            "{violations:?}"
        );
    }
}
