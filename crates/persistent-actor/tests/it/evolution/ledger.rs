//! An actor whose events and snapshots have had several forms.

use actix::{Actor, Handler, Message};
use actix_persistence_persistent_actor::{
    BackOffSettings, Chain, Event, EventMeta, PersistError, PersistentActor, PersistentContext,
    Recovery, RecoveryError, RecoveryReplies, Reply, Retention, Snapshot, SnapshotOffer,
    StateUpcasters, StoreResponse, Upcasters,
};
use actix_persistence_storage_api::{
    AtomicWrite, EventRecord, Journal, Payload, PersistenceId, SequenceNr, SnapshotMetadata,
    SnapshotStore, TakeOverRequest, Timestamp, WriterId,
};
use serde::{Deserialize, Serialize};

use crate::tally::{Log, chain};
use crate::world::World;

/// An entry as it is since version 3; since version 4 it may have a text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Entered {
    pub(crate) cents: i64,
    #[serde(default)]
    pub(crate) text: String,
}

#[derive(Deserialize)]
struct Entered1(i64);

#[derive(Deserialize)]
struct Entered2 {
    amount: i64,
}

/// Several entries in one event, of an earlier program.
#[derive(Deserialize)]
struct EnteredAtOnce(Vec<i64>);

impl From<Entered1> for Entered2 {
    fn from(Entered1(amount): Entered1) -> Self {
        assert!(amount != 13, "an unlucky number");
        Self { amount }
    }
}

impl From<Entered2> for Entered {
    fn from(Entered2 { amount }: Entered2) -> Self {
        Self {
            cents: amount,
            text: String::new(),
        }
    }
}

impl Event for Entered {
    const MANIFEST: &'static str = "ledger.entered";
    const VERSION: u32 = 4;

    fn upcasters() -> Upcasters<Self> {
        Upcasters::new()
            .chain(Chain::of::<Entered1>(1).then::<Entered2>(2))
            .unchanged(3)
            .renamed("entered", 1..=2)
            .split(
                "ledger.entered-at-once",
                Chain::of::<EnteredAtOnce>(1),
                entries,
            )
            .retired("ledger.looked-at")
    }
}

fn entries(EnteredAtOnce(all): EnteredAtOnce) -> impl Iterator<Item = Entered> {
    let entries = all.into_iter().map(Entered1);
    entries.map(|entry| Entered2::from(entry).into())
}

/// The sum of all entries, and their number since version 2.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Sum {
    pub(crate) cents: i64,
    entries: Option<u64>,
}

#[derive(Deserialize)]
struct Sum1(i64);

impl From<Sum1> for Sum {
    fn from(Sum1(cents): Sum1) -> Self {
        let entries = None;
        Self { cents, entries }
    }
}

impl Snapshot for Sum {
    const MANIFEST: &'static str = "ledger.sum";
    const VERSION: u32 = 3;

    fn upcasters() -> StateUpcasters<Self> {
        // Version 1 was not stored for long.
        let chain = Chain::of::<Sum1>(2);
        StateUpcasters::new()
            .since(2)
            .chain(chain)
            .renamed("sum", 2)
    }
}

pub(crate) fn id() -> PersistenceId {
    PersistenceId::of("Ledger", "1")
}

/// Adds up what is entered, and writes down what happens to it.
pub(crate) struct Ledger {
    pub(crate) log: Log,
    pub(crate) cents: i64,
    pub(crate) recovery: Recovery,
    /// The number of events after which it takes a snapshot, and deletes them.
    pub(crate) retaining: Option<u64>,
}

impl Ledger {
    pub(crate) fn new(log: &Log) -> Self {
        Self {
            log: log.clone(),
            cents: 0,
            recovery: Recovery::default(),
            retaining: None,
        }
    }
}

impl Actor for Ledger {
    type Context = PersistentContext<Self>;
}

impl PersistentActor for Ledger {
    type Event = Entered;
    type Snapshot = Sum;

    fn persistence_id(&self) -> PersistenceId {
        id()
    }

    fn on_event(&mut self, _: &Entered) {
        unreachable!("on_event_at calls it, and is implemented otherwise")
    }

    fn on_event_at(&mut self, event: &Entered, meta: &EventMeta) {
        assert!(event.cents != 666, "an amount that cannot be");
        self.cents += event.cents;
        let Entered { cents, text } = event;
        let nr = meta.sequence_nr;
        self.log.add(format!("{nr}: {cents}{text}"));
    }

    fn on_snapshot(&mut self, offer: SnapshotOffer<Sum>) {
        self.cents = offer.snapshot.cents;
        let nr = offer.metadata.sequence_nr;
        self.log.add(format!("snapshot {nr}: {}", self.cents));
    }

    fn recovery(&self) -> Recovery {
        self.recovery
    }

    fn retention(&self) -> Option<Retention<Self>> {
        let every = self.retaining?;
        let sum = |ledger: &Self| Sum {
            cents: ledger.cents,
            entries: None,
        };
        let retention = Retention::snapshot_every(every, sum);
        Some(retention.with_kept_snapshots(1).with_delete_events())
    }

    fn back_off(&self) -> Option<BackOffSettings> {
        Some(BackOffSettings::default())
    }

    fn recovery_replies(&self) -> RecoveryReplies {
        RecoveryReplies::new().with::<Enter>()
    }

    fn on_recovery_completed(&mut self, ctx: &mut Self::Context) {
        let nr = ctx.last_sequence_nr();
        self.log.add(format!("recovered at {nr}"));
    }

    fn on_recovery_failure(&mut self, error: &RecoveryError) {
        self.log.add(format!("recovery failed: {}", chain(error)));
    }

    fn on_store_response(&mut self, response: StoreResponse, _: &mut Self::Context) {
        let text = format!("{response:?}");
        self.log.add(text.split([' ', '{']).next().unwrap());
    }
}

/// Enters an amount, and answers with the sum and the number of the event.
#[derive(Message)]
#[rtype(result = "Result<(i64, SequenceNr), PersistError>")]
pub(crate) struct Enter(pub(crate) i64);

impl Handler<Enter> for Ledger {
    type Result = Reply<Enter>;

    fn handle(&mut self, Enter(cents): Enter, ctx: &mut Self::Context) -> Self::Result {
        let text = " live".to_owned();
        ctx.persist(Entered { cents, text })
            .reply_with(|ledger, ctx| Ok((ledger.cents, ctx.last_sequence_nr())))
    }
}

/// Returns JSON as it is stored under a manifest.
pub(crate) fn json(manifest: &str, json: &str) -> Payload {
    Payload::new(2, manifest, json.to_owned())
}

/// Stores these events as programs of before did.
pub(crate) async fn store(world: &World, payloads: Vec<Payload>) {
    let (journal, id) = (world.storage.journal(), id());
    let writer = WriterId::random();
    let request = TakeOverRequest::new(id.clone(), writer);
    let taken = journal.take_over(&[request]).await.unwrap().remove(0);
    let records = (taken.highest_sequence_nr + 1..)
        .zip(payloads)
        .map(|(nr, payload)| EventRecord::new(nr, Timestamp::now(), writer, payload))
        .collect();
    let write = AtomicWrite::new(id, taken.epoch, records).unwrap();
    assert!(journal.write_messages(vec![write]).await.unwrap()[0].is_stored());
}

/// Stores this snapshot as a program of before did.
pub(crate) async fn save(world: &World, at: SequenceNr, payload: Payload) {
    let metadata = SnapshotMetadata::new(id(), at, Timestamp::now());
    let store = world.storage.snapshot_store();
    store.save(metadata, payload).await.unwrap();
}

/// A world in which these events are stored.
pub(crate) async fn with(events: &[(&str, &str)]) -> World {
    let world = World::new();
    let payloads = events.iter().map(|(manifest, text)| json(manifest, text));
    store(&world, payloads.collect()).await;
    world
}

/// Returns what happens to an actor that is recovered and asked to enter 100, and its answer.
pub(crate) async fn entered(
    world: &World,
    make: impl Fn(&Log) -> Ledger + Unpin + 'static,
) -> (Vec<String>, Result<(i64, SequenceNr), PersistError>) {
    let log = Log::default();
    let shared = log.clone();
    let ledger = world.start(move || make(&shared)).unwrap();
    let answer = ledger.send(Enter(100)).await.unwrap();
    let entries = log.take();
    crate::history::end(world, ledger).await;
    (entries, answer)
}
