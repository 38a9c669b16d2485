//! The end of actors while snapshots wait for their pace.

use std::ops::Range;
use std::time::{Duration, Instant};

use actix::prelude::*;
use actix_persistence::Config;
use actix_persistence::prelude::*;
use futures_util::future::join_all;
use serde::{Deserialize, Serialize};
use tempfile::TempDir;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::counter::Counted;

/// Longer than any test takes when it works.
const LONG: Duration = Duration::from_secs(60);
/// The numbers of the ledgers.
const LEDGERS: Range<u32> = 0..5;
/// The longest time for which a save waits for the pace: half of its time-out.
const LONGEST_FOR_PACE: Duration = Duration::from_secs(30);

#[actix::test]
async fn a_stop_lets_snapshots_that_wait_for_their_pace_go_at_once() {
    let bank = Bank::new();
    let persistence = bank.open().await;
    let ledgers = ledgers_of(&persistence);
    close(&ledgers, Waits::Yes).await;
    let since = Instant::now();
    let report = persistence.stop(LONG).await;
    assert!(report.is_complete(), "{report}");
    took_no_pace(since);
    drop(persistence);
    bank.has_snapshots().await;
}

#[actix::test]
async fn an_id_is_free_though_its_snapshot_had_to_wait_for_the_pace() {
    let bank = Bank::new();
    let persistence = bank.open().await;
    let ledgers = ledgers_of(&persistence);
    close(&ledgers, Waits::No).await;
    let since = Instant::now();
    drop(ledgers);
    for n in LEDGERS {
        let ledger = move || Ledger::numbered(n);
        let started = persistence.start_when_stopped(ledger);
        started.await.unwrap();
    }
    took_no_pace(since);
    bank.has_snapshots().await;
}

#[actix::test]
async fn snapshots_of_actors_that_have_stopped_wait_for_no_pace() {
    let bank = Bank::new();
    let persistence = bank.open().await;
    let ledgers = ledgers_of(&persistence);
    close(&ledgers, Waits::No).await;
    let since = Instant::now();
    for ledger in &ledgers {
        ledger.do_send(Stop);
    }
    for n in LEDGERS {
        let id = Ledger::numbered(n).persistence_id();
        persistence.stopped(&id).await;
    }
    let looking = bank.open().await;
    let saved = async { while !bank.are_saved(&looking).await {} };
    timeout(LONG, saved).await.unwrap();
    took_no_pace(since);
}

#[actix::test]
async fn saves_that_wait_for_their_pace_are_made_if_their_arbiter_ends() {
    let bank = Bank::new();
    let persistence = bank.open().await;
    let arbiter = Arbiter::new();
    let ledgers = join_all(LEDGERS.map(async |n| {
        let ledger = move || Ledger::numbered(n);
        let handle = arbiter.handle();
        let started = persistence.start_in(&handle, ledger).await;
        started.unwrap()
    }));
    let ledgers = ledgers.await;
    close(&ledgers, Waits::No).await;
    let since = Instant::now();
    arbiter.stop();
    arbiter.join().unwrap();
    persistence.drained().await;
    took_no_pace(since);
    bank.has_snapshots().await;
}

/// A file, and stores on it whose snapshots wait for each other.
struct Bank(TempDir);

impl Bank {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    async fn open(&self) -> Persistence {
        let url = format!("sqlite://{}", self.0.path().join("bank.db").display());
        let mut config =
            Config::new().with("persistence.snapshot-store.sqlite.bytes-per-second", 1);
        for kind in ["journal", "snapshot-store"] {
            let section = format!("persistence.{kind}");
            config = config
                .with(&format!("{section}.plugin"), "sqlite")
                .with(&format!("{section}.sqlite.url"), url.as_str())
                .with(&format!("{section}.sqlite.auto-initialize"), true);
        }
        Persistence::open(config).await.unwrap()
    }

    /// Each ledger has its snapshot.
    async fn has_snapshots(&self) {
        let persistence = self.open().await;
        assert!(self.are_saved(&persistence).await);
    }

    async fn are_saved(&self, persistence: &Persistence) -> bool {
        let looks = LEDGERS.map(async |n| {
            let replayed = persistence.replay(Ledger::numbered(n)).await;
            replayed.unwrap().actor.is_from_snapshot
        });
        join_all(looks).await.into_iter().all(|is_saved| is_saved)
    }
}

/// Starts all ledgers, on the arbiter of the test.
fn ledgers_of(persistence: &Persistence) -> Vec<Addr<Ledger>> {
    let started = LEDGERS.map(|n| persistence.start(move || Ledger::numbered(n)));
    started.map(Result::unwrap).collect()
}

/// Lets each ledger ask for a snapshot.
async fn close(ledgers: &[Addr<Ledger>], waits: Waits) {
    let closed = join_all(
        ledgers
            .iter()
            .map(async |ledger| ledger.send(Close(waits)).await),
    )
    .await;
    closed
        .into_iter()
        .for_each(|closed| closed.unwrap().unwrap());
}

fn took_no_pace(since: Instant) {
    let took = since.elapsed();
    assert!(took < LONGEST_FOR_PACE / 3, "it took {took:?}");
}

struct Ledger {
    number: u32,
    is_from_snapshot: bool,
    /// Hears that the snapshot is saved.
    saved: Option<oneshot::Sender<()>>,
}

impl Ledger {
    fn numbered(number: u32) -> Self {
        Self {
            number,
            is_from_snapshot: false,
            saved: None,
        }
    }
}

#[derive(Serialize, Deserialize)]
struct Closed(String);

impl Snapshot for Closed {
    const MANIFEST: &'static str = "test.closed";
    const VERSION: u32 = 1;
}

impl Actor for Ledger {
    type Context = PersistentContext<Self>;
}

impl PersistentActor for Ledger {
    type Event = Counted;
    type Snapshot = Closed;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of("Ledger", &self.number.to_string())
    }

    fn on_event(&mut self, _: &Counted) {}

    fn on_snapshot(&mut self, _: SnapshotOffer<Closed>) {
        self.is_from_snapshot = true;
    }

    fn on_store_response(&mut self, _: StoreResponse, _: &mut Self::Context) {
        if let Some(saved) = self.saved.take() {
            let _ = saved.send(());
        }
    }
}

/// `Yes` if a future of the actor waits until the snapshot is saved.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Waits {
    Yes,
    No,
}

/// Stores an event, and saves a snapshot after it.
#[derive(Message)]
#[rtype(result = "Result<(), PersistError>")]
struct Close(Waits);

impl Handler<Close> for Ledger {
    type Result = Reply<Close>;

    fn handle(&mut self, Close(waits): Close, ctx: &mut Self::Context) -> Reply<Close> {
        ctx.persist(Counted(1))
            .then(move |ledger, _, ctx| {
                ctx.save_snapshot(&Closed("x".repeat(100)));
                if waits == Waits::Yes {
                    let (saved, is_saved) = oneshot::channel();
                    ledger.saved = Some(saved);
                    ctx.spawn(is_saved.into_actor(ledger).map(|_, _, _| ()));
                }
            })
            .reply(|_| Ok(()))
    }
}

#[derive(Message)]
#[rtype(result = "()")]
struct Stop;

impl Handler<Stop> for Ledger {
    type Result = ();

    fn handle(&mut self, _: Stop, ctx: &mut Self::Context) {
        ctx.stop();
    }
}
