//! Calls within the handlers of calls, to any depth and of every kind.

use actix_persistence_persistent_actor::{Persist, PersistentContext};

use crate::tally::{Add, Get, Log, Run, Tally, added, persist};
use crate::world::{World, run};

fn call(ctx: &mut PersistentContext<Tally>, is_async: bool, n: i64) -> Persist<Tally> {
    match is_async {
        true => ctx.persist_async(added(n)),
        false => ctx.persist(added(n)),
    }
}

#[test]
fn inner_handlers_run_after_all_outer_ones_whichever_of_them_are_async() {
    // Akka's PersistentActorSpec, "allow multiple persists with nested persist calls" and the three mixtures of it.
    for (outer, inner) in [(false, false), (false, true), (true, false), (true, true)] {
        run(move || async move {
            let (world, log) = (World::new(), Log::default());
            let tally = world.start(Tally::factory("1", &log)).unwrap();
            tally
                .send(Run::new(move |_, ctx| {
                    for n in [1, 2] {
                        call(ctx, outer, n)
                            .then(move |tally, _, ctx| {
                                tally.log.add(format!("outer-{n}"));
                                call(ctx, inner, 10 * n)
                                    .then(move |tally, _, _| tally.log.add(format!("inner-{n}")))
                                    .detach();
                            })
                            .detach();
                    }
                }))
                .await
                .unwrap();
            while tally.send(Get).await.unwrap() < 33 {}
            let mut entries = log.take();
            entries.retain(|entry| entry.contains('-'));
            let expected = ["outer-1", "outer-2", "inner-1", "inner-2"];
            assert_eq!(
                entries, expected,
                "outer async {outer}, inner async {inner}"
            );
        });
    }
}

/// Persists the number, and in its handler the next smaller one, down to 1.
fn descend(ctx: &mut PersistentContext<Tally>, is_async: bool, n: i64) {
    call(ctx, is_async, n)
        .then(move |_, _, ctx| {
            if n > 1 {
                descend(ctx, is_async, n - 1);
            }
        })
        .detach();
}

#[test]
fn nested_persists_come_before_commands_and_async_ones_keep_their_order() {
    for is_async in [false, true] {
        run(move || async move {
            let (world, log) = (World::new(), Log::default());
            let tally = world.start(Tally::factory("1", &log)).unwrap();
            tally
                .send(Run::new(move |_, ctx| descend(ctx, is_async, 100)))
                .await
                .unwrap();
            tally.send(Add(1_000)).await.unwrap().unwrap();
            while tally.send(Get).await.unwrap() < 6_050 {}
            let entries = log.take();
            let at = |entry: &str| entries.iter().position(|other| other == entry).unwrap();
            let depths: Vec<_> = (1..=100).rev().map(|n| at(&format!("event {n}"))).collect();
            assert!(depths.is_sorted(), "{entries:?}");
            let comes_before_the_end = at("command 1000") < at("event 1");
            assert_eq!(comes_before_the_end, is_async, "{entries:?}");
        });
    }
}

#[test]
fn a_handler_persists_at_once_and_what_accumulates_goes_together() {
    run(|| async {
        let ((world, journal), log) = (World::held(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        tally
            .send(Run::new(|_, ctx| {
                for n in 1..=4 {
                    persist(ctx, n)
                        .then(move |_, _, ctx| drop(persist(ctx, 10 * n)))
                        .detach();
                }
            }))
            .await
            .unwrap();
        journal.release(3);
        assert_eq!(tally.send(Get).await.unwrap(), 110);
        assert_eq!(journal.calls(), [vec![1; 4], vec![1], vec![1; 3]]);
        let events: Vec<_> = [1, 2, 3, 4, 10, 20, 30, 40]
            .map(|n| format!("event {n}"))
            .into();
        assert_eq!(log.take()[1..], events);
    });
}

#[test]
fn a_write_is_sent_without_waiting_for_more_to_persist() {
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        tally.send(Get).await.unwrap();
        // The clock stands still unless somebody waits for it.
        let begun = tokio::time::Instant::now();
        for n in 1..=10 {
            tally.send(Add(n)).await.unwrap().unwrap();
        }
        assert_eq!(begun.elapsed(), std::time::Duration::ZERO);
    });
}
