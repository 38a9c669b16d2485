//! A life of a process with the config that it gets: it looks at every id, writes to it, and reports what it saw.
//!
//! `torture worker config LIFE`.

use std::path::PathBuf;
use std::time::Duration;

use actix::System;
use actix_persistence::prelude::*;
use actix_persistence::{
    Config,
    error::{ErrorChain, ReplayError},
};
use anyhow::bail;
use fastrand::Rng;
use serde::{Deserialize, Serialize};

use super::tell;
use crate::Line;
use crate::kinds::files::keeper::{DELETING, DeleteAllBut, Keeper, Put, Shared};
use crate::kinds::files::program::persistence_id;
use crate::last_look::{LONGEST_BUSY, last_look};

/// The time for which the program waits in the end for requests that are under way.
const STOP_DEADLINE: Duration = Duration::from_secs(60);
/// The largest number of events in one write.
const LARGEST_WRITE: u32 = 3;

/// The assignment of a process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Life {
    /// The path of the config file.
    pub(crate) config: PathBuf,
    pub(crate) ids: Vec<String>,
    pub(crate) seed: u64,
    /// The uids of its writes come after this one.
    pub(crate) last_uid: u32,
    /// The number of writes to each id.
    pub(crate) writes: u32,
}

/// A line that a process reports, of an id unless it is of all.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Said {
    /// The stores cannot be opened.
    NotOpened { error: String },
    /// The stores are open.
    Opened,
    /// The id is recovered to this state, and the number of the last event.
    Recovered {
        id: String,
        last: u64,
        writes: Vec<(u32, u32)>,
    },
    /// The id does not recover.
    NotRecovered {
        id: String,
        why: Refusal,
        error: String,
    },
    /// The actor is not started, for want of a snapshot store.
    NotStarted { id: String },
    /// The actor is asked to store this number of events.
    Asked { id: String, uid: u32, events: u32 },
    /// The events are stored, the last one under this number.
    Stored { id: String, uid: u32, last: u64 },
    /// The events are not stored.
    NotStored { id: String, uid: u32 },
    /// The events may be stored.
    Unsure { id: String, uid: u32 },
}

/// The reason why an id does not recover.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Refusal {
    /// Events were deleted, and no snapshot covers them.
    SnapshotNeeded,
    /// The snapshot is of an event that the journal does not have.
    SnapshotAhead,
    /// The reason is any other.
    Other,
}

fn say(said: &Said) -> anyhow::Result<()> {
    let other = serde_json::to_value(said)?;
    tell(&Line::Other { other });
    Ok(())
}

pub(crate) fn work(arguments: &[String]) -> anyhow::Result<()> {
    let [life] = arguments else {
        bail!("usage: torture worker config LIFE");
    };
    let life: Life = serde_json::from_str(life)?;
    System::new().block_on(async {
        let persistence = match open(&life).await {
            Ok(persistence) => persistence,
            Err(error) => {
                let error = format!("{error:#}");
                return say(&Said::NotOpened { error });
            }
        };
        say(&Said::Opened)?;
        let mut rng = Rng::with_seed(life.seed);
        let mut uid = life.last_uid;
        let shared = Shared::new(None);
        for id in &life.ids {
            look(&persistence, &shared, id).await?;
        }
        for id in &life.ids {
            write(&persistence, &shared, id, &mut uid, &life, &mut rng).await?;
        }
        let report = persistence.stop(STOP_DEADLINE).await;
        anyhow::ensure!(report.is_complete(), "{report}");
        Ok(())
    })
}

async fn open(life: &Life) -> anyhow::Result<Persistence> {
    let persistence = Persistence::open(Config::from_file(&life.config)?).await?;
    persistence.ready().await?;
    Ok(persistence)
}

/// Sees what there is, without an actor that writes.
async fn look(persistence: &Persistence, shared: &Shared, id: &str) -> anyhow::Result<()> {
    let id = id.to_owned();
    let keeper = || Keeper::new(&id, shared);
    let again = |error: &RecoveryError| eprintln!("{id} is looked at again: {}", ErrorChain(error));
    match last_look(persistence, LONGEST_BUSY, keeper, again).await {
        Ok(replayed) => {
            anyhow::ensure!(
                replayed.actor.strange.is_empty(),
                "{id} has {:?}",
                replayed.actor.strange
            );
            say(&Said::Recovered {
                id,
                last: replayed.sequence_nr,
                writes: replayed.actor.writes.0,
            })
        }
        Err(ReplayError::Recovery(error)) => say(&Said::NotRecovered {
            id,
            why: match &error {
                RecoveryError::SnapshotNeeded { .. } => Refusal::SnapshotNeeded,
                RecoveryError::SnapshotAhead { .. } => Refusal::SnapshotAhead,
                _ => Refusal::Other,
            },
            error: ErrorChain(&error).to_string(),
        }),
        Err(error) => Err(error.into()),
    }
}

/// Writes to an id, whatever was seen of it: an actor that is not recovered stores nothing.
async fn write(
    persistence: &Persistence,
    shared: &Shared,
    id: &str,
    uid: &mut u32,
    life: &Life,
    rng: &mut Rng,
) -> anyhow::Result<()> {
    let keeper = Keeper::new(id, shared);
    let keeper = match persistence.start(move || keeper.clone()) {
        Ok(keeper) => keeper,
        Err(StartError::NoSnapshotStore(_)) => {
            let id = id.to_owned();
            return say(&Said::NotStarted { id });
        }
        Err(error) => return Err(error.into()),
    };
    for _ in 0..life.writes {
        *uid += 1;
        let (uid, id) = (*uid, id.to_owned());
        let events = rng.u32(1..=LARGEST_WRITE);
        say(&Said::Asked {
            id: id.clone(),
            uid,
            events,
        })?;
        let said = match keeper.send(Put { uid, events }).await {
            Ok(Ok(last)) => Said::Stored { id, uid, last },
            Ok(Err(error)) if error.is_not_stored() => Said::NotStored { id, uid },
            Ok(Err(_)) => Said::Unsure { id, uid },
            // An actor that is not recovered takes no commands.
            Err(_) => Said::NotStored { id, uid },
        };
        say(&said)?;
        if matches!(said, Said::NotStored { .. }) {
            break;
        }
    }
    if id.starts_with(DELETING) && rng.bool() {
        let _ = keeper.send(DeleteAllBut(rng.u64(1..=5))).await;
    }
    drop(keeper);
    let _ = persistence.stopped(&persistence_id(id)).await;
    Ok(())
}
