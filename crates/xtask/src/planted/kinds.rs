//! Bugs that a kind of torture has to find.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::bail;
use serde::Deserialize;

use super::bug::Kind;
use super::{LONGEST, wake};
use crate::child::{self, Report};
use crate::progress::{Step, note};
use crate::servers::Servers;
use crate::workspace;

/// The time for which it must find nothing without a bug.
const SOUND: Duration = Duration::from_secs(15);
/// The exit status of a torture that has found something.
const FOUND: i32 = 1;
/// The beginning of a sentence about the torture itself, which did not work: that finds no bug.
const BROKEN: &str = "the run ";

/// The part that `planted` reads of a summary of the torture.
#[derive(Deserialize)]
struct Summary {
    #[serde(default)]
    found: Vec<String>,
}

/// The torture with all bugs in it.
pub(super) struct Torture {
    pub(super) program: PathBuf,
    /// The folder for what it has found.
    pub(super) keep: PathBuf,
    pub(super) seed: u64,
}

impl Torture {
    /// Runs a kind without a bug; fails if it finds something.
    pub(super) fn finds_nothing(
        &self,
        lane: usize,
        kind: &Kind,
        servers: &Servers,
    ) -> anyhow::Result<()> {
        let step = Step::start(format!("no bug: {kind}"));
        let says = self.run(lane, &step, None, kind, SOUND, servers)?;
        step.end(match says {
            None => "nothing found",
            Some(_) => "FOUND",
        });
        match says {
            None => Ok(()),
            Some(says) => bail!("{kind} finds something without any bug: {says}"),
        }
    }

    /// Runs a kind while a bug is awake; returns the first sentence about what it found.
    pub(super) fn hunts(
        &self,
        lane: usize,
        step: &Step,
        bug: &str,
        kind: &Kind,
        servers: &Servers,
    ) -> anyhow::Result<Option<String>> {
        self.run(lane, step, Some(bug), kind, LONGEST, servers)
    }

    fn run(
        &self,
        lane: usize,
        step: &Step,
        bug: Option<&str>,
        kind: &Kind,
        length: Duration,
        servers: &Servers,
    ) -> anyhow::Result<Option<String>> {
        let mut command = Command::new(&self.program);
        workspace::forget_own_package(&mut command);
        wake(&mut command, bug);
        let keep = self.keep.join(format!("lane-{lane}"));
        fs::create_dir_all(&keep)?;
        let summaries = keep.join("summaries.json");
        command
            .args(["run", &kind.name, "--backend", &kind.backend])
            .arg(format!("--for={}s", length.as_secs()))
            .arg(format!("--seed={}", self.seed))
            .arg("--keep")
            .arg(&keep)
            .arg("--json")
            .arg(&summaries);
        servers.tell(&mut command);
        let mut lines = Vec::new();
        let status = child::lines(command, |heard| match heard {
            Report::Line(line) => lines.push(line.to_owned()),
            Report::Silent => step.still_running(),
        })?;
        if !matches!(status.code(), Some(0 | FOUND)) {
            lines.iter().for_each(note);
            bail!("{kind} ended with {status}");
        }
        let summaries: Vec<Summary> = serde_json::from_slice(&fs::read(&summaries)?)?;
        let found: Vec<_> = summaries.into_iter().flat_map(|one| one.found).collect();
        match found.iter().find(|says| !says.starts_with(BROKEN)) {
            Some(says) => Ok(Some(says.clone())),
            None if found.is_empty() => Ok(None),
            None => bail!("{kind} did not work: {}", found.join("; ")),
        }
    }
}
