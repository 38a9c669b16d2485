//! The actor of these tests.

use actix::prelude::*;
use actix_persistence::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
pub(crate) struct Counted(pub(crate) u64);

impl Event for Counted {
    const MANIFEST: &'static str = "test.counted";
    const VERSION: u32 = 1;
}

/// Counts; may ask for other stores than the default ones.
#[derive(Default)]
pub(crate) struct Counter {
    pub(crate) name: String,
    pub(crate) count: u64,
    pub(crate) journal: Option<String>,
    pub(crate) snapshot_store: Option<String>,
}

impl Counter {
    pub(crate) fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            ..Self::default()
        }
    }
}

impl Actor for Counter {
    type Context = PersistentContext<Self>;
}

impl PersistentActor for Counter {
    type Event = Counted;
    type Snapshot = NoSnapshot;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of("Counter", &self.name)
    }

    fn on_event(&mut self, event: &Counted) {
        self.count += event.0;
    }

    fn journal_plugin_id(&self) -> Option<String> {
        self.journal.clone()
    }

    fn snapshot_plugin_id(&self) -> Option<String> {
        self.snapshot_store.clone()
    }
}

/// Asks for the count; persists nothing.
#[derive(Message)]
#[rtype(result = "u64")]
pub(crate) struct Total;

impl Handler<Total> for Counter {
    type Result = u64;

    fn handle(&mut self, _: Total, _: &mut Self::Context) -> u64 {
        self.count
    }
}

#[derive(Message)]
#[rtype(result = "Result<u64, PersistError>")]
pub(crate) struct Count(pub(crate) u64);

impl Handler<Count> for Counter {
    type Result = Reply<Count>;

    fn handle(&mut self, count: Count, ctx: &mut Self::Context) -> Reply<Count> {
        ctx.persist(Counted(count.0))
            .reply(|counter| Ok(counter.count))
    }
}

/// Asks whether the actor can reach the persistence it was started with.
#[derive(Message)]
#[rtype(result = "bool")]
pub(crate) struct KnowsCurrent;

impl Handler<KnowsCurrent> for Counter {
    type Result = bool;

    fn handle(&mut self, _: KnowsCurrent, _: &mut Self::Context) -> bool {
        Persistence::current().is_some()
    }
}
