//! The programs that cargo builds for a task.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Context;
use cargo_metadata::Message;

use crate::child;
use crate::progress::Step;

/// Returns the program that a call of cargo builds; none if it does not compile.
pub(crate) fn program(step: &str, mut command: Command) -> anyhow::Result<Option<PathBuf>> {
    let step = Step::start(step);
    command.args(["--message-format", "json-render-diagnostics"]);
    let (status, messages) = child::output(command)?;
    if !status.success() {
        step.end("FAILED");
        return Ok(None);
    }
    let mut program = None;
    for message in Message::parse_stream(&*messages) {
        if let Message::CompilerArtifact(artifact) = message? {
            program = artifact.executable.or(program);
        }
    }
    step.end("built");
    let program = program.context("cargo has built no program")?;
    Ok(Some(program.into_std_path_buf()))
}
