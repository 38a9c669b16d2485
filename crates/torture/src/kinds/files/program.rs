//! The program under test: actors on files, which say what they are about to do and what they were answered.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use actix::prelude::*;
use actix_persistence::prelude::*;
use actix_persistence::{OpenError, StopReport, cleanup::Numbers};
use fastrand::Rng;

use super::keeper::{
    DELETING, DeleteAllBut, ENTITY_TYPE, Hold, Holder, Keeper, Put, RETAINING, Shared,
};
use super::mark::{Mark, Marks};
use super::stores::Stores;

/// It waits for so long in the end for requests that are under way.
const STOP_DEADLINE: Duration = Duration::from_secs(60);

/// Something that it does.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Events of an id, at once.
    Put { id: String, events: u32 },
    /// A delete by hand.
    DeleteAllBut { id: String, spared: u64 },
    /// A state, or none.
    Hold { id: String, live: bool },
    /// Everything of an id is forgotten.
    Reset { id: String },
    /// The actor of an id ends; the next command starts and recovers it again.
    Restart { id: String },
    /// All is closed in good order, and opened again.
    Reopen,
}

impl Step {
    /// One of those that an application has most of.
    pub(crate) fn random(rng: &mut Rng) -> Self {
        let keeper = |rng: &mut Rng| {
            let name = *rng.choice(&["a", "b", "r1", "r2", "d1"]).unwrap_or(&"a");
            name.to_owned()
        };
        match rng.u32(..100) {
            0..62 => Self::Put {
                id: keeper(rng),
                events: if rng.bool() { 1 } else { rng.u32(2..6) },
            },
            62..68 => Self::DeleteAllBut {
                id: format!("{DELETING}1"),
                spared: rng.u64(..4),
            },
            68..86 => Self::Hold {
                id: format!("s{}", rng.u8(..2)),
                live: rng.u8(..5) > 0,
            },
            86..90 => Self::Reset {
                id: format!("x{}", rng.u8(..2)),
            },
            90..94 => Self::Put {
                id: format!("x{}", rng.u8(..2)),
                events: rng.u32(1..4),
            },
            94..98 => Self::Restart { id: keeper(rng) },
            _ => Self::Reopen,
        }
    }
}

/// A defect of a program on purpose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Plant {
    #[default]
    Nothing,
    /// It calls every write confirmed, whatever the answer is.
    Hasty,
}

impl FromStr for Plant {
    type Err = anyhow::Error;

    fn from_str(name: &str) -> anyhow::Result<Self> {
        Ok(match name {
            "nothing" => Self::Nothing,
            "hasty" => Self::Hasty,
            _ => anyhow::bail!("there is no plant {name:?}"),
        })
    }
}

/// The program, with its files open.
pub(crate) struct Program {
    folder: PathBuf,
    stores: Stores,
    shared: Shared,
    persistence: Persistence,
    keepers: Vec<(String, Addr<Keeper>)>,
    holders: Vec<(String, Addr<Holder>)>,
    next_uid: u32,
    plant: Plant,
    /// The last event that was confirmed, by id.
    last: BTreeMap<String, u64>,
}

impl Program {
    /// Opens files in this folder, which there may not be yet.
    pub(crate) async fn open(
        folder: &Path,
        stores: Stores,
        first_uid: u32,
    ) -> anyhow::Result<Self> {
        let shared = Shared::new(Some(Marks::open(folder)?));
        Ok(Self {
            persistence: open(folder, stores).await?,
            folder: folder.to_owned(),
            stores,
            shared,
            keepers: Vec::new(),
            holders: Vec::new(),
            next_uid: first_uid,
            plant: Plant::Nothing,
            last: BTreeMap::new(),
        })
    }

    /// With something that is wrong.
    pub(crate) fn planted(self, plant: Plant) -> Self {
        Self { plant, ..self }
    }

    /// Takes the errors that stores and recoveries gave until now.
    pub(crate) fn take_errors(&self) -> Vec<String> {
        self.shared.take_errors()
    }

    /// Does a step. What is refused was said, and is no reason to end.
    ///
    /// # Errors
    /// If it cannot be opened again.
    pub(crate) async fn take(&mut self, step: &Step) -> anyhow::Result<()> {
        match step {
            Step::Put { id, events } => {
                self.put(id, *events).await?;
            }
            Step::DeleteAllBut { id, spared } => {
                let keeper = self.keeper(id).await?;
                let _ = keeper.send(DeleteAllBut(*spared)).await;
            }
            Step::Hold { id, live } => {
                self.hold(id, *live).await?;
            }
            Step::Reset { id } => self.reset(id).await,
            Step::Restart { id } => {
                self.keepers.retain(|(name, _)| name != id);
                self.persistence.stopped(&persistence_id(id)).await;
            }
            Step::Reopen => {
                self.close().await;
                self.persistence = open(&self.folder, self.stores).await?;
            }
        }
        Ok(())
    }

    /// Stores so many events at once; true if they are stored.
    pub(crate) async fn put(&mut self, id: &str, events: u32) -> anyhow::Result<bool> {
        let uid = self.next_uid();
        let keeper = self.keeper(id).await?;
        let answer = keeper.send(Put { uid, events }).await;
        let answer = match answer {
            Ok(Err(_)) | Err(_) if self.plant == Plant::Hasty => {
                Ok(Ok(
                    self.last.get(id).copied().unwrap_or(0) + u64::from(events)
                ))
            }
            answer => answer,
        };
        let id = id.to_owned();
        let (mark, is_stored) = match answer {
            Ok(Ok(last)) => {
                self.last.insert(id.clone(), last);
                (Mark::Stored { id, uid, last }, true)
            }
            Ok(Err(error)) => {
                self.shared.error(&error);
                let is_certain = error.is_certainly_not_stored();
                let mark = if is_certain {
                    Mark::NotStored { id, uid }
                } else {
                    Mark::Unsure { id, uid }
                };
                (mark, false)
            }
            Err(error) => {
                self.shared.error(&error);
                (Mark::Unsure { id, uid }, false)
            }
        };
        self.shared.say(mark);
        Ok(is_stored)
    }

    /// Stores a state, or none; true if it is stored.
    pub(crate) async fn hold(&mut self, id: &str, live: bool) -> anyhow::Result<bool> {
        let uid = self.next_uid();
        let holder = self.holder(id).await?;
        let answer = holder.send(Hold { uid, live }).await;
        let id = id.to_owned();
        let (mark, is_stored) = match answer {
            Ok(Ok(revision)) => (Mark::StateStored { id, uid, revision }, true),
            Ok(Err(error)) => {
                self.shared.error(&error);
                let is_certain = error.is_certainly_not_stored();
                let mark = if is_certain {
                    Mark::StateNotStored { id, uid }
                } else {
                    Mark::StateUnsure { id, uid }
                };
                (mark, false)
            }
            Err(error) => {
                self.shared.error(&error);
                (Mark::StateUnsure { id, uid }, false)
            }
        };
        self.shared.say(mark);
        Ok(is_stored)
    }

    async fn reset(&mut self, id: &str) {
        self.keepers.retain(|(name, _)| name != id);
        let persistence_id = persistence_id(id);
        self.persistence.stopped(&persistence_id).await;
        let id = id.to_owned();
        self.shared.say(Mark::Resetting { id: id.clone() });
        let cleanup = self.persistence.cleanup();
        match cleanup.delete_all(&persistence_id, Numbers::Reset).await {
            Ok(()) => self.shared.say(Mark::Reset { id }),
            Err(error) => self.shared.error(&error),
        }
    }

    /// Ends in good order.
    pub(crate) async fn close(&mut self) -> StopReport {
        self.keepers.clear();
        self.holders.clear();
        self.persistence.stop(STOP_DEADLINE).await
    }

    fn next_uid(&mut self) -> u32 {
        self.next_uid += 1;
        self.next_uid
    }

    async fn keeper(&mut self, id: &str) -> anyhow::Result<Addr<Keeper>> {
        let known = self.keepers.iter().find(|(name, _)| name == id);
        if let Some((_, keeper)) = known
            && keeper.connected()
        {
            return Ok(keeper.clone());
        }
        self.keepers.retain(|(name, _)| name != id);
        let keeper = Keeper::new(id, &self.shared);
        let started = loop {
            let keeper = keeper.clone();
            match self.persistence.start(move || keeper.clone()) {
                Ok(started) => break started,
                Err(StartError::AlreadyRunning(_)) => {
                    self.persistence.stopped(&persistence_id(id)).await;
                }
                Err(error) => return Err(error.into()),
            }
        };
        self.keepers.push((id.to_owned(), started.clone()));
        Ok(started)
    }

    async fn holder(&mut self, id: &str) -> anyhow::Result<Addr<Holder>> {
        let known = self.holders.iter().find(|(name, _)| name == id);
        if let Some((_, holder)) = known
            && holder.connected()
        {
            return Ok(holder.clone());
        }
        self.holders.retain(|(name, _)| name != id);
        let holder = Holder::new(id, &self.shared);
        let started = loop {
            let holder = holder.clone();
            match self.persistence.start(move || holder.clone()) {
                Ok(started) => break started,
                Err(StartError::AlreadyRunning(_)) => {
                    self.persistence.stopped(&persistence_id(id)).await;
                }
                Err(error) => return Err(error.into()),
            }
        };
        self.holders.push((id.to_owned(), started.clone()));
        Ok(started)
    }
}

/// The persistence id of an actor.
pub(crate) fn persistence_id(id: &str) -> PersistenceId {
    PersistenceId::of(ENTITY_TYPE, id)
}

/// Whether an actor of this id needs a snapshot once events are deleted.
pub(crate) fn is_retaining(id: &str) -> bool {
    id.starts_with(RETAINING)
}

async fn open(folder: &Path, stores: Stores) -> anyhow::Result<Persistence> {
    let opened: Result<_, OpenError> = Persistence::open(stores.config(folder)?).await;
    let persistence = opened?;
    persistence.ready().await?;
    Ok(persistence)
}
