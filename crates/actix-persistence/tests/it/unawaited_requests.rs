//! Snapshots and deletes whose actor has stopped without waiting for their answers.

use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use actix_persistence::memory::MemoryStorage;
use actix_persistence::prelude::*;
use actix_persistence::storage_api::{Journal, Operation, PageLimit, ReplayRange, SnapshotStore};
use actix_persistence_testkit::{Held, Intercepted, Journals, SnapshotStores};
use futures_util::FutureExt;
use serde::{Deserialize, Serialize};

use crate::counter::Counted;

/// Longer than any test takes when it works.
const LONG: Duration = Duration::from_secs(60);
/// All that a test needs that wants the stop to give up.
const SHORT: Duration = Duration::from_millis(20);

#[actix::test]
async fn a_stop_waits_for_what_an_actor_requested_right_before_it_ended() {
    let (stores, persistence) = held_stores().await;
    save_delete_and_stop(&persistence).await;
    let report = persistence.stop(SHORT).await;
    assert_eq!(
        report.to_string(),
        "0 of 0 actors stopped, still busy: journal 'held', snapshot store 'held'"
    );
    assert!(!report.is_complete());
    stores.release();
    let report = persistence.stop(LONG).await;
    assert_eq!(report.to_string(), "0 of 0 actors stopped");
    assert_eq!(stores.left().await, Left::SNAPSHOT_ONLY);
}

#[actix::test]
async fn drained_waits_for_what_an_actor_requested_right_before_it_ended() {
    let (stores, persistence) = held_stores().await;
    save_delete_and_stop(&persistence).await;
    assert_eq!(persistence.drained().now_or_never(), None, "held");
    stores.release();
    persistence.drained().await;
    assert_eq!(stores.left().await, Left::SNAPSHOT_ONLY);
}

#[actix::test]
async fn a_stop_waits_for_what_a_command_requested_that_arrived_before_it() {
    let (stores, persistence) = held_stores().await;
    let saver = persistence.start(|| Saver).unwrap();
    saver.do_send(SaveDeleteAndStop);
    stores.release();
    let report = persistence.stop(LONG).await;
    assert_eq!(report.to_string(), "1 of 1 actors stopped");
    assert_eq!(stores.left().await, Left::SNAPSHOT_ONLY);
}

/// An actor does everything in one turn, and is gone.
async fn save_delete_and_stop(persistence: &Persistence) {
    let saver = persistence.start(|| Saver).unwrap();
    saver.send(SaveDeleteAndStop).await.unwrap();
    assert!(!saver.connected());
}

/// Has an event from the beginning of each test.
struct Saver;

#[derive(Serialize, Deserialize)]
struct Saved;

impl Snapshot for Saved {
    const MANIFEST: &'static str = "test.saved";
    const VERSION: u32 = 1;
}

impl Actor for Saver {
    type Context = PersistentContext<Self>;
}

impl PersistentActor for Saver {
    type Event = Counted;
    type Snapshot = Saved;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of("Saver", "1")
    }

    fn on_event(&mut self, _: &Counted) {}
}

#[derive(Message)]
#[rtype(result = "()")]
struct SaveDeleteAndStop;

impl Handler<SaveDeleteAndStop> for Saver {
    type Result = Reply<SaveDeleteAndStop>;

    fn handle(&mut self, _: SaveDeleteAndStop, ctx: &mut Self::Context) -> Self::Result {
        ctx.persist(Counted(1))
            .then(|_, _, ctx| {
                ctx.save_snapshot(&Saved);
                ctx.delete_messages(SequenceNr::MAX);
                ctx.stop();
            })
            .reply_or_close(|_| ())
    }
}

/// The rows of the actor that the stores hold.
#[derive(Debug, PartialEq, Eq)]
struct Left {
    snapshot_at: Option<SequenceNr>,
    events: usize,
}

impl Left {
    const SNAPSHOT_ONLY: Self = Self {
        snapshot_at: Some(1),
        events: 0,
    };
}

/// Holds back saves and deletes until they are released.
struct Stores {
    storage: MemoryStorage,
    deletes: Held<Journals>,
    saves: Held<SnapshotStores>,
}

async fn held_stores() -> (Stores, Persistence) {
    let storage = MemoryStorage::new();
    let journal = Intercepted::journal(storage.journal());
    let snapshot_store = Intercepted::snapshot_store(storage.snapshot_store());
    let stores = Stores {
        storage,
        deletes: journal.on(Operation::DeleteMessagesTo).hold(),
        saves: snapshot_store.on(Operation::SaveSnapshot).hold(),
    };
    let persistence = Persistence::builder()
        .journal("held", Arc::new(journal))
        .snapshot_store("held", Arc::new(snapshot_store))
        .open()
        .await
        .unwrap();
    (stores, persistence)
}

impl Stores {
    fn release(&self) {
        self.deletes.release_all();
        self.saves.release_all();
    }

    /// Looks at the plugins themselves, at once.
    async fn left(&self) -> Left {
        let id = PersistenceId::of("Saver", "1");
        let snapshots = self.storage.snapshot_store();
        let snapshot = snapshots.load(&id, SnapshotCriteria::LATEST).await.unwrap();
        let journal = self.storage.journal();
        let page = journal
            .replay_messages(&id, ReplayRange::ALL, PageLimit::DEFAULT)
            .await
            .unwrap();
        Left {
            snapshot_at: snapshot.map(|record| record.metadata.sequence_nr),
            events: page.events.len(),
        }
    }
}
