//! Saves at a pace.

use std::sync::mpsc;

use actix_persistence_snapshot_actor::SnapshotSettings;
use actix_persistence_storage_api::Payload;
use actix_persistence_store_actor::StoreThread;
use actix_rt::System;
use tokio::time::Instant;

use crate::fixture::{Changed, Fixture, id, metadata, now, on_paused_clock, seconds, settings};
use crate::scripted_store::Call;

/// The pace at which a snapshot of the fixture takes five seconds; and one call at a time.
fn slow() -> SnapshotSettings {
    let mut slow = settings();
    slow.bytes_per_second = 1;
    slow.max_concurrent_calls = 1;
    slow
}

/// Asks for the saves of so many ids.
fn saves(fixture: &Fixture, number: u32) -> Vec<Changed> {
    (0..number)
        .map(|n| fixture.save(&n.to_string(), 1))
        .collect()
}

/// Saves a snapshot of `a`, and asks for one of `b`, which waits for the pace.
async fn beside_one_that_waits() -> (Fixture, [Changed; 2]) {
    let mut fixture = Fixture::ready_with(slow()).await;
    let first = fixture.save("a", 1);
    fixture.calls.next().await.works();
    let second = fixture.save("b", 1);
    (fixture, [first, second])
}

async fn all_are_done(saves: Vec<Changed>) {
    for save in saves {
        assert!(now(save).await.is_ok());
    }
}

#[test]
fn a_save_that_waits_for_the_pace_takes_no_place_from_other_calls() {
    on_paused_clock(async {
        let start = Instant::now();
        let (mut fixture, [first, second]) = beside_one_that_waits().await;
        let load = fixture.load("c");
        fixture.calls.expect(Call::Load(id("c"))).await.works();
        let delete = fixture.handle.delete(metadata("d", 1));
        let deleted = fixture.calls.next().await;
        deleted.works();
        assert!(now(delete).await.is_ok() && now(load).await.is_ok());
        assert!(now(first).await.is_ok());
        assert!(start.elapsed() < seconds(1));

        let called = fixture.calls.next().await;
        assert_eq!(called.call, Call::Save(metadata("b", 1)));
        // The runtime's clock has steps of a millisecond.
        let waited = start.elapsed().as_millis();
        assert!((5_000..=5_002).contains(&waited), "{waited}");
        called.works();
        assert!(now(second).await.is_ok());
    });
}

#[test]
fn a_save_that_another_request_waits_for_does_not_wait_for_the_pace() {
    on_paused_clock(async {
        let start = Instant::now();
        let (mut fixture, [first, second]) = beside_one_that_waits().await;
        assert!(fixture.calls.is_quiet().await);
        let load = fixture.load("b");
        let saved = fixture.calls.next().await;
        assert_eq!(saved.call, Call::Save(metadata("b", 1)));
        saved.works();
        fixture.calls.expect(Call::Load(id("b"))).await.works();
        assert!(now(first).await.is_ok() && now(second).await.is_ok());
        assert!(now(load).await.is_ok());
        assert!(start.elapsed() < seconds(1));
    });
}

#[test]
fn a_save_waits_for_the_pace_after_it_has_waited_for_one_of_its_id() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready_with(slow()).await;
        let mut saves = vec![fixture.save("a", 1)];
        fixture.calls.next().await.works();
        saves.push(fixture.save("b", 1));
        let called = fixture.calls.next().await;
        let start = Instant::now();
        // The one that is under way waits for no pace any more, and so is told of this one for nothing.
        saves.push(fixture.save("b", 2));
        called.works();
        let called = fixture.calls.next().await;
        assert_eq!(called.call, Call::Save(metadata("b", 2)));
        assert!(start.elapsed() >= seconds(5), "{:?}", start.elapsed());
        called.works();
        all_are_done(saves).await;
    });
}

#[test]
fn a_save_waits_for_the_pace_for_half_of_its_timeout_at_most() {
    on_paused_clock(async {
        let mut slow = slow();
        slow.save_timeout = seconds(8);
        let mut fixture = Fixture::ready_with(slow).await;
        let start = Instant::now();
        let saves = saves(&fixture, 4);
        for _ in 0..4 {
            fixture.calls.next().await.works();
        }
        all_are_done(saves).await;
        let waited = start.elapsed();
        assert!((seconds(4)..seconds(5)).contains(&waited), "{waited:?}");
    });
}

#[test]
fn a_save_whose_asker_leaves_while_it_waits_for_the_pace_is_made_at_once() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready_with(slow()).await;
        let first = fixture.save("a", 1);
        fixture.calls.next().await.works();
        assert!(now(first).await.is_ok());
        let left = fixture.save("b", 1);
        assert!(fixture.calls.is_quiet().await);
        drop(left);
        assert!(!fixture.calls.is_quiet().await);
        fixture.calls.next().await.works();
        fixture.handle.drained().await;
    });
}

#[test]
fn no_save_of_an_id_in_a_hurry_waits_for_the_pace() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready_with(slow()).await;
        let start = Instant::now();
        fixture.handle.hurry(&id("a"));
        let saves: Vec<_> = ["a", "b", "c", "d"]
            .map(|name| fixture.save(name, 1))
            .into();
        fixture.calls.next().await.works();
        // One waits already, and the task of the other has not begun.
        assert!(fixture.calls.is_quiet().await);
        fixture.handle.hurry(&id("c"));
        let late = fixture.save("e", 1);
        fixture.handle.hurry(&id("e"));
        let mut called = Vec::new();
        while !fixture.calls.is_quiet().await {
            let next = fixture.calls.next().await;
            called.push(next.call.clone());
            next.works();
        }
        let expected = ["c", "e"].map(|name| Call::Save(metadata(name, 1)));
        assert_eq!(called, expected);
        assert!(start.elapsed() < seconds(1));
        assert!(now(late).await.is_ok());
        drop(saves);
    });
}

#[test]
fn a_hurry_reaches_a_save_that_is_still_in_the_mailbox() {
    System::new().block_on(async {
        let thread = StoreThread::start("stores").unwrap();
        let mut fixture = Fixture::starting_on(&thread, slow());
        let (begun, has_begun) = mpsc::channel();
        let (release, released) = mpsc::channel::<()>();
        thread.arbiter().spawn_fn(move || {
            begun.send(()).unwrap();
            let _ = released.recv();
        });
        has_begun.recv().unwrap();
        let large = Payload::new(0, "", vec![0; 1_000]);
        let first = fixture.handle.save(metadata("a", 1), large);
        let second = fixture.save("b", 1);
        fixture.calls.expect(Call::Initialize).await.works();
        fixture.handle.ready().await.unwrap();
        let start = Instant::now();
        fixture.handle.hurry(&id("b"));
        drop(release);
        for save in [first, second] {
            fixture.calls.next().await.works();
            save.await.unwrap();
        }
        // Without the hurry it waits for half of the time-out of a minute.
        assert!(start.elapsed() < seconds(20));
    });
}

#[test]
fn saves_do_not_wait_for_the_pace_while_someone_waits_for_all() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready_with(slow()).await;
        let start = Instant::now();
        let saves = saves(&fixture, 3);
        // None of their tasks has begun.
        let work = async {
            for _ in 0..3 {
                fixture.calls.next().await.works();
            }
        };
        futures_util::join!(fixture.handle.drained(), work);
        all_are_done(saves).await;
        assert!(start.elapsed() < seconds(1));
    });
}

#[test]
fn no_save_waits_for_a_pace_that_was_lifted() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready_with(slow()).await;
        let start = Instant::now();
        let saves = saves(&fixture, 3);
        fixture.calls.next().await.works();
        assert!(fixture.calls.is_quiet().await);
        fixture.handle.pace().lift();
        fixture.calls.next().await.works();
        fixture.calls.next().await.works();
        all_are_done(saves).await;
        assert!(start.elapsed() < seconds(1));
    });
}
