//! Settings of the config about recoveries reach them.

use std::sync::Arc;

use actix::prelude::*;
use actix_persistence::memory::MemoryStorage;
use actix_persistence::prelude::*;
use actix_persistence::storage_api::{Payload, SnapshotStore};
use actix_persistence::{Config, Persistence, SnapshotMetadata, Timestamp};

use crate::counter::{Count, Counted, Counter};

/// The counter's heir that knows snapshots.
#[derive(Default)]
struct Saving {
    count: u64,
}

impl Actor for Saving {
    type Context = PersistentContext<Self>;
}

impl PersistentActor for Saving {
    type Event = Counted;
    type Snapshot = Total;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of("Counter", "1")
    }

    fn on_event(&mut self, event: &Counted) {
        self.count += event.0;
    }

    fn on_snapshot(&mut self, offer: SnapshotOffer<Total>) {
        self.count = offer.snapshot.0;
    }
}

#[derive(serde::Serialize, serde::Deserialize)]
struct Total(u64);

impl Snapshot for Total {
    const MANIFEST: &'static str = "test.total";
    const VERSION: u32 = 1;
}

async fn open(storage: &MemoryStorage, is_optional: bool) -> Persistence {
    let config = Config::new().with(
        "persistence.snapshot-store-plugin-fallback.snapshot-is-optional",
        is_optional,
    );
    Persistence::builder()
        .config(config)
        .journal("memory", Arc::new(storage.journal()))
        .snapshot_store("memory", Arc::new(storage.snapshot_store()))
        .open()
        .await
        .unwrap()
}

#[actix::test]
async fn a_snapshot_that_the_config_makes_optional_is_done_without() {
    let storage = MemoryStorage::new();
    let persistence = open(&storage, false).await;
    let counter = persistence.start(|| Counter::named("1")).unwrap();
    assert_eq!(counter.send(Count(5)).await.unwrap().unwrap(), 5);
    let id = PersistenceId::of("Counter", "1");
    let metadata = SnapshotMetadata::new(id, 1, Timestamp::now());
    let unreadable = Payload::new(1, "another.type:v1", "?");
    let snapshots = storage.snapshot_store();
    snapshots.save(metadata, unreadable).await.unwrap();

    let strict = persistence.replay(Saving::default()).await;
    assert!(strict.is_err());
    let lenient = open(&storage, true).await;
    let replayed = lenient.replay(Saving::default()).await.unwrap();
    assert_eq!((replayed.actor.count, replayed.sequence_nr), (5, 1));
}

#[cfg(feature = "hocon")]
#[actix::test]
async fn on_and_off_in_hocon_are_what_the_key_takes_them_for() {
    let text = "akka.persistence {
        journal.memory.replay-filter { mode = off, debug = on }
        snapshot-store.memory.snapshot-is-optional = on
    }";
    let storage = MemoryStorage::new();
    let persistence = Persistence::builder()
        .config(Config::from_hocon(text, "app.conf").unwrap())
        .journal("memory", Arc::new(storage.journal()))
        .snapshot_store("memory", Arc::new(storage.snapshot_store()))
        .open()
        .await
        .unwrap();
    let journal = persistence.journal_config("memory").unwrap();
    assert!(journal.contains("mode = \"off\"  # app.conf"), "{journal}");
}
