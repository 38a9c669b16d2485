//! From the permit to the first command: what happens in which order, and what never does.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use actix::{Actor, ActorFutureExt, AsyncContext, Handler, WrapFuture};
use actix_persistence_persistent_actor::{
    NoSnapshot, PersistentActor, PersistentContext, SnapshotOffer,
};
use actix_persistence_storage_api::{Payload, PersistenceId};
use tokio::time::Instant;

use crate::fussy::{Fussy, Taste};
use crate::history::{delete_events, id, save_snapshot, sum, with_events};
use crate::scripted_snapshots::{Loads, ScriptedSnapshots};
use crate::stalling_journal::{Stall, StallingJournal};
use crate::tally::{Add, Added, Get, Log, Run, Sum, Tally, added};
use crate::world::{World, run};

/// Starts a timer and a future before its recovery, as any actix actor may.
struct Busy(Log);

impl Actor for Busy {
    type Context = PersistentContext<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        self.0.add("started");
        ctx.run_later(Duration::from_millis(1), |busy, _| busy.0.add("timer"));
        let future = std::future::ready(()).into_actor(self);
        ctx.spawn(future.map(|(), busy, _| busy.0.add("future")));
    }
}

impl PersistentActor for Busy {
    type Event = Added;
    type Snapshot = Sum;

    fn persistence_id(&self) -> PersistenceId {
        id()
    }

    fn on_event(&mut self, event: &Added) {
        self.0.add(format!("event {}", event.n));
    }

    fn on_snapshot(&mut self, offer: SnapshotOffer<Sum>) {
        self.0
            .add(format!("snapshot {}", offer.metadata.sequence_nr));
    }

    fn on_recovery_completed(&mut self, _: &mut Self::Context) {
        self.0.add("completed");
    }
}

impl Handler<Get> for Busy {
    type Result = i64;

    fn handle(&mut self, _: Get, _: &mut Self::Context) -> i64 {
        self.0.add("command");
        0
    }
}

/// The place at which a recovery is kept waiting.
#[derive(Clone, Copy, Debug)]
enum Wait {
    Permit,
    TakeOver,
    Snapshot,
    Events,
}

#[test]
fn nothing_but_the_recovery_reaches_an_actor_until_it_has_completed() {
    for wait in [Wait::Permit, Wait::TakeOver, Wait::Snapshot, Wait::Events] {
        run(move || async move {
            let (stored, log) = with_events(3).await;
            save_snapshot(&stored, 2, sum(3)).await;
            let stall = match wait {
                Wait::TakeOver => Stall::TakeOvers,
                Wait::Events => Stall::PagesFrom(1),
                Wait::Permit | Wait::Snapshot => Stall::Nothing,
            };
            let journal = StallingJournal::new(stored.storage.journal(), stall);
            let loads = match wait {
                Wait::Snapshot => Loads::Hang,
                _ => Loads::Work,
            };
            let snapshots = ScriptedSnapshots::new(stored.storage.snapshot_store(), loads);
            let world = World::tuned(
                stored.storage,
                journal.clone(),
                snapshots.clone(),
                |journal, _| journal.max_concurrent_recoveries = 1,
                |_| {},
            );
            let permit = match wait {
                Wait::Permit => Some(
                    world
                        .environment
                        .stores
                        .journal()
                        .unwrap()
                        .recovery_permit()
                        .await
                        .unwrap(),
                ),
                _ => None,
            };

            let shared = log.clone();
            let busy = world.start(move || Busy(shared.clone())).unwrap();
            let asked = busy.send(Get);
            tokio::time::sleep(Duration::from_secs(1)).await;
            match wait {
                Wait::Events => assert_eq!(log.take(), ["started", "snapshot 2"]),
                _ => assert_eq!(log.take(), ["started"], "{wait:?}"),
            }

            drop(permit);
            journal.set(Stall::Nothing);
            snapshots.set(Loads::Work);
            asked.await.unwrap();
            tokio::time::sleep(Duration::from_secs(1)).await;
            // A load that hangs is given up, and the next incarnation starts anew.
            let mut entries = log.take();
            entries.retain(|entry| entry != "started");
            let completed = entries
                .iter()
                .position(|entry| entry == "completed")
                .unwrap();
            let before = match wait {
                Wait::Events => vec!["event 3"],
                _ => vec!["snapshot 2", "event 3"],
            };
            assert_eq!(entries[..completed], before, "{wait:?}");
            let mut after = entries[completed + 1..].to_vec();
            after.sort();
            assert_eq!(after, ["command", "future", "timer"], "{wait:?}");
        });
    }
}

#[test]
fn no_event_is_asked_for_after_a_snapshot_that_failed() {
    for (taste, snapshot) in [
        (Taste::Panics, sum(3)),
        (Taste::None, sum(3)),
        (Taste::RefusesDebts, sum(-3)),
        (Taste::RefusesDebts, Payload::new(9, "?", "?")),
    ] {
        run(move || async move {
            let (stored, log) = with_events(3).await;
            save_snapshot(&stored, 2, snapshot).await;
            let journal = StallingJournal::new(stored.storage.journal(), Stall::Nothing);
            let world = World::on(stored.storage, journal.clone(), |_| {});
            let fussy = world.start(Fussy::factory(taste, &log)).unwrap();
            fussy.send(Get).await.unwrap_err();
            // Several incarnations try again and fail the same way.
            tokio::time::sleep(Duration::from_secs(60)).await;
            assert!(log.take().len() > 2);
            assert_eq!(journal.pages(), 0);
        });
    }
}

#[test]
fn a_panic_in_on_event_ends_the_replay_there() {
    run(|| async {
        let (world, log) = with_events(5).await;
        let shared = log.clone();
        let tally = world.start(move || Tally {
            poison: Some(3),
            ..Tally::new("1", &shared)
        });
        tally.unwrap().send(Get).await.unwrap_err();
        let entries = log.take();
        assert_eq!(entries[..2], ["event 1", "event 2"]);
        assert!(
            entries[2].contains("panicked in recovery after event 2: poisoned"),
            "{entries:?}"
        );
        assert_eq!(entries.len(), 3);
    });
}

/// Panics the first times it is told that it is back.
struct Nervous {
    panics: Arc<AtomicUsize>,
    log: Log,
}

impl Actor for Nervous {
    type Context = PersistentContext<Self>;
}

impl PersistentActor for Nervous {
    type Event = Added;
    type Snapshot = NoSnapshot;

    fn persistence_id(&self) -> PersistenceId {
        id()
    }

    fn on_event(&mut self, event: &Added) {
        self.log.add(format!("event {}", event.n));
    }

    fn on_recovery_completed(&mut self, _: &mut Self::Context) {
        let left = self.panics.load(Ordering::Relaxed);
        if left > 0 {
            self.panics.store(left - 1, Ordering::Relaxed);
            panic!("on completion");
        }
        self.log.add("completed");
    }
}

impl Handler<Get> for Nervous {
    type Result = i64;

    fn handle(&mut self, _: Get, _: &mut Self::Context) -> i64 {
        0
    }
}

#[test]
fn a_panic_on_completion_is_followed_by_a_back_off_and_a_whole_recovery() {
    run(|| async {
        let (world, log) = with_events(1).await;
        let panics = Arc::new(AtomicUsize::new(2));
        let shared = log.clone();
        let started = Instant::now();
        let nervous = world.start(move || Nervous {
            panics: panics.clone(),
            log: shared.clone(),
        });
        nervous.unwrap().send(Get).await.unwrap();
        // The delays are 3 s and 6 s.
        assert!(started.elapsed() >= Duration::from_secs(9));
        assert_eq!(log.take(), ["event 1", "event 1", "event 1", "completed"]);
    });
}

#[test]
fn a_reply_to_an_earlier_incarnation_is_ignored_by_the_next_one() {
    run(|| async {
        let ((world, journal), log) = (World::held(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        let persists = |n| {
            Run::new(move |_, ctx| {
                ctx.persist_async(added(n))
                    .then(|tally, event, _| tally.log.add(format!("handler {}", event.n)))
                    .detach();
            })
        };
        tally.send(persists(1)).await.unwrap();
        let panicking = Run::new(|_, _| panic!("while its write is under way"));
        tally.send(panicking).await.unwrap_err();
        // The next incarnation waits until it is known what became of that write.
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert_eq!(log.take(), ["recovered at 0"]);
        journal.release(1);
        tally.send(Get).await.unwrap();
        assert_eq!(log.take(), ["event 1", "recovered at 1"]);

        tally.send(persists(2)).await.unwrap();
        tally.send(persists(3)).await.unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(journal.calls(), [[1], [1]], "one write at a time");
        journal.release(2);
        while log.take().last().map(String::as_str) != Some("handler 3") {
            tokio::task::yield_now().await;
        }
        assert_eq!(journal.calls(), [[1], [1], [1]]);
    });
}

#[test]
fn the_next_event_follows_on_the_highest_number_ever_stored() {
    run(|| async {
        let (world, log) = with_events(3).await;
        delete_events(&world, 3).await;
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        tally.send(Add(9)).await.unwrap().unwrap();
        let check = Run::new(|_, ctx| assert_eq!(ctx.last_sequence_nr(), 4));
        tally.send(check).await.unwrap();
    });
}
