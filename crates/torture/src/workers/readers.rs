//! Writes states, or reads what has changed of them, until it is asked to end.
//!
//! `torture worker readers ASSIGNMENT`, for the kind `readers`.

mod lists;
mod reading;
pub(crate) mod writing;

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use actix_persistence::{Config, Persistence, query::StateOffset};
use actix_persistence_history::Record;
use anyhow::bail;
use serde::{Deserialize, Serialize};
use tokio::runtime::Runtime;

use super::{Scribe, fault, told_to_end};

/// The entity type of the states that are stored once, and never changed.
pub(crate) const NEW: &str = "New";
/// The entity type of states that are changed and deleted all the time.
pub(crate) const KEPT: &str = "Kept";
/// The number of ranges of slices with readers of their own; the ids of [`NEW`] begin with theirs.
pub(crate) const RANGES: u16 = 4;
/// The program waits for so long in the end for requests that are under way.
const STOP_DEADLINE: Duration = Duration::from_secs(60);

/// The assignment of a process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Assignment {
    /// The path of the config file.
    pub(crate) config: PathBuf,
    /// The number of the process in the history.
    pub(crate) process: u32,
    pub(crate) seed: u64,
    pub(crate) task: Task,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Task {
    /// The process stores states.
    Write {
        /// The number of new states that are stored at once.
        inserters: u32,
        /// The numbers of those that are changed.
        kept: Vec<u32>,
    },
    /// Reads changes, and lists what there is.
    Read { readings: Vec<Reading> },
}

/// A reader, from an offset on.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Reading {
    /// The number of the reader in the history.
    pub(crate) number: u64,
    pub(crate) how: How,
    pub(crate) entity_type: String,
    /// The first and the last slice, both inclusive.
    pub(crate) slices: (u16, u16),
    /// The largest number of changes that are read at once.
    pub(crate) page: usize,
    /// The text of the offset.
    pub(crate) offset: String,
    /// The id whose change is the last one: a reader that was shown it, and that there is no more, has seen all. Empty
    /// if it was shown already.
    pub(crate) mark: String,
}

/// The way in which changes are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum How {
    /// Page after page from the store.
    Pages,
    /// The reader uses the query that ends where there are no more, again and again.
    Current,
    /// The reader uses the query that goes on.
    Live,
}

impl Reading {
    pub(crate) fn slices(&self) -> RangeInclusive<u16> {
        self.slices.0..=self.slices.1
    }
}

/// A page that a reader was shown, and from where it goes on.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Told {
    pub(crate) reader: u64,
    pub(crate) record: Record,
    pub(crate) offset: String,
    /// The number of pages since the last such line, those without changes too.
    pub(crate) pages: u64,
}

/// Returns an offset as a number that never goes back: the sum of the places in all partitions of the store, each of which
/// only rises. None if there is no such number.
pub(crate) fn number_of(offset: &StateOffset) -> Option<u64> {
    let places = offset.positions();
    let mut orderings = places.map(|(_, place)| u64::try_from(place.ordering).ok());
    orderings.try_fold(0_u64, |sum, ordering| sum.checked_add(ordering?))
}

/// The parts that all tasks of this process share.
pub(crate) struct Process {
    persistence: Persistence,
    scribe: Arc<Scribe>,
    ends: AtomicBool,
}

impl Process {
    fn is_told_to_end(&self) -> bool {
        self.ends.load(Ordering::Acquire)
    }
}

pub(crate) fn work(arguments: &[String]) -> anyhow::Result<()> {
    let [assignment] = arguments else {
        bail!("usage: torture worker readers ASSIGNMENT");
    };
    let assignment: Assignment = serde_json::from_str(assignment)?;
    // No arbiter waits for a store.
    let runtime = Runtime::new()?;
    actix::System::new().block_on(async {
        let persistence = Persistence::open(Config::from_file(&assignment.config)?).await?;
        persistence.ready().await?;
        let process = Arc::new(Process {
            persistence,
            scribe: Arc::new(Scribe::of(assignment.process)),
            ends: AtomicBool::new(false),
        });
        let tasks = match assignment.task {
            Task::Write { inserters, kept } => {
                writing::start(&process, &runtime, assignment.seed, inserters, &kept)
            }
            Task::Read { readings } => {
                reading::start(&process, &runtime, assignment.seed, readings)
            }
        };
        // It also ends with the process that started us.
        told_to_end().await?;
        process.ends.store(true, Ordering::Release);
        for task in tasks {
            if let Err(error) = task.await? {
                fault(format!("{error:#}"));
            }
        }
        let report = process.persistence.stop(STOP_DEADLINE).await;
        if !report.is_complete() {
            bail!("{report}");
        }
        anyhow::Ok(())
    })?;
    runtime.shutdown_background();
    Ok(())
}
