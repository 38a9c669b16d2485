//! Event-sourced actors of generated histories, and their store.

use std::collections::{BTreeMap, HashSet};

use actix_persistence_history::{
    Answer, Done, Incarnation, Operation, Recovered, Row, Uid, What, fold,
};

use crate::generate::{Fate, Rows, World};

/// A write that names what it expects.
#[derive(Clone, Debug)]
struct Fenced {
    epoch: u64,
    takes_over: bool,
    first: u64,
    uids: Vec<Uid>,
}

/// The events of one id.
pub(crate) struct EventStore {
    name: String,
    /// All events since the last reset, also deleted ones.
    log: Vec<Uid>,
    deleted_to: u64,
    epoch: u64,
    snapshots: BTreeMap<u64, u64>,
    late: Vec<Fenced>,
    /// Processes that have a write of unknown outcome.
    unsettled: HashSet<u32>,
    /// True if events may be deleted without a snapshot.
    uncovered: bool,
}

impl EventStore {
    pub(crate) fn new(id: usize) -> Self {
        Self {
            name: format!("event-{id}"),
            log: Vec::new(),
            deleted_to: 0,
            epoch: 0,
            snapshots: BTreeMap::new(),
            late: Vec::new(),
            unsettled: HashSet::new(),
            uncovered: id % 3 == 2,
        }
    }

    fn highest(&self) -> u64 {
        self.log.len() as u64
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn deleted_to(&self) -> u64 {
        self.deleted_to
    }

    fn write(world: &mut World, id: usize, write: &Fenced) -> bool {
        let store = &mut world.events[id];
        let due = write.first == store.highest() + 1 && write.epoch == store.epoch;
        if due {
            store.epoch += u64::from(write.takes_over);
            store.log.extend(&write.uids);
            let numbered = (write.first..).zip(&write.uids);
            world
                .event_order
                .extend(numbered.map(|(number, uid)| (id, number, *uid)));
        }
        due
    }

    /// Makes every late write happen now, or be refused.
    pub(crate) fn late(world: &mut World, id: usize) {
        for write in std::mem::take(&mut world.events[id].late) {
            Self::write(world, id, &write);
        }
    }

    /// Deletes everything of an id to which no one writes.
    pub(crate) fn reset(world: &mut World, id: usize) {
        let name = world.events[id].name.clone();
        let place = 0;
        world.events[id].late.clear();
        let all = Operation::DeleteSnapshots {
            id: name.clone(),
            from: 0,
            to: u64::MAX,
        };
        let call = world.invoke(place, all);
        world.events[id].snapshots.clear();
        world.done(place, call, &Fate::Ok);
        if world.random.one_in(3) {
            let call = world.invoke(place, Operation::ResetEvents { id: name.clone() });
            if world.random.one_in(2) {
                world.done(place, call, &Fate::UnknownDone);
            }
        }
        let call = world.invoke(place, Operation::ResetEvents { id: name });
        let store = &mut world.events[id];
        store.epoch += 1;
        store.log.clear();
        store.deleted_to = 0;
        store.unsettled.clear();
        world.event_order.retain(|entry| entry.0 != id);
        world.done(place, call, &Fate::Ok);
    }

    pub(crate) fn rows(&self, rows: &mut Rows) {
        let id = &self.name;
        for (number, uid) in (1..).zip(&self.log) {
            if number > self.deleted_to {
                rows.push(Row::Event {
                    id: id.clone(),
                    number,
                    uid: *uid,
                });
            }
        }
        if !self.log.is_empty() {
            rows.push(Row::Head {
                id: id.clone(),
                highest: self.highest(),
                deleted_to: self.deleted_to,
            });
        }
        rows.extend(self.snapshots.iter().map(|(number, digest)| Row::Snapshot {
            id: id.clone(),
            number: *number,
            digest: *digest,
        }));
    }
}

/// An actor that is running, with all that it knows.
#[derive(Clone, Debug)]
pub(crate) struct Live {
    incarnation: Incarnation,
    epoch: u64,
    takes_over: bool,
    highest: u64,
    digest: u64,
    /// The newest snapshot that it knows to be there.
    snapshot: u64,
}

/// The work that an actor is at.
#[derive(Clone, Debug)]
pub(crate) enum Task {
    Persist {
        call: u64,
        ask: Option<u64>,
        uids: Vec<Uid>,
        fate: Option<Fate>,
    },
    Save {
        call: u64,
        number: u64,
        digest: u64,
        fate: Option<Fate>,
    },
    Delete {
        call: u64,
        to: u64,
        fate: Option<Fate>,
    },
    DeleteSnapshots {
        call: u64,
        to: u64,
        fate: Option<Fate>,
    },
    Replay {
        call: u64,
        seen: Option<Recovered>,
    },
}

/// An actor of one id in one process.
#[derive(Clone, Debug, Default)]
pub(crate) enum EventActor {
    #[default]
    Down,
    Recovering {
        call: u64,
        incarnation: Incarnation,
        fences: bool,
        seen: Option<(Recovered, Live)>,
    },
    Live(Live, Option<Task>),
}

impl EventActor {
    pub(crate) fn is_down(&self) -> bool {
        matches!(self, Self::Down)
    }

    pub(crate) fn step(&mut self, world: &mut World, process: usize, id: usize) {
        *self = match std::mem::take(self) {
            Self::Down => {
                let incarnation = world.incarnation(process);
                let unsettled = world.events[id].unsettled.contains(&world.process(process));
                let fences = unsettled || world.random.one_in(5);
                let recover = Operation::Recover {
                    id: world.events[id].name.clone(),
                    incarnation,
                    fences: fences && !(unsettled && world.random.one_in(2)),
                };
                let call = world.invoke(process, recover);
                Self::Recovering {
                    call,
                    incarnation,
                    fences,
                    seen: None,
                }
            }
            Self::Recovering { call, .. } if world.random.one_in(15) => {
                world.done(process, call, &Fate::Failed);
                Self::Down
            }
            Self::Recovering {
                call,
                incarnation,
                fences,
                seen: None,
            } => {
                let process = world.process(process);
                let store = &mut world.events[id];
                if fences {
                    store.epoch += 1;
                    store.unsettled.remove(&process);
                }
                let seen = Some(recovered(world, id, incarnation));
                Self::Recovering {
                    call,
                    incarnation,
                    fences,
                    seen,
                }
            }
            Self::Recovering {
                call,
                seen: Some((recovered, live)),
                ..
            } => {
                world.answer(process, call, Answer::Ok(Done::Recovered(recovered)));
                Self::Live(live, None)
            }
            Self::Live(live, None) => {
                let task = begin(world, process, id, &live);
                if task.is_none() {
                    let (id, incarnation) = (world.events[id].name.clone(), live.incarnation);
                    world.record(process, What::Ended { id, incarnation });
                    Self::Down
                } else {
                    Self::Live(live, task)
                }
            }
            Self::Live(live, Some(task)) => go_on(world, process, id, live, task),
        };
    }

    /// The process is killed: what is under way may be done, now, later or never.
    pub(crate) fn kill(&mut self, world: &mut World, id: usize) {
        let Self::Live(live, Some(task)) = std::mem::take(self) else {
            return;
        };
        let done = world.random.one_in(2);
        match task {
            Task::Persist {
                uids, fate: None, ..
            } if done => {
                let write = fenced(&live, uids);
                world.events[id].late.push(write);
            }
            Task::Delete { to, fate: None, .. } if done && live.epoch == world.events[id].epoch => {
                delete(world, id, to);
            }
            Task::Save {
                number,
                digest,
                fate: None,
                ..
            } if done => {
                world.events[id].snapshots.insert(number, digest);
            }
            Task::DeleteSnapshots { to, fate: None, .. } if done => {
                world.events[id].snapshots.retain(|number, _| *number > to);
            }
            _ => {}
        }
    }
}

fn fenced(live: &Live, uids: Vec<Uid>) -> Fenced {
    Fenced {
        epoch: live.epoch,
        takes_over: live.takes_over,
        first: live.highest + 1,
        uids,
    }
}

fn delete(world: &mut World, id: usize, to: u64) {
    let store = &mut world.events[id];
    store.deleted_to = store.deleted_to.max(to.min(store.highest()));
}

fn recovered(world: &mut World, id: usize, incarnation: Incarnation) -> (Recovered, Live) {
    let store = &world.events[id];
    let newest = store
        .snapshots
        .last_key_value()
        .map(|(number, digest)| (*number, *digest));
    let snapshot = newest.map_or(0, |newest| newest.0);
    let from = snapshot.max(store.deleted_to);
    let all: Vec<_> = (1..).zip(store.log.iter().copied()).collect();
    let replayed = &all[from as usize..];
    let digest = newest.map_or(0, |newest| newest.1);
    let digest = replayed
        .iter()
        .fold(digest, |digest, event| fold(digest, event.1));
    let remembers = snapshot >= store.deleted_to && world.random.one_in(3);
    let recovered = Recovered {
        highest: store.highest(),
        deleted_to: world.random.one_in(2).then_some(store.deleted_to),
        snapshot: newest.map(|newest| newest.0),
        snapshot_digest: newest.map(|newest| newest.1),
        events: (!world.random.one_in(4)).then(|| {
            if remembers {
                all.clone()
            } else {
                replayed.to_vec()
            }
        }),
        digest: world.random.one_in(2).then_some(digest),
    };
    let live = Live {
        incarnation,
        epoch: store.epoch,
        takes_over: true,
        highest: store.highest(),
        digest,
        snapshot,
    };
    (recovered, live)
}

/// Chooses the next task of an idle actor; `None` to end.
fn begin(world: &mut World, process: usize, id: usize, live: &Live) -> Option<Task> {
    let name = world.events[id].name.clone();
    let uncovered = world.events[id].uncovered;
    let (fate, incarnation) = (None, live.incarnation);
    match world.random.below(20) {
        0 => None,
        1 => {
            let call = world.invoke(process, Operation::Replay { id: name });
            Some(Task::Replay { call, seen: None })
        }
        2 | 3 if live.highest > 0 => {
            let (number, digest) = (live.highest, live.digest);
            let operation = Operation::SaveSnapshot {
                id: name,
                incarnation,
                number,
                digest,
            };
            let call = world.invoke(process, operation);
            Some(Task::Save {
                call,
                number,
                digest,
                fate,
            })
        }
        4 | 5 if live.snapshot > 0 || uncovered => {
            let to = if uncovered {
                live.highest.saturating_sub(1)
            } else {
                live.snapshot
            };
            let operation = Operation::DeleteEvents {
                id: name,
                to,
                covered: !uncovered,
            };
            let call = world.invoke(process, operation);
            Some(Task::Delete { call, to, fate })
        }
        6 if live.snapshot > 1 => {
            let to = live.snapshot - 1;
            let operation = Operation::DeleteSnapshots {
                id: name,
                from: 0,
                to,
            };
            let call = world.invoke(process, operation);
            Some(Task::DeleteSnapshots { call, to, fate })
        }
        _ => {
            let events = if world.random.one_in(3) {
                1 + world.random.below(4)
            } else {
                1
            };
            let uids: Vec<_> = (0..events).map(|_| world.uid(process)).collect();
            let ask = (events == 1 && world.random.one_in(2)).then(|| {
                let ask = Operation::Ask {
                    id: name.clone(),
                    sender: u64::from(world.process(process)),
                    uid: uids[0],
                };
                world.invoke(process, ask)
            });
            let persist = Operation::Persist {
                id: name,
                incarnation,
                uids: uids.clone(),
            };
            let call = world.invoke(process, persist);
            Some(Task::Persist {
                call,
                ask,
                uids,
                fate,
            })
        }
    }
}

/// The store does what is asked, or answers.
fn go_on(world: &mut World, process: usize, id: usize, mut live: Live, task: Task) -> EventActor {
    match task {
        Task::Persist {
            call,
            ask,
            uids,
            fate: None,
        } => {
            let fate = persist(world, process, id, &mut live, &uids);
            let fate = Some(fate);
            EventActor::Live(
                live,
                Some(Task::Persist {
                    call,
                    ask,
                    uids,
                    fate,
                }),
            )
        }
        Task::Persist {
            call,
            ask,
            uids,
            fate: Some(fate),
        } => persisted(world, process, id, live, (call, ask), &uids, &fate),
        Task::Save {
            call,
            number,
            digest,
            fate: None,
        } => {
            let fate = world.fate();
            if matches!(fate, Fate::Ok | Fate::UnknownDone) {
                world.events[id].snapshots.insert(number, digest);
            }
            let fate = Some(fate);
            EventActor::Live(
                live,
                Some(Task::Save {
                    call,
                    number,
                    digest,
                    fate,
                }),
            )
        }
        Task::Save {
            call,
            number,
            fate: Some(fate),
            ..
        } => {
            if matches!(fate, Fate::Ok) {
                live.snapshot = number;
            }
            world.done(process, call, &fate);
            EventActor::Live(live, None)
        }
        Task::Delete {
            call,
            to,
            fate: None,
        } => {
            let mut fate = world.fate();
            if live.epoch != world.events[id].epoch {
                fate = Fate::Failed;
            }
            if matches!(fate, Fate::Ok | Fate::UnknownDone) {
                delete(world, id, to);
            }
            EventActor::Live(
                live,
                Some(Task::Delete {
                    call,
                    to,
                    fate: Some(fate),
                }),
            )
        }
        Task::DeleteSnapshots {
            call,
            to,
            fate: None,
        } => {
            let fate = world.fate();
            if matches!(fate, Fate::Ok | Fate::UnknownDone) {
                world.events[id].snapshots.retain(|number, _| *number > to);
            }
            let fate = Some(fate);
            EventActor::Live(live, Some(Task::DeleteSnapshots { call, to, fate }))
        }
        Task::Delete {
            call,
            fate: Some(fate),
            ..
        }
        | Task::DeleteSnapshots {
            call,
            fate: Some(fate),
            ..
        } => {
            world.done(process, call, &fate);
            EventActor::Live(live, None)
        }
        Task::Replay { call, seen: None } => {
            let store = &world.events[id];
            let all = (1..).zip(store.log.iter().copied());
            let seen = Some(Recovered {
                highest: store.highest(),
                deleted_to: Some(store.deleted_to),
                events: Some(all.skip(store.deleted_to as usize).collect()),
                ..Recovered::default()
            });
            EventActor::Live(live, Some(Task::Replay { call, seen }))
        }
        Task::Replay {
            call,
            seen: Some(seen),
        } => {
            world.answer(process, call, Answer::Ok(Done::Recovered(seen)));
            EventActor::Live(live, None)
        }
    }
}

fn persist(world: &mut World, process: usize, id: usize, live: &mut Live, uids: &[Uid]) -> Fate {
    let write = fenced(live, uids.to_vec());
    let mut fate = world.fate();
    match fate {
        Fate::Ok | Fate::UnknownDone => {
            if !EventStore::write(world, id, &write) {
                fate = Fate::Failed;
            } else if write.takes_over {
                live.takes_over = false;
                live.epoch += 1;
            }
        }
        Fate::UnknownLater => world.events[id].late.push(write),
        Fate::Rejected | Fate::Failed | Fate::UnknownNotDone => {}
    }
    if matches!(
        fate,
        Fate::UnknownDone | Fate::UnknownNotDone | Fate::UnknownLater
    ) {
        let process = world.process(process);
        world.events[id].unsettled.insert(process);
    }
    fate
}

fn persisted(
    world: &mut World,
    process: usize,
    id: usize,
    mut live: Live,
    (call, ask): (u64, Option<u64>),
    uids: &[Uid],
    fate: &Fate,
) -> EventActor {
    let name = world.events[id].name.clone();
    let first = live.highest + 1;
    let answer = match fate {
        Fate::Ok => {
            for (number, uid) in (first..).zip(uids) {
                live.digest = fold(live.digest, *uid);
                live.highest = number;
                let (id, incarnation, uid) = (name.clone(), live.incarnation, *uid);
                let handled = What::Handled {
                    id,
                    incarnation,
                    uid,
                    number,
                };
                world.record(process, handled);
            }
            Answer::Ok(Done::Persisted { first })
        }
        Fate::Rejected => Answer::Rejected,
        Fate::Failed => Answer::Failed,
        Fate::UnknownDone | Fate::UnknownNotDone | Fate::UnknownLater => Answer::Unknown,
    };
    world.answer(process, call, answer.clone());
    if let Some(ask) = ask {
        world.answer(process, ask, answer);
    }
    match fate {
        Fate::Ok | Fate::Rejected => EventActor::Live(live, None),
        _ => EventActor::Down,
    }
}
