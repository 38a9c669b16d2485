//! The actor of these tests.

use std::sync::Arc;

use actix::prelude::*;
use actix_persistence::prelude::*;
use serde::{Deserialize, Serialize};

use super::watched_journal::Watch;

/// An event of some 200 bytes.
#[derive(Serialize, Deserialize)]
pub(super) struct Booked {
    cents: u64,
    note: String,
}

impl Event for Booked {
    const MANIFEST: &'static str = "test.booked";
    const VERSION: u32 = 1;
}

/// Adds up, and tells a watch when it has recovered.
pub(super) struct Ledger {
    number: u64,
    cents: u64,
    watch: Option<Arc<Watch>>,
}

impl Ledger {
    pub(super) fn new(number: u64) -> Self {
        Self {
            number,
            cents: 0,
            watch: None,
        }
    }

    pub(super) fn watched(number: u64, watch: Arc<Watch>) -> Self {
        Self {
            watch: Some(watch),
            ..Self::new(number)
        }
    }

    /// The id of the ledger with this number.
    pub(super) fn id(number: u64) -> PersistenceId {
        PersistenceId::of("Ledger", &number.to_string())
    }
}

impl Actor for Ledger {
    type Context = PersistentContext<Self>;
}

impl PersistentActor for Ledger {
    type Event = Booked;
    type Snapshot = NoSnapshot;

    fn persistence_id(&self) -> PersistenceId {
        Self::id(self.number)
    }

    fn on_event(&mut self, event: &Booked) {
        self.cents += event.cents;
    }

    fn on_recovery_completed(&mut self, _: &mut Self::Context) {
        if let Some(watch) = &self.watch {
            watch.completed(self.persistence_id());
        }
    }
}

/// Books one cent.
#[derive(Message)]
#[rtype(result = "Result<(), PersistError>")]
pub(super) struct Book;

impl Handler<Book> for Ledger {
    type Result = Reply<Book>;

    fn handle(&mut self, _: Book, ctx: &mut Self::Context) -> Reply<Book> {
        let event = Booked {
            cents: 1,
            note: "x".repeat(180),
        };
        ctx.persist(event).reply(|_| Ok(()))
    }
}

/// Asks for the sum, which is there after the recovery.
#[derive(Message)]
#[rtype(result = "u64")]
pub(super) struct Sum;

impl Handler<Sum> for Ledger {
    type Result = u64;

    fn handle(&mut self, _: Sum, _: &mut Self::Context) -> u64 {
        self.cents
    }
}
