//! The permits to recover, each of which always goes on to the next actor.

use std::pin::pin;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use actix::{Actor, Addr, Arbiter, Handler, Message};
use actix_persistence_journal_actor::JournalSettings;
use actix_persistence_memory::MemoryStorage;
use actix_persistence_persistent_actor::{
    NoSnapshot, PersistentActor, PersistentContext, replay_actor, start_in,
};
use actix_persistence_storage_api::{Payload, PersistenceId};
use tokio::task::LocalSet;
use tokio::time::Instant;

use crate::fussy::{Fussy, Taste};
use crate::history::{id, save_snapshot, sum, with_events};
use crate::stalling_journal::{Stall, Stalling, StallingJournal};
use crate::tally::{Add, Added, Get, Log, Tally};
use crate::world::{World, run, run_in_real_time};

/// Stores with this many permits, where "1", "2", "3", ... have an event each, on a journal that stalls like this.
async fn stalling(permits: usize, stall: Stall) -> (World, Arc<Stalling>, Log) {
    let (stored, log) = (World::new(), Log::default());
    for id in IDS {
        let tally = stored.start(Tally::factory(id, &log)).unwrap();
        tally.send(Add(1)).await.unwrap().unwrap();
    }
    let storage = stored.storage.clone();
    let journal = StallingJournal::new(storage.journal(), stall);
    let world = limited(storage, journal.clone(), permits);
    while !stored.environment.live_ids.is_empty() {
        tokio::task::yield_now().await;
    }
    log.take();
    (world, journal, log)
}

const IDS: [&str; 5] = ["1", "2", "3", "4", "5"];

/// So many permits, and ten seconds to wait for one.
fn limited(storage: MemoryStorage, journal: Arc<Stalling>, permits: usize) -> World {
    let snapshots = Arc::new(storage.snapshot_store());
    let tune = |settings: &mut JournalSettings, _: &mut _| {
        settings.max_concurrent_recoveries = permits;
        settings.recovery_permit_timeout = Duration::from_secs(10);
    };
    World::tuned(storage, journal, snapshots, tune, |_| {})
}

/// Lets everything run that need not wait for time to pass.
async fn settle() {
    // On the paused clock a timer fires only once everybody waits for one.
    tokio::time::sleep(Duration::from_millis(1)).await;
}

fn start_all(world: &World, log: &Log) -> Vec<Addr<Tally>> {
    IDS.iter()
        .map(|id| world.start(Tally::factory(id, log)).unwrap())
        .collect()
}

#[test]
fn recoveries_at_once_stay_within_the_permits_and_all_get_a_turn() {
    run(|| async {
        let (world, journal, log) = stalling(2, Stall::PagesFrom(1)).await;
        let tallies = start_all(&world, &log);
        settle().await;
        assert_eq!(journal.pages(), 2);
        journal.set(Stall::Nothing);
        for tally in tallies {
            assert_eq!(tally.send(Get).await.unwrap(), 1);
        }
        assert_eq!((journal.pages(), journal.most_pages_at_once()), (5, 2));
    });
}

/// Writes down its name when it is back.
struct Named(&'static str, Log);

impl Actor for Named {
    type Context = PersistentContext<Self>;
}

impl PersistentActor for Named {
    type Event = Added;
    type Snapshot = NoSnapshot;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of("Tally", self.0)
    }

    fn on_event(&mut self, _: &Added) {}

    fn on_recovery_completed(&mut self, _: &mut Self::Context) {
        self.1.add(self.0);
    }
}

#[test]
fn permits_are_given_in_the_order_of_asking() {
    run(|| async {
        let (world, journal, log) = stalling(1, Stall::PagesFrom(1)).await;
        let mut actors = Vec::new();
        for id in IDS {
            let log = log.clone();
            actors.push(world.start(move || Named(id, log.clone())).unwrap());
            settle().await;
        }
        journal.set(Stall::Nothing);
        settle().await;
        assert_eq!(log.take(), IDS);
        drop(actors);
    });
}

#[test]
fn commands_wait_while_the_actor_waits_for_its_permit() {
    run(|| async {
        let (world, journal, log) = stalling(1, Stall::PagesFrom(1)).await;
        let first = world.start(Tally::factory("1", &log)).unwrap();
        settle().await;
        let second = world.start(Tally::factory("2", &log)).unwrap();
        let asked = second.send(Add(2));
        settle().await;
        assert_eq!(log.take(), [""; 0]);
        journal.set(Stall::Nothing);
        assert_eq!(asked.await.unwrap().unwrap(), 3);
        drop(first);
    });
}

#[test]
fn waiting_for_a_permit_too_long_is_a_typed_failure_and_works_again_later() {
    run(|| async {
        let (world, journal, log) = stalling(1, Stall::PagesFrom(1)).await;
        let _first = world.start(Tally::factory("1", &log)).unwrap();
        settle().await;
        let started = Instant::now();
        let second = world.start(Tally::factory("2", &log)).unwrap();
        let asked = second.send(Get);
        tokio::time::sleep(Duration::from_millis(9_999)).await;
        assert_eq!(log.take(), [""; 0]);
        tokio::time::sleep(Duration::from_millis(2)).await;
        let entries = log.take();
        let [failed] = &entries[..] else {
            panic!("{entries:?}");
        };
        for part in [
            "could not recover \"Tally|2\" from its journal",
            "no answer in time",
            "no turn to recover came within 10s",
        ] {
            assert!(failed.contains(part), "{failed}");
        }
        journal.set(Stall::Nothing);
        assert_eq!(asked.await.unwrap(), 1, "the command was kept");
        // Meanwhile none has recovered twice, and the one permit is still one.
        assert!(started.elapsed() < Duration::from_secs(30));
        assert_eq!((journal.pages(), journal.most_pages_at_once()), (2, 1));
    });
}

#[test]
fn a_permit_comes_back_when_the_recovery_has_completed_or_failed() {
    for (taste, snapshot, completes) in [
        (Taste::RefusesDebts, sum(1), true),
        (Taste::RefusesDebts, sum(-1), false),
        (Taste::RefusesDebts, Payload::new(9, "?", "?"), false),
        (Taste::Panics, sum(1), false),
        (Taste::None, sum(1), false),
        (Taste::PanicsAtEvents, sum(1), false),
    ] {
        run(move || async move {
            let (world, _, log) = stalling(1, Stall::Nothing).await;
            let at = if matches!(taste, Taste::PanicsAtEvents) {
                0
            } else {
                1
            };
            save_snapshot(&world, at, snapshot).await;
            let fussy = world.start(Fussy::factory(taste, &log)).unwrap();
            assert_eq!(fussy.send(Get).await.is_ok(), completes);
            // The first actor is still there, alive or in back-off.
            let second = world.start(Tally::factory("2", &log)).unwrap();
            let answer = tokio::time::timeout(Duration::from_secs(1), second.send(Get)).await;
            assert_eq!(answer.expect("the turn went on").unwrap(), 1);
            drop(fussy);
        });
    }
}

#[test]
fn an_actor_dropped_while_it_recovers_gives_its_permit_back() {
    run(|| async {
        let (world, journal, log) = stalling(1, Stall::PagesFrom(1)).await;
        let dropped = LocalSet::new();
        let first = dropped.run_until(async {
            let first = world.start(Tally::factory("1", &log)).unwrap();
            settle().await;
            first
        });
        let first = first.await;
        assert_eq!(journal.pages(), 1);
        drop(dropped);
        assert!(first.send(Get).await.is_err());
        journal.set(Stall::Nothing);
        let second = world.start(Tally::factory("2", &log)).unwrap();
        assert_eq!(second.send(Get).await.unwrap(), 1);
    });
}

#[test]
fn an_actor_dropped_while_it_waits_for_a_permit_gives_none_away() {
    run(|| async {
        let (world, journal, log) = stalling(1, Stall::PagesFrom(1)).await;
        let first = world.start(Tally::factory("1", &log)).unwrap();
        settle().await;
        let dropped = LocalSet::new();
        let waiting = dropped.run_until(async {
            let waiting = world.start(Tally::factory("2", &log)).unwrap();
            settle().await;
            waiting
        });
        let waiting = waiting.await;
        let third = world.start(Tally::factory("3", &log)).unwrap();
        let fourth = world.start(Tally::factory("4", &log)).unwrap();
        drop(dropped);
        assert!(waiting.send(Get).await.is_err());
        settle().await;
        assert_eq!(journal.pages(), 1, "the dropped one had no permit to give");
        journal.set(Stall::Nothing);
        for tally in [first, third, fourth] {
            assert_eq!(tally.send(Get).await.unwrap(), 1);
        }
        assert_eq!((journal.pages(), journal.most_pages_at_once()), (3, 1));
    });
}

#[test]
fn every_journal_has_permits_of_its_own() {
    run(|| async {
        let (stalled, _, log) = stalling(1, Stall::PagesFrom(1)).await;
        let (free, _, _) = stalling(1, Stall::Nothing).await;
        let _stuck = stalled.start(Tally::factory("1", &log)).unwrap();
        settle().await;
        let tally = free.start(Tally::factory("1", &log)).unwrap();
        assert_eq!(tally.send(Get).await.unwrap(), 1);
    });
}

#[test]
fn reading_takes_no_permit() {
    run(|| async {
        let (world, journal, log) = stalling(1, Stall::TakeOversOf("Tally|1")).await;
        let _stuck = world.start(Tally::factory("1", &log)).unwrap();
        settle().await;
        let read = replay_actor(Tally::new("2", &log), world.environment.clone());
        assert_eq!(read.await.unwrap().0.sum, 1);
        assert_eq!(journal.pages(), 1);
    });
}

/// Stands still with its arbiter at its first event, until the other end is dropped.
struct Blocking {
    begun: mpsc::Sender<()>,
    until: mpsc::Receiver<()>,
    events: usize,
}

impl Actor for Blocking {
    type Context = PersistentContext<Self>;
}

impl PersistentActor for Blocking {
    type Event = Added;
    type Snapshot = NoSnapshot;

    fn persistence_id(&self) -> PersistenceId {
        id()
    }

    fn on_event(&mut self, _: &Added) {
        self.events += 1;
        if self.events == 1 {
            self.begun.send(()).unwrap();
            let _ = self.until.recv();
        }
    }
}

/// Answers with how many events there are.
#[derive(Message)]
#[rtype(result = "usize")]
struct Count;

impl Handler<Count> for Blocking {
    type Result = usize;

    fn handle(&mut self, _: Count, _: &mut Self::Context) -> usize {
        self.events
    }
}

#[test]
fn an_actor_that_has_lost_its_turn_reads_on_when_it_has_another() {
    const EVENTS: usize = 2_500;

    run_in_real_time(async {
        let (stored, _) = with_events(EVENTS as i64).await;
        let journal = StallingJournal::new(stored.storage.journal(), Stall::Nothing);
        let world = limited(stored.storage, journal.clone(), 1);
        let (begun, has_begun) = mpsc::channel();
        let (unblock, until) = mpsc::channel();
        let mut blocking = Some(Blocking {
            begun,
            until,
            events: 0,
        });
        let (arbiter, environment) = (Arbiter::new(), world.environment.clone());
        let factory = move || blocking.take().unwrap();
        let started = start_in(&arbiter.handle(), factory, move |_| Ok(environment)).await;
        let blocking = started.unwrap();
        while has_begun.try_recv().is_err() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let permit = world
            .environment
            .stores
            .journal()
            .unwrap()
            .recovery_permit();
        let permit = permit.await.unwrap();
        drop(unblock);
        let mut count = pin!(blocking.send(Count));
        let too_early = tokio::time::timeout(Duration::from_millis(100), &mut count).await;
        assert!(too_early.is_err(), "two actors recover at once");
        assert_eq!(journal.pages(), 2, "the third is not asked for");
        drop(permit);
        assert_eq!(count.await.unwrap(), EVENTS);
        arbiter.stop();
        arbiter.join().unwrap();
    });
}
