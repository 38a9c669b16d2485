//! Actors with durable states in generated histories, and their store.

use actix_persistence_history::{Answer, Done, Incarnation, Operation, Row, Uid};

use crate::generate::{Fate, Rows, World};

/// A change that names its revision.
#[derive(Clone, Debug)]
struct Fenced {
    revision: u64,
    uid: Uid,
    deletes: bool,
}

/// The state of one id.
pub(crate) struct StateStore {
    name: String,
    pub(crate) life: usize,
    revision: u64,
    pub(crate) uid: Option<Uid>,
    /// The rows that the change handler wrote.
    rows: Vec<(u64, Uid)>,
    late: Vec<Fenced>,
}

impl StateStore {
    pub(crate) fn new(id: usize) -> Self {
        Self {
            name: format!("state-{id}"),
            life: 0,
            revision: 0,
            uid: None,
            rows: Vec::new(),
            late: Vec::new(),
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    fn change(world: &mut World, id: usize, change: &Fenced) -> bool {
        let store = &mut world.states[id];
        let due = change.revision == store.revision + 1;
        if due {
            store.revision += 1;
            store.uid = (!change.deletes).then_some(change.uid);
            store.rows.push((change.revision, change.uid));
            world
                .state_order
                .push((id, store.life, store.revision, store.uid));
        }
        due
    }

    /// Makes every late change happen now, or be refused.
    pub(crate) fn late(world: &mut World, id: usize) {
        for change in std::mem::take(&mut world.states[id].late) {
            Self::change(world, id, &change);
        }
    }

    /// Removes every trace of an id to which no one writes.
    pub(crate) fn reset(world: &mut World, id: usize) {
        let store = &mut world.states[id];
        let name = store.name.clone();
        store.late.clear();
        let call = world.invoke(0, Operation::ResetState { id: name });
        let store = &mut world.states[id];
        store.life += 1;
        store.revision = 0;
        store.uid = None;
        world.done(0, call, &Fate::Ok);
    }

    pub(crate) fn rows(&self, rows: &mut Rows) {
        let id = &self.name;
        if self.revision > 0 {
            rows.push(Row::State {
                id: id.clone(),
                revision: self.revision,
                uid: self.uid,
            });
        }
        rows.extend(self.rows.iter().map(|(revision, uid)| Row::Change {
            table: "counts".into(),
            id: id.clone(),
            revision: *revision,
            uid: (revision % 3 > 0).then_some(*uid),
        }));
    }
}

/// An actor that is running, with all that it knows.
#[derive(Clone, Debug)]
pub(crate) struct Live {
    incarnation: Incarnation,
    revision: u64,
}

/// An actor of one id in one process.
#[derive(Clone, Debug, Default)]
pub(crate) enum StateActor {
    #[default]
    Down,
    Loading {
        call: u64,
        incarnation: Incarnation,
        seen: Option<(u64, Option<Uid>)>,
    },
    Live(Live),
    Changing {
        live: Live,
        call: u64,
        change: Asked,
        fate: Option<Fate>,
    },
}

/// The change that a store is asked for.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    uid: Uid,
    deletes: bool,
}

impl StateActor {
    pub(crate) fn is_down(&self) -> bool {
        matches!(self, Self::Down)
    }

    pub(crate) fn step(&mut self, world: &mut World, process: usize, id: usize) {
        *self = match std::mem::take(self) {
            Self::Down => {
                let incarnation = world.incarnation(process);
                let load = Operation::Load {
                    id: world.states[id].name.clone(),
                    incarnation: Some(incarnation),
                };
                let call = world.invoke(process, load);
                Self::Loading {
                    call,
                    incarnation,
                    seen: None,
                }
            }
            Self::Loading {
                call,
                incarnation,
                seen: None,
            } => {
                let store = &world.states[id];
                let seen = Some((store.revision, store.uid));
                Self::Loading {
                    call,
                    incarnation,
                    seen,
                }
            }
            Self::Loading {
                call,
                incarnation,
                seen: Some((revision, uid)),
            } => {
                world.answer(process, call, Answer::Ok(Done::Loaded { revision, uid }));
                Self::Live(Live {
                    incarnation,
                    revision,
                })
            }
            Self::Live(_) if world.random.one_in(12) => Self::Down,
            Self::Live(live) => begin(world, process, id, live),
            Self::Changing {
                mut live,
                call,
                change,
                fate: None,
            } => {
                let mut fate = world.fate();
                let fenced = fenced(&live, &change);
                if let Fate::UnknownLater = fate {
                    world.states[id].late.push(fenced);
                } else if let Fate::Ok | Fate::UnknownDone = fate
                    && !StateStore::change(world, id, &fenced)
                {
                    fate = Fate::Failed;
                }
                if matches!(fate, Fate::Ok) {
                    live.revision += 1;
                }
                let fate = Some(fate);
                Self::Changing {
                    live,
                    call,
                    change,
                    fate,
                }
            }
            Self::Changing {
                live,
                call,
                fate: Some(fate),
                ..
            } => {
                let goes_on = matches!(fate, Fate::Ok | Fate::Rejected);
                if let Fate::Ok = fate {
                    let revision = live.revision;
                    world.answer(process, call, Answer::Ok(Done::Changed { revision }));
                } else {
                    world.done(process, call, &fate);
                }
                if goes_on {
                    Self::Live(live)
                } else {
                    Self::Down
                }
            }
        };
    }

    /// The process is killed: what is under way may be done, now, later or never.
    pub(crate) fn kill(&mut self, world: &mut World, id: usize) {
        if let Self::Changing {
            live,
            change,
            fate: None,
            ..
        } = std::mem::take(self)
            && world.random.one_in(2)
        {
            let change = fenced(&live, &change);
            world.states[id].late.push(change);
        }
    }
}

fn fenced(live: &Live, change: &Asked) -> Fenced {
    Fenced {
        revision: live.revision + 1,
        uid: change.uid,
        deletes: change.deletes,
    }
}

fn begin(world: &mut World, process: usize, id: usize, live: Live) -> StateActor {
    let (id, incarnation) = (world.states[id].name.clone(), live.incarnation);
    let uid = world.uid(process);
    let deletes = world.random.one_in(6);
    // A delete that shows nothing of itself can be told by its revision only.
    let revision = (deletes || world.random.one_in(2)).then_some(live.revision + 1);
    let operation = if deletes {
        Operation::DeleteState {
            id,
            incarnation,
            revision,
            uid,
        }
    } else {
        Operation::Upsert {
            id,
            incarnation,
            revision,
            uid,
        }
    };
    let call = world.invoke(process, operation);
    StateActor::Changing {
        live,
        call,
        change: Asked { uid, deletes },
        fate: None,
    }
}
