//! An actor that keeps a book.

use actix::prelude::*;
use actix_persistence::prelude::*;
use serde::{Deserialize, Serialize};

use crate::book::Book;

/// An entry.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Entered {
    client: u32,
    number: u64,
}

impl Event for Entered {
    const MANIFEST: &'static str = "test.entered";
    const VERSION: u32 = 1;
}

impl Snapshot for Book {
    const MANIFEST: &'static str = "test.book";
    const VERSION: u32 = 1;
}

/// The snapshots that a ledger takes; the events that they cover are deleted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Retaining {
    /// A snapshot is taken after so many events.
    pub(crate) every: u64,
    /// The number of snapshots that are kept.
    pub(crate) keep: usize,
}

/// Keeps a book under one id.
#[derive(Clone)]
pub(crate) struct Ledger {
    name: String,
    retaining: Option<Retaining>,
    /// All that was entered.
    pub(crate) book: Book,
}

impl Ledger {
    /// An empty one, which keeps all its events.
    pub(crate) fn named(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            retaining: None,
            book: Book::default(),
        }
    }

    /// Takes snapshots, and deletes the events that they cover.
    pub(crate) fn retaining(self, retaining: Retaining) -> Self {
        Self {
            retaining: Some(retaining),
            ..self
        }
    }
}

impl Actor for Ledger {
    type Context = PersistentContext<Self>;
}

impl PersistentActor for Ledger {
    type Event = Entered;
    type Snapshot = Book;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of("Ledger", &self.name)
    }

    fn retention(&self) -> Option<Retention<Self>> {
        let Retaining { every, keep } = self.retaining?;
        let retention = Retention::snapshot_every(every, |ledger: &Self| ledger.book.clone());
        Some(retention.with_kept_snapshots(keep).with_delete_events())
    }

    fn on_event(&mut self, event: &Entered) {
        self.book.enter(event.client, event.number);
    }

    fn on_snapshot(&mut self, offer: SnapshotOffer<Book>) {
        self.book = offer.snapshot;
    }
}

/// Enters a number of a client; the answer is the number of the event.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "Result<SequenceNr, PersistError>")]
pub(crate) struct Enter {
    /// The client that enters it.
    pub(crate) client: u32,
    /// One that the client has not used before, but for sending the same again.
    pub(crate) number: u64,
}

impl Handler<Enter> for Ledger {
    type Result = Reply<Enter>;

    fn handle(&mut self, enter: Enter, ctx: &mut Self::Context) -> Reply<Enter> {
        let Enter { client, number } = enter;
        ctx.persist(Entered { client, number })
            .reply(|ledger| Ok(ledger.book.entries))
    }
}

/// Asks for the book, and writes nothing.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "Book")]
pub(crate) struct Look;

impl Handler<Look> for Ledger {
    type Result = MessageResult<Look>;

    fn handle(&mut self, _: Look, _: &mut Self::Context) -> MessageResult<Look> {
        MessageResult(self.book.clone())
    }
}
