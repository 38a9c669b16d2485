//! A copy of the sources with all bugs in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};

use super::VARIABLE;
use super::bug::{Bug, IS_AWAKE};
use crate::workspace;

/// Copies the sources and puts all bugs into the copy. What has not changed keeps its time, so that it is not built again.
pub(super) fn plant(bugs: &[Bug], copy: &PathBuf) -> anyhow::Result<()> {
    let fresh = copy.with_extension("fresh");
    if fresh.exists() {
        fs::remove_dir_all(&fresh).context("could not remove the last copy")?;
    }
    copy_folder(&workspace::root(), &fresh)?;
    for bug in bugs {
        for change in &bug.changes {
            let path = fresh.join(&change.file);
            let sound = fs::read_to_string(&path).with_context(|| change.file.clone())?;
            ensure!(
                sound.matches(&change.find).count() == 1,
                "'{}': what to find does not stand once in {}",
                bug.name,
                change.file
            );
            let awake = format!(
                "(std::env::var(\"{VARIABLE}\").is_ok_and(|bug| bug == \"{}\"))",
                bug.name
            );
            let replacement = change.replace.replace(IS_AWAKE, &awake);
            fs::write(&path, sound.replace(&change.find, &replacement))?;
        }
    }
    keep_times(&fresh, copy)?;
    if copy.exists() {
        fs::remove_dir_all(copy)?;
    }
    fs::rename(&fresh, copy)?;
    Ok(())
}

/// Lets cargo build the copy, in a target folder of its own, without warnings about the bugs.
pub(crate) fn build_there(command: &mut Command, copy: &Path, target: &Path) {
    command
        .current_dir(copy)
        .env("CARGO_TARGET_DIR", target)
        .env("RUSTFLAGS", "-Awarnings");
}

/// Sets for each file the time of the same one of an earlier copy.
fn keep_times(fresh: &Path, earlier: &Path) -> anyhow::Result<()> {
    for entry in fs::read_dir(fresh)? {
        let path = entry?.path();
        let before = earlier.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            keep_times(&path, &before)?;
        } else if before.is_file() && fs::read(&before)? == fs::read(&path)? {
            let time = fs::metadata(&before)?.modified()?;
            fs::File::options()
                .write(true)
                .open(&path)?
                .set_modified(time)?;
        }
    }
    Ok(())
}

/// Copies sources, without what was built of them.
fn copy_folder(from: &Path, to: &PathBuf) -> anyhow::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| from.display().to_string())? {
        let entry = entry?;
        let name = entry.file_name();
        if name == "target" || name == ".git" {
            continue;
        }
        // A link is followed: the facade's README is one.
        let (source, copy) = (entry.path(), to.join(name));
        if source.is_dir() {
            copy_folder(&source, &copy)?;
        } else {
            fs::copy(&source, &copy).with_context(|| source.display().to_string())?;
        }
    }
    Ok(())
}
