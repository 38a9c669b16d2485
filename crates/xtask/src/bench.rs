//! `cargo xtask bench`: what group commit brings, and what we cost on top of the bare driver.

use std::process::ExitCode;

use crate::child;
use crate::workspace::cargo;

/// Runs the benches in release mode; each prints ratios and fails when one is missed.
pub(crate) fn run() -> anyhow::Result<ExitCode> {
    let mut command = cargo("bench");
    command.args(["--package", "actix-persistence", "--bench", "group_commit"]);
    Ok(match child::run(command)?.success() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}
