//! `cargo xtask bench`: what we cost on top of the bare driver, and what group commit brings.

use std::process::ExitCode;

use crate::child;
use crate::servers::Servers;
use crate::workspace::{Workspace, cargo};

const PACKAGE: &str = "actix-persistence";

/// Runs the benches in release mode; each prints ratios and fails when one is missed.
pub(crate) fn run() -> anyhow::Result<ExitCode> {
    let workspace = Workspace::load()?;
    let servers = Servers::start_for(&workspace, &workspace.members_called(&[PACKAGE]));
    let mut command = cargo("bench");
    command
        .args(["--package", PACKAGE, "--no-fail-fast"])
        .args(["--bench", "group_commit", "--bench", "persist_async"])
        .args(["--features", "postgres,mysql"])
        .args(["--bench", "recovery_rate", "--bench", "servers"])
        .args(["--bench", "durable_state"]);
    servers.tell(&mut command);
    let is_green = child::run(command)?.success() && servers.faults().is_empty();
    Ok(match is_green {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}
