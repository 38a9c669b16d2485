//! The actor of these tests: adds numbers up, and writes down everything that happens to it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use actix::{Actor, ActorContext, AsyncContext, Handler, Message};
use actix_persistence_persistent_actor::{
    BackOffSettings, Event, Persist, PersistError, PersistentActor, PersistentContext, Recovery,
    RecoveryError, RejectionCause, Reply, Retention, Snapshot, SnapshotOffer, StoreResponse,
    TakeOver,
};
use actix_persistence_storage_api::{PersistenceId, SequenceNr};
use serde::{Deserialize, Serialize};

/// The log of a test, in order; shared by the test and every incarnation.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub(crate) fn add(&self, entry: impl Into<String>) {
        self.0.lock().unwrap().push(entry.into());
    }

    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Added {
    pub(crate) n: i64,
    /// To make an event as large as a test needs.
    pub(crate) ballast: String,
}

impl Event for Added {
    const MANIFEST: &'static str = "test.added";
    const VERSION: u32 = 1;
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Sum(pub(crate) i64);

impl Snapshot for Sum {
    const MANIFEST: &'static str = "test.sum";
    const VERSION: u32 = 1;
}

pub(crate) struct Tally {
    pub(crate) id: PersistenceId,
    pub(crate) log: Log,
    pub(crate) sum: i64,
    pub(crate) recovery: Recovery,
    /// Panics in `on_event` when it sees this number.
    pub(crate) poison: Option<i64>,
    pub(crate) retaining: Option<Retaining>,
    pub(crate) back_off: Option<BackOffSettings>,
    pub(crate) take_over: TakeOver,
}

/// The retention of a tally.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Retaining {
    pub(crate) every: u64,
    pub(crate) keep: usize,
    pub(crate) delete_events: bool,
    pub(crate) batches: u64,
}

impl Tally {
    pub(crate) fn new(id: &str, log: &Log) -> Self {
        Self {
            id: PersistenceId::of("Tally", id),
            log: log.clone(),
            sum: 0,
            recovery: Recovery::default(),
            poison: None,
            retaining: None,
            back_off: None,
            take_over: TakeOver::default(),
        }
    }

    pub(crate) fn factory(id: &'static str, log: &Log) -> impl FnMut() -> Self + Unpin + 'static {
        let log = log.clone();
        move || Self::new(id, &log)
    }
}

impl Actor for Tally {
    type Context = PersistentContext<Self>;

    fn stopped(&mut self, _: &mut Self::Context) {
        self.log.add("stopped");
    }
}

impl PersistentActor for Tally {
    type Event = Added;
    type Snapshot = Sum;

    fn persistence_id(&self) -> PersistenceId {
        self.id.clone()
    }

    fn back_off(&self) -> Option<BackOffSettings> {
        self.back_off.clone()
    }

    fn take_over(&self) -> TakeOver {
        self.take_over
    }

    fn recovery(&self) -> Recovery {
        self.recovery
    }

    fn retention(&self) -> Option<Retention<Self>> {
        self.retaining.map(|retaining| {
            let retention =
                Retention::snapshot_every(retaining.every, |tally: &Self| Sum(tally.sum))
                    .with_kept_snapshots(retaining.keep)
                    .with_kept_event_batches(retaining.batches);
            match retaining.delete_events {
                true => retention.with_delete_events(),
                false => retention,
            }
        })
    }

    fn on_event(&mut self, event: &Added) {
        assert!(self.poison != Some(event.n), "poisoned");
        self.log.add(format!("event {}", event.n));
        self.sum += event.n;
    }

    fn on_snapshot(&mut self, offer: SnapshotOffer<Sum>) {
        self.log
            .add(format!("snapshot {}", offer.metadata.sequence_nr));
        self.sum = offer.snapshot.0;
    }

    fn on_recovery_completed(&mut self, ctx: &mut Self::Context) {
        assert!(ctx.is_recovery_finished() && !ctx.is_recovering());
        self.log
            .add(format!("recovered at {}", ctx.last_sequence_nr()));
    }

    fn on_recovery_failure(&mut self, error: &RecoveryError) {
        self.log.add(format!("recovery failed: {}", chain(error)));
    }

    fn on_persist_failure(&mut self, error: &PersistError, event: &Added, nr: SequenceNr) {
        self.log
            .add(format!("failed {} at {nr}: {}", event.n, kind(error)));
    }

    fn on_persist_rejected(&mut self, _: &RejectionCause, event: &Added, _: &mut Self::Context) {
        self.log.add(format!("rejected {}", event.n));
    }

    fn on_store_response(&mut self, response: StoreResponse, _: &mut Self::Context) {
        let text = format!("{response:?}");
        let name = text.split([' ', '{']).next().unwrap().to_owned();
        self.log.add(name);
    }
}

/// An error with its causes.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", chain(source)),
        None => error.to_string(),
    }
}

/// The name of an error's variant.
pub(crate) fn kind(error: &PersistError) -> String {
    let text = format!("{error:?}");
    text.split('(').next().unwrap().to_owned()
}

pub(crate) type Answer = Result<i64, PersistError>;

/// Persists the number and answers with the sum after it.
#[derive(Message)]
#[rtype(result = "Answer")]
pub(crate) struct Add(pub(crate) i64);

impl Handler<Add> for Tally {
    type Result = Reply<Add>;

    fn handle(&mut self, add: Add, ctx: &mut Self::Context) -> Reply<Add> {
        self.log.add(format!("command {}", add.0));
        persist(ctx, add.0)
            .then(|tally, event, _| tally.log.add(format!("handler {}", event.n)))
            .reply(|tally| Ok(tally.sum))
    }
}

pub(crate) fn persist(ctx: &mut PersistentContext<Tally>, n: i64) -> Persist<Tally> {
    ctx.persist(added(n))
}

pub(crate) fn added(n: i64) -> Added {
    Added {
        n,
        ballast: String::new(),
    }
}

/// Persists an event with this many bytes.
#[derive(Message)]
#[rtype(result = "Answer")]
pub(crate) struct AddLarge(pub(crate) i64, pub(crate) usize);

impl Handler<AddLarge> for Tally {
    type Result = Reply<AddLarge>;

    fn handle(&mut self, add: AddLarge, ctx: &mut Self::Context) -> Reply<AddLarge> {
        ctx.persist(Added {
            n: add.0,
            ballast: "x".repeat(add.1),
        })
        .reply(|tally| Ok(tally.sum))
    }
}

/// Persists all the numbers at once.
#[derive(Message)]
#[rtype(result = "Answer")]
pub(crate) struct AddAll(pub(crate) Vec<i64>);

impl Handler<AddAll> for Tally {
    type Result = Reply<AddAll>;

    fn handle(&mut self, add: AddAll, ctx: &mut Self::Context) -> Reply<AddAll> {
        ctx.persist_all(add.0.into_iter().map(added))
            .for_each_event(|tally, event, _| tally.log.add(format!("handler {}", event.n)))
            .reply(|tally| {
                tally.log.add("completed");
                Ok(tally.sum)
            })
    }
}

/// Asks for the sum; persists nothing.
#[derive(Message)]
#[rtype(result = "i64")]
pub(crate) struct Get;

impl Handler<Get> for Tally {
    type Result = i64;

    fn handle(&mut self, _: Get, _: &mut Self::Context) -> i64 {
        self.sum
    }
}

/// Runs code in the actor.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Run(pub(crate) Code);

type Code = Box<dyn FnOnce(&mut Tally, &mut PersistentContext<Tally>) + Send>;

impl Run {
    pub(crate) fn new(
        code: impl FnOnce(&mut Tally, &mut PersistentContext<Tally>) + Send + 'static,
    ) -> Self {
        Self(Box::new(code))
    }
}

impl Handler<Run> for Tally {
    type Result = ();

    fn handle(&mut self, run: Run, ctx: &mut Self::Context) {
        (run.0)(self, ctx);
    }
}

/// Writes down when a timer of the actor fires.
pub(crate) fn timer(ctx: &mut PersistentContext<Tally>, after: Duration, entry: &'static str) {
    ctx.run_later(after, move |tally, _| tally.log.add(entry));
}

pub(crate) fn stop(_: &mut Tally, ctx: &mut PersistentContext<Tally>) {
    ctx.stop();
}
