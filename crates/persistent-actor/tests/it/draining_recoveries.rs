//! Actors that recover when everything stops: they go on, and are named if they do not come to an end.

use std::sync::Arc;
use std::time::Duration;

use actix::{Addr, MailboxError};
use actix_persistence_journal_actor::JournalSettings;
use actix_persistence_persistent_actor::{Drain, UnfinishedWork};
use tokio::time::{Instant, timeout};

use crate::history::with_events;
use crate::stalling_journal::{Stall, Stalling, StallingJournal};
use crate::tally::{Add, Log, Tally};
use crate::world::{World, run};

/// The time for which the stop of everything waits.
const DEADLINE: Duration = Duration::from_secs(1);

/// At every point where a recovery of these events waits for its journal.
const STALLS: [Stall; 3] = [
    Stall::TakeOvers,
    Stall::PagesFrom(1),
    Stall::PagesFrom(1_001),
];
const EVENTS: i64 = 1_500;
const SUM: i64 = EVENTS * (EVENTS + 1) / 2;

/// A tally whose recovery is held, a while after it was started.
struct Recovering {
    world: World,
    journal: Arc<Stalling>,
    log: Log,
    tally: Addr<Tally>,
}

impl Recovering {
    async fn at(stall: Stall) -> Self {
        Self::limited(stall, |_| {}).await
    }

    async fn limited(stall: Stall, tune: impl FnOnce(&mut JournalSettings)) -> Self {
        let (stored, log) = with_events(EVENTS).await;
        let journal = StallingJournal::new(stored.storage.journal(), stall);
        let snapshots = Arc::new(stored.storage.snapshot_store());
        let tune = |settings: &mut JournalSettings, _: &mut _| tune(settings);
        let world = World::tuned(stored.storage, journal.clone(), snapshots, tune, |_| {});
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        // The clock moves when no task can do anything more.
        tokio::time::sleep(Duration::from_millis(1)).await;
        Self {
            world,
            journal,
            log,
            tally,
        }
    }

    async fn drain_until_deadline(&self) -> Drain {
        let drain = self.world.environment.live_ids.drain();
        let in_time = timeout(DEADLINE, drain.finished()).await;
        assert!(in_time.is_err(), "nothing has released the recovery");
        drain
    }
}

fn left(drain: &Drain) -> Vec<(UnfinishedWork, usize)> {
    let actors = drain.unfinished().into_iter();
    actors.map(|actor| (actor.work, actor.waiting)).collect()
}

#[test]
fn an_actor_goes_on_recovering_and_then_does_what_it_was_sent() {
    for stall in STALLS {
        run(move || async move {
            let held = Recovering::at(stall).await;
            let answer = held.tally.send(Add(1));
            let drain = held.drain_until_deadline().await;
            assert_eq!(left(&drain), [(UnfinishedWork::Recovering, 1)], "{stall:?}");
            held.journal.set(Stall::Nothing);
            drain.finished().await;
            assert_eq!(answer.await.unwrap().unwrap(), SUM + 1);
            assert_eq!(left(&drain), []);
            let log = held.log.take();
            let last = &log[log.len() - 5..];
            assert_eq!(last[0], format!("recovered at {EVENTS}"));
            assert_eq!(last[1..], ["command 1", "event 1", "handler 1", "stopped"]);
        });
    }
}

#[test]
fn an_actor_that_recovers_too_late_is_named_and_its_askers_get_closed() {
    for stall in STALLS {
        run(move || async move {
            let held = Recovering::at(stall).await;
            let before = held.tally.send(Add(1));
            let drain = held.drain_until_deadline().await;
            let after = held.tally.send(Add(2));
            assert!(matches!(after.await, Err(MailboxError::Closed)));
            drain.end();
            drain.finished().await;
            assert!(matches!(before.await, Err(MailboxError::Closed)));
            assert_eq!(left(&drain), [(UnfinishedWork::Recovering, 1)], "{stall:?}");
            let log = held.log.take();
            assert_eq!(log.last().unwrap(), "stopped");
            let outcomes = ["command", "recover"];
            let told = log
                .iter()
                .find(|entry| outcomes.iter().any(|outcome| entry.starts_with(outcome)));
            assert_eq!(told, None, "neither recovered nor failed, and no command");

            // The answer that was waited for has no receiver.
            held.journal.set(Stall::Nothing);
            held.world
                .environment
                .stores
                .journal()
                .unwrap()
                .drained()
                .await;
            assert!(held.world.environment.live_ids.is_empty());
            assert_eq!(held.log.take(), [""; 0]);
        });
    }
}

#[test]
fn a_recovery_that_fails_meanwhile_is_tried_again_at_once_for_what_waits() {
    run(|| async {
        let limit = DEADLINE / 2;
        let held = Recovering::limited(Stall::TakeOvers, |journal| {
            journal.recovery_event_timeout = limit;
        })
        .await;
        let waiting = held.tally.send(Add(1));
        let before = Instant::now();
        let drain = held.world.environment.live_ids.drain();
        let mut log = Vec::new();
        while log.is_empty() {
            log = held.log.take();
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert!(log[0].starts_with("recovery failed"), "{log:?}");
        held.journal.set(Stall::Nothing);
        drain.finished().await;
        assert!(before.elapsed() <= DEADLINE, "no back-off is waited for");
        assert_eq!(waiting.await.unwrap().unwrap(), SUM + 1);
        assert_eq!(left(&drain), []);
    });
}

#[test]
fn a_drain_ends_an_actor_that_waits_to_recover_without_commands() {
    run(|| async {
        let held = Recovering::limited(Stall::TakeOvers, |journal| {
            journal.max_concurrent_recoveries = 1;
        })
        .await;
        let idle = held.world.start(Tally::factory("2", &held.log)).unwrap();
        let busy = held.world.start(Tally::factory("3", &held.log)).unwrap();
        let answer = busy.send(Add(1));
        let drain = held.drain_until_deadline().await;
        assert!(!idle.connected());
        let unfinished = drain.unfinished();
        let ids: Vec<_> = unfinished
            .iter()
            .map(|actor| actor.persistence_id.entity_id())
            .collect();
        assert_eq!(ids, ["3"], "the first one had nothing to do either");
        assert_eq!(held.log.take(), ["stopped", "stopped"]);
        held.journal.set(Stall::Nothing);
        drain.finished().await;
        assert_eq!(answer.await.unwrap().unwrap(), 1);
    });
}
