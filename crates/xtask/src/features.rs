//! The check that each feature of a published crate builds alone, and so does the crate without any.
//!
//! Cargo joins the features of a workspace, so a crate that forgets one of its own features still builds there.

use crate::package::published;
use crate::workspace::{Workspace, cargo};
use crate::{child, progress};

/// Returns false if a crate does not build with one of its features alone, or without any.
///
/// All features together are what clippy checks.
pub(crate) fn check() -> anyhow::Result<bool> {
    let workspace = Workspace::load()?;
    let mut passed = true;
    for package in published(&workspace) {
        let names = package.features.keys().map(String::as_str);
        for features in selections(names) {
            let mut command = cargo("check");
            command.args(["-p", &package.name, "--no-default-features"]);
            command.args(["--features", features]);
            command.env("RUSTFLAGS", "-D warnings");
            if !child::run(command)?.success() {
                progress::note(format_args!(
                    "{} does not build with no feature but {features:?}",
                    package.name
                ));
                passed = false;
            }
        }
    }
    Ok(passed)
}

/// Returns no feature, and each but `default`; nothing for a crate without features.
fn selections<'n>(names: impl Iterator<Item = &'n str>) -> Vec<&'n str> {
    let mut names: Vec<_> = names.filter(|name| *name != "default").collect();
    if !names.is_empty() {
        names.insert(0, "");
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_feature_is_built_alone_and_once_there_is_none() {
        assert_eq!(
            selections(["default", "a", "b"].into_iter()),
            ["", "a", "b"]
        );
        assert_eq!(selections([].into_iter()), [""; 0]);
    }
}
