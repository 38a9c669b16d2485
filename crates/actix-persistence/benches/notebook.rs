//! The actor of the benches; what it is asked is up to each of them.

use actix::prelude::*;
use actix_persistence::prelude::*;
use serde::{Deserialize, Serialize};

/// The bytes of a note.
pub(crate) const PAYLOAD: usize = 200;

#[derive(Serialize, Deserialize)]
pub(crate) struct Noted(String);

impl Noted {
    pub(crate) fn new() -> Self {
        Self("x".repeat(PAYLOAD))
    }
}

impl Event for Noted {
    const MANIFEST: &'static str = "bench.noted";
    const VERSION: u32 = 1;
}

pub(crate) struct Notebook {
    name: String,
    pub(crate) notes: u64,
}

impl Notebook {
    pub(crate) fn named(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            notes: 0,
        }
    }
}

impl Actor for Notebook {
    type Context = PersistentContext<Self>;
}

impl PersistentActor for Notebook {
    type Event = Noted;
    type Snapshot = NoSnapshot;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of("Notebook", &self.name)
    }

    fn on_event(&mut self, _: &Noted) {
        self.notes += 1;
    }
}
