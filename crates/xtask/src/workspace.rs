//! The facts that cargo knows about this workspace.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use cargo_metadata::{Metadata, MetadataCommand, Package, TargetKind};

/// The workspace that this program belongs to, as cargo describes it.
pub(crate) struct Workspace {
    /// The output of `cargo metadata`, dependencies resolved.
    pub(crate) metadata: Metadata,
}

impl Workspace {
    /// Asks cargo for the packages of the workspace.
    pub(crate) fn load() -> anyhow::Result<Self> {
        Self::load_from(&root())
    }

    /// Does the same for a copy of the sources.
    pub(crate) fn load_from(root: &Path) -> anyhow::Result<Self> {
        let metadata = MetadataCommand::new()
            .manifest_path(root.join("Cargo.toml"))
            .exec()
            .context("could not read the workspace, see whether every Cargo.toml is valid")?;
        Ok(Self { metadata })
    }

    /// Returns the members, by directory.
    pub(crate) fn members(&self) -> Vec<&Package> {
        let mut members = self.metadata.workspace_packages();
        members.sort_by_key(|package| directory(package).to_path_buf());
        members
    }

    /// Returns the folder of the lock files for folders of servers and tests, in the target folder: cargo lets integration tests
    /// put theirs there.
    pub(crate) fn locks(&self) -> PathBuf {
        self.metadata
            .target_directory
            .join("tmp")
            .into_std_path_buf()
    }

    /// Returns the members of these names.
    pub(crate) fn members_called(&self, names: &[&str]) -> Vec<&Package> {
        let mut members = self.members();
        members.retain(|member| names.contains(&member.name.as_str()));
        members
    }
}

/// Returns the folder of the workspace's Cargo.toml: two levels above this crate, whose folder `cargo run` names.
pub(crate) fn root() -> PathBuf {
    let crate_folder = env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    let root = crate_folder.ancestors().nth(2).map(Path::to_path_buf);
    root.unwrap_or(crate_folder)
}

/// Returns a call of cargo on this workspace, free of the variables that cargo set for this program itself.
pub(crate) fn cargo(subcommand: &str) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.arg(subcommand).current_dir(root());
    forget_own_package(&mut command);
    command
}

/// Takes away what `cargo run` says about this package; another program would take it for its own.
pub(crate) fn forget_own_package(command: &mut Command) {
    for (name, _) in env::vars_os() {
        let own = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_"];
        let text = name.to_string_lossy();
        if own.iter().any(|prefix| text.starts_with(prefix)) {
            command.env_remove(&name);
        }
    }
}

/// Returns the folder of a package.
pub(crate) fn directory(package: &Package) -> &Path {
    package
        .manifest_path
        .parent()
        .expect("a manifest lies in a folder")
        .as_std_path()
}

/// Returns the short name of a package: the name of its folder.
pub(crate) fn short_name(package: &Package) -> &str {
    directory(package)
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or(package.name.as_str())
}

/// Returns whether the package has a library.
pub(crate) fn has_library(package: &Package) -> bool {
    package
        .targets
        .iter()
        .any(|target| target.is_kind(TargetKind::Lib))
}

/// Returns whether the package runs the conformance kit.
pub(crate) fn has_kit(package: &Package) -> bool {
    package
        .targets
        .iter()
        .any(|target| target.is_kind(TargetKind::Test) && target.name == KIT_TARGET)
}

/// The test target that runs the conformance kit.
pub(crate) const KIT_TARGET: &str = "tck";
