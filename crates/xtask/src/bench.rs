//! `cargo xtask bench`: what we cost on top of the bare driver, and what group commit brings.

use std::process::ExitCode;

use crate::child;
use crate::workspace::cargo;

/// Runs the benches in release mode; each prints ratios and fails when one is missed.
pub(crate) fn run() -> anyhow::Result<ExitCode> {
    let mut command = cargo("bench");
    command
        .args(["--package", "actix-persistence", "--no-fail-fast"])
        .args(["--bench", "group_commit", "--bench", "persist_async"])
        .args(["--bench", "recovery_rate"]);
    Ok(match child::run(command)?.success() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}
