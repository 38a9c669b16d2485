//! Actors without addresses, which live by their timers.

use std::time::Duration;

use actix::{Actor, AsyncContext};
use actix_persistence_persistent_actor::{NoSnapshot, PersistentActor, PersistentContext};
use actix_persistence_storage_api::{Journal, PersistenceId};

use crate::scripted_journal::Next;
use crate::tally::{Added, added};
use crate::world::{World, run};

/// Stores an event a minute.
struct Clock;

impl Actor for Clock {
    type Context = PersistentContext<Self>;
}

impl PersistentActor for Clock {
    type Event = Added;
    type Snapshot = NoSnapshot;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of("Clock", "1")
    }

    fn on_event(&mut self, _: &Added) {}

    fn on_recovery_completed(&mut self, ctx: &mut Self::Context) {
        ctx.run_interval(Duration::from_secs(60), |_, ctx| {
            drop(ctx.persist(added(1)));
        });
    }
}

async fn ticks(world: &World) -> u64 {
    let id = Clock.persistence_id();
    let head = world.storage.journal().read_head(&id).await.unwrap();
    head.highest_sequence_nr
}

#[test]
fn one_that_fails_is_rebuilt_like_any_other() {
    run(|| async {
        let (world, journal) = World::scripted();
        drop(world.start(|| Clock).unwrap());
        tokio::time::sleep(Duration::from_secs(600)).await;
        let before = ticks(&world).await;
        assert!(before > 5);
        journal.next(Next::FailNotStored);
        tokio::time::sleep(Duration::from_secs(600)).await;
        assert!(ticks(&world).await > before + 5);
        assert_eq!(world.environment.live_ids.len(), 1);
    });
}

#[test]
fn one_whose_first_recovery_meets_an_outage_comes_up_after_it() {
    run(|| async {
        let (world, journal) = World::scripted();
        journal.fail_recoveries(3);
        drop(world.start(|| Clock).unwrap());
        tokio::time::sleep(Duration::from_secs(3_600)).await;
        assert!(ticks(&world).await > 50);
    });
}

#[test]
fn one_that_nothing_keeps_alive_any_more_ends_after_its_next_recovery() {
    run(|| async {
        let (world, journal) = World::scripted();
        let log = crate::tally::Log::default();
        journal.fail_recoveries(3);
        drop(
            world
                .start(crate::tally::Tally::factory("1", &log))
                .unwrap(),
        );
        tokio::time::sleep(Duration::from_secs(3_600)).await;
        assert!(world.environment.live_ids.is_empty());
        assert_eq!(log.take().last().unwrap(), "stopped");
    });
}
