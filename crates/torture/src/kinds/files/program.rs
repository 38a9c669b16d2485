//! The program under test: actors on files, which say what they are about to do and what they were answered.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use actix::prelude::*;
use actix_persistence::prelude::*;
use actix_persistence::{OpenError, StopReport, cleanup::Numbers};
use fastrand::Rng;
use futures_util::future::{BoxFuture, join_all};

use super::keeper::{
    DELETING, DeleteAllBut, ENTITY_TYPE, Hold, Holder, Keeper, Put, RETAINING, Shared,
};
use super::mark::{Mark, Marks};
use super::stores::Stores;

/// The number of states that are stored in groups.
const GROUPED_STATES: u8 = 6;
/// The time for which the program waits in the end for requests that are under way.
const STOP_DEADLINE: Duration = Duration::from_secs(60);

/// A step of the program.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Events of an id, at once.
    Put { id: String, events: u32 },
    /// A delete by hand.
    DeleteAllBut { id: String, spared: u64 },
    /// A state, or none.
    Hold { id: String, live: bool },
    /// Events and states of several ids, all asked for before any is answered: one transaction stores several of each.
    Group {
        puts: Vec<(String, u32)>,
        holds: Vec<(String, bool)>,
    },
    /// The program resets an id, which forgets everything of it.
    Reset { id: String },
    /// The actor of an id ends; the next command starts and recovers it again.
    Restart { id: String },
    /// The program closes all in good order, and opens it again.
    Reopen,
}

impl Step {
    /// Returns a random step, of those that an application has most of.
    pub(crate) fn random(rng: &mut Rng) -> Self {
        let keeper = |rng: &mut Rng| {
            let name = *rng.choice(&["a", "b", "r1", "r2", "d1"]).unwrap_or(&"a");
            name.to_owned()
        };
        match rng.u32(..100) {
            0..12 => Self::group(rng),
            12..62 => Self::Put {
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

impl Step {
    fn group(rng: &mut Rng) -> Self {
        let mut keepers = ["a", "b", "r1", "r2"];
        rng.shuffle(&mut keepers);
        let puts = keepers.iter().take(rng.usize(..=2));
        let puts = puts.map(|id| ((*id).to_owned(), rng.u32(1..4))).collect();
        let mut holders: Vec<_> = (0..GROUPED_STATES).map(|nr| format!("g{nr}")).collect();
        rng.shuffle(&mut holders);
        holders.truncate(rng.usize(2..=holders.len()));
        let holds = holders.into_iter().map(|id| (id, rng.u8(..5) > 0));
        Self::Group {
            puts,
            holds: holds.collect(),
        }
    }
}

/// A defect of a program on purpose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Plant {
    #[default]
    Nothing,
    /// The program calls every write confirmed, whatever the answer is.
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

    /// Returns the program with something that is wrong.
    pub(crate) fn planted(self, plant: Plant) -> Self {
        Self { plant, ..self }
    }

    /// Takes the errors that stores and recoveries returned until now.
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
            Step::Group { puts, holds } => self.group(puts, holds).await?,
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

    /// Stores this number of events at once; true if they are stored.
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
        if let Ok(Ok(last)) = &answer {
            self.last.insert(id.to_owned(), *last);
        }
        Ok(told_of_events(&self.shared, id.to_owned(), uid, answer))
    }

    /// Stores a state, or none; true if it is stored.
    pub(crate) async fn hold(&mut self, id: &str, live: bool) -> anyhow::Result<bool> {
        let uid = self.next_uid();
        let holder = self.holder(id).await?;
        let answer = holder.send(Hold { uid, live }).await;
        Ok(told_of_a_state(&self.shared, id.to_owned(), uid, answer))
    }

    /// Stores all of it at once, as far as the stores do.
    async fn group(
        &mut self,
        puts: &[(String, u32)],
        holds: &[(String, bool)],
    ) -> anyhow::Result<()> {
        let (mut keepers, mut holders) = (Vec::new(), Vec::new());
        for (id, events) in puts {
            keepers.push((id.clone(), *events, self.keeper(id).await?));
        }
        for (id, live) in holds {
            holders.push((id.clone(), *live, self.holder(id).await?));
        }
        let mut answers: Vec<BoxFuture<'static, ()>> = Vec::new();
        for (id, events, keeper) in keepers {
            let (uid, shared) = (self.next_uid(), self.shared.clone());
            let sent = keeper.send(Put { uid, events });
            answers.push(Box::pin(async move {
                told_of_events(&shared, id, uid, sent.await);
            }));
        }
        for (id, live, holder) in holders {
            let (uid, shared) = (self.next_uid(), self.shared.clone());
            let sent = holder.send(Hold { uid, live });
            answers.push(Box::pin(async move {
                told_of_a_state(&shared, id, uid, sent.await);
            }));
        }
        join_all(answers).await;
        Ok(())
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

/// The answer to a write, as an asker gets it.
type Answer = Result<Result<u64, PersistError>, MailboxError>;

/// Says what became of events; true if they are stored.
fn told_of_events(shared: &Shared, id: String, uid: u32, answer: Answer) -> bool {
    let mark = match &answer {
        Ok(Ok(last)) => Mark::Stored {
            id,
            uid,
            last: *last,
        },
        Ok(Err(error)) if error.is_not_stored() => Mark::NotStored { id, uid },
        _ => Mark::Unsure { id, uid },
    };
    told(shared, mark, answer)
}

/// Says what became of a state; true if it is stored.
fn told_of_a_state(shared: &Shared, id: String, uid: u32, answer: Answer) -> bool {
    let mark = match &answer {
        Ok(Ok(revision)) => Mark::StateStored {
            id,
            uid,
            revision: *revision,
        },
        Ok(Err(error)) if error.is_not_stored() => Mark::StateNotStored { id, uid },
        _ => Mark::StateUnsure { id, uid },
    };
    told(shared, mark, answer)
}

fn told(shared: &Shared, mark: Mark, answer: Answer) -> bool {
    match &answer {
        Ok(Ok(_)) => {}
        Ok(Err(error)) => shared.error(error),
        Err(error) => shared.error(error),
    }
    shared.say(mark);
    matches!(answer, Ok(Ok(_)))
}

/// The persistence id of an actor.
pub(crate) fn persistence_id(id: &str) -> PersistenceId {
    PersistenceId::of(ENTITY_TYPE, id)
}

/// Returns whether an actor of this id needs a snapshot once events are deleted.
pub(crate) fn is_retaining(id: &str) -> bool {
    id.starts_with(RETAINING)
}

async fn open(folder: &Path, stores: Stores) -> anyhow::Result<Persistence> {
    let opened: Result<_, OpenError> = Persistence::open(stores.config(folder)?).await;
    let persistence = opened?;
    persistence.ready().await?;
    Ok(persistence)
}
