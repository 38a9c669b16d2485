//! Starting, stopping, and being left alone.

use std::pin::pin;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use actix::{Actor, ActorContext, Arbiter, MailboxError, Running, System};
use actix_persistence_memory::MemoryStorage;
use actix_persistence_persistent_actor::{
    NoSnapshot, PersistentActor, PersistentContext, StartError, start_in, start_when_stopped,
};
use actix_persistence_storage_api::{
    InvalidPersistenceId, PersistenceId, SnapshotCriteria, SnapshotStore,
};

use crate::scripted_snapshots::{Loads, ScriptedSnapshots};
use crate::tally::{Add, Get, Log, Run, Sum, Tally, persist, stop};
use crate::world::{World, run, run_in_real_time};

#[test]
fn an_id_that_is_live_is_refused_before_any_database_is_asked() {
    run(|| async {
        let ((world, journal), log) = (World::scripted(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        let refused = world.start(Tally::factory("1", &log)).err().unwrap();
        assert_eq!(
            refused,
            StartError::AlreadyRunning(PersistenceId::of("Tally", "1"))
        );
        tally.send(Get).await.unwrap();
        assert!(journal.calls().is_empty());
        assert_eq!(log.take(), ["recovered at 0"], "one recovery");
    });
}

#[test]
fn an_invalid_id_is_refused() {
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let refused = world.start(Tally::factory("", &log)).err().unwrap();
        let persistence_id = PersistenceId::of("Tally", "");
        let source = InvalidPersistenceId::Blank;
        assert_eq!(
            refused,
            StartError::InvalidPersistenceId {
                persistence_id,
                source
            }
        );
    });
}

#[test]
fn a_stop_waits_for_the_handlers_and_drops_the_commands_that_wait() {
    run(|| async {
        let ((world, journal), log) = (World::held(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        let turn = tally.send(Run::new(|tally, ctx| {
            persist(ctx, 1)
                .then(|tally, _, _| tally.log.add("handler"))
                .detach();
            stop(tally, ctx);
        }));
        let late = tally.send(Get);
        turn.await.unwrap();
        journal.release(1);
        assert!(matches!(late.await, Err(MailboxError::Closed)));
        assert_eq!(
            log.take(),
            ["recovered at 0", "event 1", "handler", "stopped"]
        );
    });
}

#[test]
fn terminate_ends_after_the_present_turn_and_no_handler_runs() {
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        let turn = Run::new(|_, ctx| {
            persist(ctx, 1)
                .then(|tally, _, _| tally.log.add("handler"))
                .detach();
            ctx.terminate();
        });
        tally.send(turn).await.unwrap();
        assert!(matches!(tally.send(Get).await, Err(MailboxError::Closed)));
        assert_eq!(log.take(), ["recovered at 0", "stopped"]);
    });
}

#[test]
fn a_successor_waits_for_the_stopping_actor_and_sees_all_its_events() {
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        for n in 1..=20 {
            let tally = world.start(Tally::factory("1", &log)).unwrap();
            assert_eq!(tally.send(Add(1)).await.unwrap().unwrap(), n);
            tally.send(Run::new(stop)).await.unwrap();
            while tally.connected() {
                tokio::task::yield_now().await;
            }
        }
    });
}

#[test]
fn a_successor_elsewhere_waits_until_stopped_has_returned() {
    /// Stands still in `stopped` until the other end is dropped.
    struct Lingering {
        ended: mpsc::Sender<()>,
        until: mpsc::Receiver<()>,
    }
    impl Actor for Lingering {
        type Context = PersistentContext<Self>;
        fn stopped(&mut self, _: &mut Self::Context) {
            self.ended.send(()).unwrap();
            let _ = self.until.recv();
        }
    }
    impl PersistentActor for Lingering {
        type Event = crate::tally::Added;
        type Snapshot = NoSnapshot;
        fn persistence_id(&self) -> PersistenceId {
            PersistenceId::of("Tally", "1")
        }
        fn on_event(&mut self, _: &crate::tally::Added) {}
    }

    run_in_real_time(async {
        let (world, log) = (World::new(), Log::default());
        let (ended, has_ended) = mpsc::channel();
        let (unblock, until) = mpsc::channel();
        let mut lingering = Some(Lingering { ended, until });
        let (arbiter, environment) = (Arbiter::new(), world.environment.clone());
        let factory = move || lingering.take().unwrap();
        let started = start_in(&arbiter.handle(), factory, move |_| Ok(environment)).await;
        drop(started.unwrap());
        while has_ended.try_recv().is_err() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        let mut sum = pin!(tally.send(Get));
        let too_early = tokio::time::timeout(Duration::from_millis(100), &mut sum).await;
        assert!(too_early.is_err(), "two actors have the id");
        drop(unblock);
        assert_eq!(sum.await.unwrap(), 0);
        arbiter.stop();
        arbiter.join().unwrap();
    });
}

#[test]
fn an_actor_whose_last_address_is_gone_handles_what_it_was_sent_and_ends() {
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        for n in 1..=3 {
            tally.do_send(Add(n));
        }
        drop(tally);
        while !world.environment.live_ids.is_empty() {
            tokio::task::yield_now().await;
        }
        let entries = log.take();
        assert_eq!(entries[entries.len() - 2..], ["handler 3", "stopped"]);
    });
}

#[test]
fn an_actor_may_decline_to_stop() {
    use actix::Handler;

    struct Stubborn {
        declined: bool,
    }
    impl Actor for Stubborn {
        type Context = PersistentContext<Self>;
        fn stopping(&mut self, _: &mut Self::Context) -> Running {
            if std::mem::replace(&mut self.declined, true) {
                Running::Stop
            } else {
                Running::Continue
            }
        }
    }
    impl PersistentActor for Stubborn {
        type Event = crate::tally::Added;
        type Snapshot = NoSnapshot;
        fn persistence_id(&self) -> PersistenceId {
            PersistenceId::of("Stubborn", "1")
        }
        fn on_event(&mut self, _: &crate::tally::Added) {}
    }
    #[derive(actix::Message)]
    #[rtype(result = "()")]
    struct Stop;
    impl Handler<Stop> for Stubborn {
        type Result = ();
        fn handle(&mut self, _: Stop, ctx: &mut Self::Context) {
            ctx.stop();
        }
    }

    run(|| async {
        let world = World::new();
        let stubborn = world.start(|| Stubborn { declined: false }).unwrap();
        stubborn.send(Stop).await.unwrap();
        assert!(
            stubborn.send(Stop).await.is_ok(),
            "the first stop was declined"
        );
        assert!(stubborn.send(Stop).await.is_err());
    });
}

#[test]
fn a_factory_that_panics_on_another_arbiter_panics_where_it_was_asked_for() {
    // Its clock runs: on one that is paused, time would pass while the other thread works.
    System::new().block_on(async {
        let world = World::new();
        let environment = Arc::clone(&world.environment);
        let arbiter = Arbiter::new().handle();
        let starting = actix::spawn(async move {
            let factory = || -> Tally { panic!("no actor") };
            start_in(&arbiter, factory, |_| Ok(environment)).await
        });
        assert!(starting.await.unwrap_err().is_panic());
        assert!(world.environment.live_ids.is_empty());
    });
}

#[test]
fn an_actor_whose_arbiter_ends_is_told_that_it_has_stopped() {
    // Its clock runs, too.
    System::new().block_on(async {
        let (world, log) = (World::new(), Log::default());
        let arbiter = Arbiter::new();
        let environment = world.environment.clone();
        let factory = {
            let log = log.clone();
            move || Tally::new("1", &log)
        };
        let started = start_in(&arbiter.handle(), factory, move |_| Ok(environment)).await;
        let tally = started.unwrap();
        assert_eq!(tally.send(Add(1)).await.unwrap().unwrap(), 1);
        arbiter.stop();
        arbiter.join().unwrap();
        assert_eq!(log.take().last().unwrap(), "stopped");
        assert!(matches!(tally.send(Get).await, Err(MailboxError::Closed)));
        assert!(world.environment.live_ids.is_empty());
    });
}

#[test]
fn the_stores_stay_open_for_the_requests_of_the_last_actor() {
    /// Closes the stores when it is dropped.
    struct Stores(Log);
    impl Drop for Stores {
        fn drop(&mut self) {
            self.0.add("the stores close");
        }
    }

    run(|| async {
        let storage = MemoryStorage::new();
        let snapshots = ScriptedSnapshots::held(storage.snapshot_store(), Loads::Work);
        let journal = Arc::new(storage.journal());
        let saving = snapshots.clone();
        let world = World::tuned(storage.clone(), journal, saving, |_, _| {}, |_| {});
        let log = Log::default();
        let (stores, mut factory) = (Stores(log.clone()), Tally::factory("1", &log));
        let tally = world.start(move || {
            let _kept = &stores;
            factory()
        });
        let tally = tally.unwrap();
        let turn = Run::new(|_, ctx| {
            ctx.save_snapshot(&Sum(7));
            ctx.stop();
        });
        tally.send(turn).await.unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(world.environment.live_ids.is_empty());
        assert_eq!(log.take(), ["recovered at 0", "stopped"]);
        snapshots.release(1);
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(log.take(), ["the stores close"]);
        let id = PersistenceId::of("Tally", "1");
        let store = storage.snapshot_store();
        let saved = store.load(&id, SnapshotCriteria::LATEST).await;
        assert!(saved.unwrap().is_some());
    });
}

#[test]
fn an_id_is_started_again_right_after_its_last_address_was_dropped() {
    run(|| async {
        let world = World::new();
        let mut dice = fastrand::Rng::new();
        eprintln!("seed {}", dice.get_seed());
        let mut sum = 0;
        for round in 0..300 {
            let environment = Arc::clone(&world.environment);
            let log = Log::default();
            let tally = start_when_stopped(Tally::factory("1", &log), move |_| Ok(environment));
            let tally = tally.await.unwrap();
            // Whatever is under way when the address is dropped is done before the next one is recovered.
            for _ in 0..dice.u32(..3) {
                sum += 1;
                tally.do_send(Add(1));
            }
            if dice.bool() {
                assert_eq!(tally.send(Get).await.unwrap(), sum, "round {round}");
            }
            for _ in 0..dice.u32(..4) {
                tokio::task::yield_now().await;
            }
        }
        world
            .environment
            .live_ids
            .stopped(&PersistenceId::of("Tally", "1"))
            .await;
        assert!(world.environment.live_ids.is_empty());
    });
}

#[test]
fn of_many_that_wait_for_an_id_each_gets_it_in_turn() {
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let starters = (0..20).map(|_| {
            let environment = Arc::clone(&world.environment);
            let factory = Tally::factory("1", &log);
            actix_rt::spawn(async move {
                let tally = start_when_stopped(factory, move |_| Ok(environment));
                tally.await.unwrap().send(Add(1)).await.unwrap().unwrap()
            })
        });
        let starters: Vec<_> = starters.collect();
        let mut sums = Vec::new();
        for starter in starters {
            sums.push(starter.await.unwrap());
        }
        sums.sort_unstable();
        assert_eq!(sums, (1..=20).collect::<Vec<_>>());
    });
}
