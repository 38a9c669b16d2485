//! Stored events are published, once, in order, and nothing else is.

use actix::ActorContext;
use actix_persistence_memory::MemoryStorage;
use actix_persistence_persistent_actor::{
    Lagged, PublishedEvent, PublishedEvents, Subscription, replay_actor,
};
use actix_persistence_storage_api::{Journal, PageLimit, ReplayRange};
use futures_util::{FutureExt, StreamExt};

use crate::scripted_journal::{Next, ScriptedJournal};
use crate::tally::{Add, AddAll, Added, Get, Log, Run, Tally, added, persist, stop};
use crate::world::{World, run};

type Events = Subscription<PublishedEvent<Added>>;

/// Returns the events that can be read now, with their numbers.
fn read(events: &mut Events) -> Vec<Result<(u64, i64), Lagged>> {
    std::iter::from_fn(|| events.next().now_or_never().flatten())
        .map(|item| item.map(|published| (published.sequence_nr, published.event.n)))
        .collect()
}

fn subscribe(world: &World) -> Events {
    world.environment.published_events.subscribe()
}

#[test]
fn an_event_is_published_once_stored_and_before_its_handler_runs() {
    run(|| async {
        let ((world, journal), log) = (World::held(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        let (mut events, mut seen) = (subscribe(&world), subscribe(&world));
        let persisting = Run::new(move |_, ctx| {
            persist(ctx, 5)
                .then(move |tally, _, _| {
                    tally.log.add(format!("{:?}", read(&mut seen)));
                })
                .detach();
        });
        tally.send(persisting).await.unwrap();
        while journal.calls().is_empty() {
            tokio::task::yield_now().await;
        }
        assert_eq!(read(&mut events), [], "it is not stored yet");
        journal.release(1);
        assert_eq!(tally.send(Get).await.unwrap(), 5);
        assert_eq!(log.take(), ["recovered at 0", "event 5", "[Ok((1, 5))]"]);
        let published = events.next().await.unwrap().unwrap();
        assert_eq!(published.persistence_id.as_str(), "Tally|1");
        let stored = world.storage.journal();
        let page = stored
            .replay_messages(
                &published.persistence_id,
                ReplayRange::ALL,
                PageLimit::DEFAULT,
            )
            .await
            .unwrap();
        assert_eq!(published.timestamp, page.events[0].timestamp);
    });
}

#[test]
fn events_of_every_persist_variant_are_published_by_their_numbers() {
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let mut events = subscribe(&world);
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        tally.send(AddAll(vec![1, 2, 3])).await.unwrap().unwrap();
        let nested = Run::new(|_, ctx| {
            persist(ctx, 4)
                .then(|_, _, ctx| {
                    persist(ctx, 6).detach();
                })
                .detach();
            ctx.persist_async(added(5)).detach();
        });
        tally.send(nested).await.unwrap();
        tally.send(AddAll(Vec::new())).await.unwrap().unwrap();
        let expected: Vec<_> = (1..=6).map(|n| Ok((n as u64, n))).collect();
        assert_eq!(read(&mut events), expected);
    });
}

#[test]
fn replay_publishes_nothing() {
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        tally.send(AddAll(vec![1, 2])).await.unwrap().unwrap();
        tally.send(Run::new(stop)).await.unwrap();
        let mut events = subscribe(&world);
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        assert_eq!(tally.send(Get).await.unwrap(), 3);
        let reader = Tally::new("1", &log);
        replay_actor(reader, world.environment.clone())
            .await
            .unwrap();
        assert_eq!(read(&mut events), []);
        tally.send(Add(3)).await.unwrap().unwrap();
        assert_eq!(read(&mut events), [Ok((3, 3))]);
    });
}

#[test]
fn rejected_events_are_not_published() {
    run(|| async {
        let ((world, journal), log) = (World::scripted(), Log::default());
        let mut events = subscribe(&world);
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        journal.next(Next::RejectWritesOf(2));
        let together = Run::new(|_, ctx| {
            persist(ctx, 1).detach();
            ctx.persist_all([2, 3].map(added)).detach();
            persist(ctx, 4).detach();
        });
        tally.send(together).await.unwrap();
        tally.send(Get).await.unwrap();
        assert_eq!(read(&mut events), [Ok((1, 1)), Ok((2, 4))]);
    });
}

#[test]
fn events_that_failed_are_not_published_even_if_replay_finds_them() {
    run(|| async {
        let ((world, journal), log) = (World::scripted(), Log::default());
        let mut events = subscribe(&world);
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        tally.send(Add(1)).await.unwrap().unwrap();
        journal.next(Next::StoreButFailUnknown);
        tally.send(Add(2)).await.unwrap().unwrap_err();
        journal.next(Next::FailNotStored);
        tally.send(Add(3)).await.unwrap().unwrap_err();
        assert_eq!(tally.send(Add(4)).await.unwrap().unwrap(), 7);
        assert_eq!(read(&mut events), [Ok((1, 1)), Ok((3, 4))]);
    });
}

#[test]
fn a_stored_event_is_published_even_if_a_panic_precedes_its_handler() {
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let mut events = subscribe(&world);
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        let panicking = Run::new(|_, ctx| {
            persist(ctx, 1)
                .then(|_, _, _| panic!("in a handler"))
                .detach();
            persist(ctx, 2).detach();
        });
        tally.send(panicking).await.unwrap();
        assert_eq!(tally.send(Get).await.unwrap(), 3);
        assert_eq!(read(&mut events), [Ok((1, 1)), Ok((2, 2))]);
    });
}

#[test]
fn a_slow_reader_is_told_exactly_how_many_events_it_missed() {
    run(|| async {
        let storage = MemoryStorage::new();
        let journal = ScriptedJournal::new(storage.journal());
        let world = World::on(storage, journal, |environment| {
            environment.published_events = PublishedEvents::new(4);
        });
        let log = Log::default();
        let (mut slow, mut fast) = (subscribe(&world), subscribe(&world));
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        for n in 1..=10 {
            tally.send(Add(n)).await.unwrap().unwrap();
            assert_eq!(read(&mut fast), [Ok((n as u64, n))]);
        }
        let items = read(&mut slow);
        let missed = *items[0].as_ref().unwrap_err();
        assert_eq!(missed.count, 6);
        assert_eq!(
            items[1..],
            [Ok((7, 7)), Ok((8, 8)), Ok((9, 9)), Ok((10, 10))]
        );
    });
}

#[test]
fn a_subscription_ends_when_no_actor_and_no_handle_is_left() {
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let mut events = subscribe(&world);
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        drop(world);
        tally.send(Add(1)).await.unwrap().unwrap();
        tally.do_send(Run::new(|_, ctx| ctx.stop()));
        assert_eq!(events.next().await.unwrap().unwrap().event.n, 1);
        assert!(events.next().await.is_none());
    });
}
