//! Writes events and states, or projects them, until it is asked to end.
//!
//! `torture worker projections ASSIGNMENT`, for the kind `projections`.

pub(crate) mod read_models;
pub(crate) mod reading;
mod running;
pub(crate) mod writing;

use std::path::PathBuf;
use std::time::Duration;

use actix_persistence::{Config, Persistence};
use anyhow::bail;
use serde::{Deserialize, Serialize};

use super::run_until_told;
use reading::Reading;
use writing::Pausing;

/// The entity type of the ids that have events.
pub(crate) const TALLY: &str = "Tally";
/// The entity type of the states.
pub(crate) const TALLIED: &str = "Tallied";
/// The name of the change handler.
pub(crate) const PAUSING: &str = "pausing";
/// The program waits for so long in the end for requests that are under way.
const STOP_DEADLINE: Duration = Duration::from_secs(60);

/// The assignment of a process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Assignment {
    /// The path of the config file.
    pub(crate) config: PathBuf,
    pub(crate) seed: u64,
    /// If ids are parked: one item in so many is refused again and again.
    pub(crate) bad: Option<u64>,
    pub(crate) task: Task,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Task {
    /// The process stores events and states, and then ends by itself.
    Write {
        /// The numbers of the ids, from the first to before the last.
        ids: (u32, u32),
        /// The number of events, or revisions, that each of them is to have.
        upto: u64,
    },
    /// The process follows events, and then reads until there are no more.
    Read { readings: Vec<Reading> },
    /// The process projects, and now and then divides, pauses, or stops and starts again.
    Project { lease: Duration },
    /// The process projects until everything is, and then ends by itself.
    Finish { lease: Duration },
}

pub(crate) fn work(arguments: &[String]) -> anyhow::Result<()> {
    let [assignment] = arguments else {
        bail!("usage: torture worker projections ASSIGNMENT");
    };
    let assignment: Assignment = serde_json::from_str(assignment)?;
    run_until_told(async |told| {
        let persistence = open(Config::from_file(&assignment.config)?).await?;
        persistence.ready().await?;
        let (seed, bad) = (assignment.seed, assignment.bad);
        match assignment.task {
            Task::Write { ids, upto } => writing::write(&persistence, ids, upto, seed).await?,
            Task::Read { readings } => reading::read(&persistence, readings, seed, &told).await?,
            Task::Project { lease } => {
                running::project(&persistence, lease, bad, seed, &told).await?;
            }
            Task::Finish { lease } => running::finish(&persistence, lease, bad.is_some()).await?,
        }
        let report = persistence.stop(STOP_DEADLINE).await;
        anyhow::ensure!(report.is_complete(), "{report}");
        if !told.is_told() {
            // The standard input is still read, which keeps the system from its end.
            std::process::exit(0);
        }
        Ok(())
    })
}

/// Opens the stores of a config.
///
/// # Errors
/// If the config is wrong, or they cannot be opened.
pub(crate) async fn open(config: Config) -> anyhow::Result<Persistence> {
    let builder = Persistence::builder().config(config);
    Ok(builder.change_handler(PAUSING, Pausing).open().await?)
}
