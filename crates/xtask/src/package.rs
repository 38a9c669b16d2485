//! `cargo xtask package`: every crate that is published is built from its package, and an application from those.
//!
//! The application is the first program of the README with the README's lines for `Cargo.toml`: it finds out whether
//! what a user downloads is complete, and whether the README is right.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::{env, fs};

use anyhow::{Context, ensure};
use cargo_metadata::Package;

use crate::child;
use crate::progress::Step;
use crate::workspace::{self, Workspace, cargo};

/// Packages, and runs the application.
pub(crate) fn run() -> anyhow::Result<ExitCode> {
    Ok(if check()? {
        println!("packaged");
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Returns false if a crate cannot be built from its package, or the README's program does not run on the packages.
pub(crate) fn check() -> anyhow::Result<bool> {
    let workspace = Workspace::load()?;
    let published = published(&workspace);
    if published.is_empty() {
        return Ok(true);
    }
    let step = Step::start(format!("packages of {} crates", published.len()));
    let folder = folder(&workspace);
    forget_earlier_packages(&published, &folder)?;
    let mut command = cargo("package");
    command.arg("--target-dir").arg(&folder);
    // A checkout with changes is packaged as it is: `verify` runs before the commit.
    command.arg("--allow-dirty");
    for package in &published {
        command.args(["-p", &package.name]);
    }
    let packaged = child::run(command)?.success();
    step.end(if packaged { "built" } else { "FAILED" });
    if !packaged {
        return Ok(false);
    }
    let step = Step::start("the README's program on the packages");
    let runs = child::run(application(&workspace, &published)?)?.success();
    step.end(if runs { "ran" } else { "FAILED" });
    Ok(runs)
}

/// Removes what an earlier run has unpacked and built: cargo knows it by name and version, which are the same until a release.
fn forget_earlier_packages(published: &[&Package], folder: &Path) -> anyhow::Result<()> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| env::home_dir().map(|home| home.join(".cargo")));
    let sources = home.context("cargo has no home")?.join("registry/src");
    for registry in entries(&sources) {
        // The name of a registry in a folder begins without a host.
        let is_folder = |name: &OsStr| name.to_string_lossy().starts_with('-');
        if registry.file_name().is_some_and(is_folder) {
            remove_of(published, &registry);
        }
    }
    remove_of(published, &folder.join("debug/.fingerprint"));
    Ok(())
}

/// Removes the folders of these packages, whatever follows on their names.
fn remove_of(published: &[&Package], folder: &Path) {
    for entry in entries(folder) {
        let name = entry.file_name().unwrap_or_default().to_string_lossy();
        let is_of = |package: &&Package| {
            name.strip_prefix(package.name.as_str())
                .is_some_and(|rest| rest.starts_with('-'))
        };
        if published.iter().any(is_of) {
            let _ = fs::remove_dir_all(&entry);
        }
    }
}

/// Returns what is in a folder; nothing if there is none.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    entries.flatten().map(|entry| entry.path()).collect()
}

/// Returns the folder in which packages are built, apart from the workspace, whose crates have the same names.
fn folder(workspace: &Workspace) -> PathBuf {
    let target = workspace.metadata.target_directory.as_std_path();
    target.join("packaging")
}

/// Returns the members that go to a registry.
pub(crate) fn published(workspace: &Workspace) -> Vec<&Package> {
    let mut members = workspace.members();
    // `publish = false` is an empty list of registries.
    members.retain(|member| member.publish.as_ref().is_none_or(|to| !to.is_empty()));
    members
}

/// Writes an application that takes our crates from their packages, and returns the command that runs it.
fn application(workspace: &Workspace, published: &[&Package]) -> anyhow::Result<Command> {
    let target = folder(workspace);
    let readme = fs::read_to_string(workspace::root().join("README.md"))?;
    let folder = target.join("package").join("application");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.join("src"))?;
    let manifest = manifest(&readme, published, &target.join("package"))?;
    fs::write(folder.join("Cargo.toml"), manifest)?;
    let program = first_block(&readme, "rust").context("the README has no program")?;
    fs::write(folder.join("src/main.rs"), program)?;
    // The versions that were tested, and nothing new to download.
    fs::copy(
        workspace::root().join("Cargo.lock"),
        folder.join("Cargo.lock"),
    )?;
    let mut command = cargo("run");
    command.current_dir(&folder).arg("--target-dir").arg(target);
    Ok(command)
}

/// Returns the application's `Cargo.toml`: the README's lines, and for each of our crates the folder of its package.
fn manifest(readme: &str, published: &[&Package], packages: &Path) -> anyhow::Result<String> {
    let dependencies = first_block(readme, "toml").context("the README has no Cargo.toml")?;
    let mut text = format!(
        "[package]\nname = \"application\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n{dependencies}\n\
         [patch.crates-io]\n"
    );
    for package in published {
        let folder: PathBuf = packages.join(format!("{}-{}", package.name, package.version));
        ensure!(folder.is_dir(), "no package was made of {}", package.name);
        text += &format!("{} = {{ path = {folder:?} }}\n", package.name);
    }
    Ok(text)
}

/// Returns the text of the first fence of a language.
fn first_block<'t>(text: &'t str, language: &str) -> Option<&'t str> {
    let (_, after) = text.split_once(&format!("```{language}\n"))?;
    after.split_once("```").map(|(block, _)| block)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_block_of_a_language_is_found() {
        let text = "a\n```toml\nx = 1\n```\n```rust\nfn a() {}\n```\n```rust\nfn b() {}\n```\n";
        assert_eq!(first_block(text, "rust"), Some("fn a() {}\n"));
        assert_eq!(first_block(text, "toml"), Some("x = 1\n"));
        assert_eq!(first_block(text, "sh"), None);
    }

    #[test]
    fn the_application_depends_on_what_the_readme_names() {
        let readme = "```toml\n[dependencies]\na = \"1\"\nb = \"2\"\n```\n";
        let text = manifest(readme, &[], Path::new("packages")).expect("it has a block");
        let table: toml::Table = text.parse().expect("it is TOML");
        assert_eq!(table["dependencies"]["a"].as_str(), Some("1"));
        assert_eq!(table["dependencies"]["b"].as_str(), Some("2"));
        assert!(manifest("", &[], Path::new("packages")).is_err());
    }

    #[test]
    fn tests_and_examples_are_not_published() {
        let workspace = Workspace::load().expect("this is a workspace");
        let names: Vec<_> = published(&workspace)
            .iter()
            .map(|member| workspace::short_name(member))
            .collect();
        assert!(
            names.contains(&"storage-api") && names.contains(&"tck"),
            "{names:?}"
        );
        assert!(
            !names.contains(&"xtask") && !names.contains(&"bank-account"),
            "{names:?}"
        );
    }
}
