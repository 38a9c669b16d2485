//! The plugin in an application: registered in one line, chosen by a config.

use actix::prelude::*;
use actix_persistence::error::CommandError;
use actix_persistence::{Config, prelude::*};
use custom_journal::{FileJournal, FilePlugin, LogSize};
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

#[derive(Serialize, Deserialize)]
struct Counted;

impl Event for Counted {
    const MANIFEST: &'static str = "test.counted";
    const VERSION: u32 = 1;
}

#[derive(Clone, Default, Serialize, Deserialize)]
struct Count(u64);

impl Snapshot for Count {
    const MANIFEST: &'static str = "test.count";
    const VERSION: u32 = 1;
}

#[derive(Default)]
struct Counter {
    count: Count,
    restored: bool,
}

impl Actor for Counter {
    type Context = PersistentContext<Self>;
}

impl PersistentActor for Counter {
    type Event = Counted;
    type Snapshot = Count;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of("Counter", "1")
    }

    fn on_event(&mut self, _: &Counted) {
        self.count.0 += 1;
    }

    fn on_snapshot(&mut self, offer: SnapshotOffer<Count>) {
        self.count = offer.snapshot;
        self.restored = true;
    }
}

/// Counts, and answers with the count and whether it started from a snapshot.
#[derive(Message)]
#[rtype(result = "Result<(u64, bool), PersistError>")]
struct Increase;

impl Handler<Increase> for Counter {
    type Result = Reply<Increase>;

    fn handle(&mut self, _: Increase, ctx: &mut Self::Context) -> Reply<Increase> {
        ctx.persist(Counted)
            .then(|counter, _, ctx| ctx.save_snapshot(&counter.count))
            .reply(|counter| Ok((counter.count.0, counter.restored)))
    }
}

/// Opens the stores in a folder.
async fn open(place: &TempDir) -> Persistence {
    let directory = place.path().to_str().unwrap();
    let config = ["journal", "snapshot-store"]
        .iter()
        .fold(Config::new(), |config, store| {
            config
                .with(&format!("persistence.{store}.plugin"), "files")
                .with(&format!("persistence.{store}.files.kind"), "file")
                .with(&format!("persistence.{store}.files.directory"), directory)
        });
    let builder = Persistence::builder().plugin(FilePlugin::new());
    builder.config(config).open().await.unwrap()
}

#[actix::test]
async fn an_actor_goes_on_after_a_restart_from_its_snapshot() {
    let place = TempDir::new().unwrap();
    for (turn, restored) in [(1, false), (2, true), (3, true)] {
        let persistence = open(&place).await;
        assert!(persistence.journal::<FileJournal>("files").is_some());
        let counter = persistence.start(Counter::default).unwrap();
        let answer = counter.send(Increase).await.unwrap().unwrap();
        assert_eq!(answer, (turn, restored));
        persistence.drained().await;
    }
}

// ANCHOR: ask_journal
async fn log_bytes(persistence: &Persistence) -> Result<u64, CommandError> {
    persistence.ask_journal(None, LogSize).await
}
// ANCHOR_END: ask_journal

#[actix::test]
async fn the_length_of_the_log_is_asked_through_its_actor() {
    let place = TempDir::new().unwrap();
    let persistence = open(&place).await;
    let before = log_bytes(&persistence).await.unwrap();
    let counter = persistence.start(Counter::default).unwrap();
    counter.send(Increase).await.unwrap().unwrap();
    let after = log_bytes(&persistence).await.unwrap();
    assert!(after > before, "{before} {after}");
    let file = std::fs::metadata(place.path().join("journal.log"));
    assert_eq!(file.unwrap().len(), after);
}
