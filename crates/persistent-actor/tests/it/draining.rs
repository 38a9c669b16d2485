//! All actors of a journal stop: what has arrived is done, or told to be undone.

use std::time::Duration;

use actix::fut::ActorFutureExt;
use actix::{Actor, AsyncContext, Handler, MailboxError, Running};
use actix_persistence_persistent_actor::{
    Drain, NoSnapshot, PersistError, PersistentActor, PersistentContext, StartError, UnfinishedWork,
};
use actix_persistence_storage_api::PersistenceId;
use tokio::time::timeout;

use crate::tally::{Add, Added, Get, Log, Run, Sum, Tally, persist, timer};
use crate::world::{World, run};

/// Returns the work that keeps the only actor, and the number of messages that wait.
fn unfinished(drain: &Drain) -> Option<(UnfinishedWork, usize)> {
    let actors = drain.unfinished();
    assert!(actors.len() <= 1);
    actors.first().map(|actor| (actor.work, actor.waiting))
}

#[test]
fn everything_that_has_arrived_is_done_and_what_is_sent_later_is_refused() {
    run(|| async {
        let ((world, journal), log) = (World::held(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        let first = tally.send(Add(1));
        while journal.calls().is_empty() {
            tokio::task::yield_now().await;
        }
        let stashed = tally.send(Add(2));
        tokio::task::yield_now().await;
        let in_mailbox = tally.send(Add(3));
        let drain = world.environment.live_ids.drain();
        tokio::task::yield_now().await;
        assert!(matches!(tally.send(Get).await, Err(MailboxError::Closed)));
        journal.release(3);
        drain.finished().await;
        assert_eq!(first.await.unwrap().unwrap(), 1);
        assert_eq!(stashed.await.unwrap().unwrap(), 3);
        assert_eq!(in_mailbox.await.unwrap().unwrap(), 6);
        assert_eq!((drain.actors(), unfinished(&drain)), (1, None));
        assert_eq!(log.take().last().unwrap(), "stopped");
        assert!(world.environment.live_ids.is_empty());
    });
}

#[test]
fn an_actor_that_was_just_started_recovers_and_does_what_it_was_sent() {
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        let answer = tally.send(Add(1));
        let drain = world.environment.live_ids.drain();
        drain.finished().await;
        assert_eq!(answer.await.unwrap().unwrap(), 1);
        assert_eq!(unfinished(&drain), None);
    });
}

#[test]
fn a_mailbox_larger_than_the_stash_is_done_too() {
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        for _ in 0..10_000 {
            tally.do_send(Add(1));
        }
        let drain = world.environment.live_ids.drain();
        drain.finished().await;
        assert_eq!(unfinished(&drain), None);
        let handled = log.take();
        assert_eq!(handled.iter().filter(|&e| e == "handler 1").count(), 10_000);
    });
}

#[test]
fn an_actor_whose_write_hangs_is_named_and_told_to_end() {
    run(|| async {
        let ((world, journal), log) = (World::held(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        let hanging = tally.send(Add(1));
        while journal.calls().is_empty() {
            tokio::task::yield_now().await;
        }
        let waiting = tally.send(Add(2));
        let drain = world.environment.live_ids.drain();
        let in_time = timeout(Duration::from_secs(1), drain.finished()).await;
        assert!(in_time.is_err());
        let left = UnfinishedWork::Persisting { calls: 1 };
        assert_eq!(unfinished(&drain), Some((left, 1)));
        drain.end();
        drain.finished().await;
        assert!(matches!(
            hanging.await.unwrap(),
            Err(PersistError::Unknown(_))
        ));
        assert!(matches!(waiting.await, Err(MailboxError::Closed)));
        assert_eq!(unfinished(&drain), Some((left, 1)), "as it was");
        assert_eq!(log.take(), ["recovered at 0", "command 1", "stopped"]);
    });
}

#[test]
fn an_actor_in_back_off_is_rebuilt_at_once_and_does_what_waits() {
    run(|| async {
        let ((world, journal), log) = (World::scripted(), Log::default());
        journal.fail_recoveries(1);
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        let waiting = tally.send(Get);
        while log.take().is_empty() {
            tokio::task::yield_now().await;
        }
        let before = tokio::time::Instant::now();
        let drain = world.environment.live_ids.drain();
        drain.finished().await;
        assert_eq!(waiting.await.unwrap(), 0);
        assert_eq!(
            before.elapsed(),
            Duration::ZERO,
            "no back-off is waited for"
        );
        assert_eq!(unfinished(&drain), None);
    });
}

#[test]
fn a_drain_ends_an_actor_in_back_off_at_once_if_nothing_waits() {
    run(|| async {
        let ((world, journal), log) = (World::scripted(), Log::default());
        journal.fail_recoveries(1);
        let _tally = world.start(Tally::factory("1", &log)).unwrap();
        while log.take().is_empty() {
            tokio::task::yield_now().await;
        }
        let drain = world.environment.live_ids.drain();
        drain.finished().await;
        assert_eq!(unfinished(&drain), None);
    });
}

#[test]
fn a_draining_actor_that_fails_is_restarted_until_it_must_end() {
    run(|| async {
        let ((world, journal), log) = (World::scripted(), Log::default());
        journal.fail_recoveries(1_000);
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        let waiting = tally.send(Get);
        let drain = world.environment.live_ids.drain();
        let in_time = timeout(Duration::from_secs(60), drain.finished()).await;
        assert!(in_time.is_err());
        assert!(log.take().len() > 2, "it was tried again");
        drain.end();
        drain.finished().await;
        assert!(matches!(waiting.await, Err(MailboxError::Closed)));
        assert_eq!(unfinished(&drain), Some((UnfinishedWork::BackingOff, 1)));
    });
}

#[test]
fn an_actor_that_fails_while_it_drains_is_rebuilt_for_what_waits() {
    run(|| async {
        let ((world, journal), log) = (World::scripted(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        tally.send(Get).await.unwrap();
        journal.next(crate::scripted_journal::Next::FailNotStored);
        let (failing, waiting) = (tally.send(Add(1)), tally.send(Get));
        let drain = world.environment.live_ids.drain();
        drain.finished().await;
        assert!(failing.await.unwrap().is_err());
        assert_eq!(waiting.await.unwrap(), 0);
        assert_eq!(unfinished(&drain), None);
    });
}

#[test]
fn snapshots_are_answered_and_spawned_futures_end_before_the_actor_stops() {
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        let turn = Run::new(|_, ctx| {
            ctx.save_snapshot(&Sum(0));
            let slow = actix::fut::wrap_future(tokio::time::sleep(Duration::from_secs(60)));
            ctx.spawn(ActorFutureExt::<Tally>::map(
                slow,
                |(), _, ctx: &mut PersistentContext<Tally>| {
                    persist(ctx, 7)
                        .then(|tally, _, _| tally.log.add("handler 7"))
                        .detach();
                },
            ));
        });
        tally.send(turn).await.unwrap();
        world.environment.live_ids.drain().finished().await;
        assert_eq!(
            log.take(),
            [
                "recovered at 0",
                "SaveSnapshotSuccess",
                "event 7",
                "handler 7",
                "stopped"
            ]
        );
    });
}

#[test]
fn a_drain_does_not_wait_for_timers() {
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        let turn = Run::new(|_, ctx| {
            timer(ctx, Duration::from_secs(60), "timer");
            ctx.run_interval(Duration::from_secs(60), |tally, _| {
                tally.log.add("interval")
            });
        });
        tally.send(turn).await.unwrap();
        let drain = world.environment.live_ids.drain();
        drain.finished().await;
        assert_eq!(unfinished(&drain), None);
        assert_eq!(log.take(), ["recovered at 0", "stopped"]);
    });
}

#[test]
fn a_drain_does_not_wait_for_streams_that_do_not_end() {
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        let turn = Run::new(|_, ctx| {
            ctx.add_message_stream(futures_util::stream::pending::<Get>());
        });
        tally.send(turn).await.unwrap();
        let drain = world.environment.live_ids.drain();
        let ended = tokio::time::timeout(Duration::from_secs(60), drain.finished());
        assert!(ended.await.is_ok());
        assert_eq!(unfinished(&drain), None);
    });
}

#[test]
fn no_actor_starts_after_a_drain_and_a_second_one_counts_the_same() {
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let _one = world.start(Tally::factory("1", &log)).unwrap();
        let _two = world.start(Tally::factory("2", &log)).unwrap();
        let drain = world.environment.live_ids.drain();
        for id in ["1", "3"] {
            let refused = world.start(Tally::factory(id, &log));
            assert_eq!(refused.err(), Some(StartError::Stopping));
        }
        drain.finished().await;
        let again = world.environment.live_ids.drain();
        again.finished().await;
        assert_eq!((drain.actors(), again.actors()), (2, 2));
        assert!(world.environment.live_ids.is_draining());
    });
}

#[test]
fn an_actor_cannot_decline_to_be_stopped_with_all_others() {
    struct Stubborn;
    impl Actor for Stubborn {
        type Context = PersistentContext<Self>;
        fn stopping(&mut self, _: &mut Self::Context) -> Running {
            Running::Continue
        }
    }
    impl PersistentActor for Stubborn {
        type Event = Added;
        type Snapshot = NoSnapshot;
        fn persistence_id(&self) -> PersistenceId {
            PersistenceId::of("Stubborn", "1")
        }
        fn on_event(&mut self, _: &Added) {}
    }

    run(|| async {
        let world = World::new();
        let _stubborn = world.start(|| Stubborn).unwrap();
        world.environment.live_ids.drain().finished().await;
        assert!(world.environment.live_ids.is_empty());
    });
}

#[test]
fn messages_that_stay_put_aside_are_counted() {
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        let aside = tally.send(Aside);
        let drain = world.environment.live_ids.drain();
        drain.finished().await;
        assert!(matches!(aside.await, Err(MailboxError::Closed)));
        assert_eq!(unfinished(&drain), Some((UnfinishedWork::Declined, 1)));
    });
}

/// A command that the actor puts aside for ever.
#[derive(actix::Message)]
#[rtype(result = "()")]
struct Aside;

impl Handler<Aside> for Tally {
    type Result = actix_persistence_persistent_actor::Reply<Aside>;

    fn handle(&mut self, aside: Aside, ctx: &mut Self::Context) -> Self::Result {
        ctx.stash(aside)
    }
}
