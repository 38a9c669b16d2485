//! An actor has the stored state before its first command, or fails and tries again.

use std::sync::Arc;
use std::time::Duration;

use actix_persistence_memory::MemoryStorage;
use actix_persistence_state_actor::StateSettings;
use actix_persistence_storage_api::{Operation, Payload};
use actix_persistence_testkit::Intercepted;
use tokio::time::Instant;

use super::memo::{Get, Memo, Set, memo_id};
use super::state_world::StateWorld;
use crate::tally::Log;
use crate::world::run;

#[test]
fn the_stored_state_and_its_revision_are_there_before_the_first_command() {
    run(|| async {
        let (world, log) = (StateWorld::new(), Log::default());
        let memo = world.start(Memo::factory("1", &log)).unwrap();
        for n in 1..=3 {
            memo.send(Set(n)).await.unwrap().unwrap();
        }
        log.take();
        let again = world.elsewhere().start(Memo::factory("1", &log)).unwrap();
        assert_eq!(again.send(Get).await.unwrap(), (Some(3), 3));
        let expected = ["state 3", "recovered at 3"];
        assert_eq!(log.take(), expected, "no handler ran again");
    });
}

#[test]
fn an_id_that_was_never_stored_has_no_state_and_revision_0() {
    run(|| async {
        let (world, log) = (StateWorld::new(), Log::default());
        let memo = world.start(Memo::factory("1", &log)).unwrap();
        assert_eq!(memo.send(Get).await.unwrap(), (None, 0));
        assert_eq!(log.take(), ["state none", "recovered at 0"]);
        assert_eq!(world.stored(&memo_id("1")).await.revision, 0, "no trace");
    });
}

#[test]
fn a_recovery_that_fails_is_tried_again_and_commands_wait_for_it() {
    run(|| async {
        let ((world, states), log) = (StateWorld::scripted(), Log::default());
        states.fail_reads(2);
        let before = Instant::now();
        let memo = world.start(Memo::factory("1", &log)).unwrap();
        assert_eq!(memo.send(Set(1)).await.unwrap().unwrap(), Some(1));
        assert!(before.elapsed() >= Duration::from_secs(3), "it backed off");
        let log = log.take();
        assert!(
            log[0].starts_with("recovery failed: could not recover \"Memo|1\" from its state: "),
            "{log:?}"
        );
        assert_eq!(log[2..5], ["state none", "recovered at 0", "command 1"]);
    });
}

/// Returns the actor's error about a stored payload that it cannot use; the commands that wait are let go.
async fn failure(payload: Payload) -> String {
    let (world, log) = (StateWorld::new(), Log::default());
    world.store(&memo_id("1"), payload).await;
    let memo = world.start(Memo::factory("1", &log)).unwrap();
    memo.send(Get).await.unwrap_err();
    log.take().remove(0)
}

#[test]
fn a_state_that_cannot_be_decoded_fails_the_recovery_and_is_named() {
    run(|| async {
        let unknown = |manifest: &'static str| (manifest, format!("unknown manifest {manifest:?}"));
        for (manifest, cause) in [
            (
                "test.number:v2",
                "version 2 of \"test.number\" is of a newer program".to_owned(),
            ),
            unknown("test.other:v1"),
            unknown("test.number"),
            unknown("test.number:v0"),
        ] {
            let failure = failure(Payload::new(2, manifest, r#"{"n":1}"#)).await;
            let expected = format!(
                "recovery failed: could not decode the state of \"Memo|1\" at revision 1, stored by serializer 2 \
                 as {manifest:?}: {cause}; \
                 this program reads version 1 of \"test.number\""
            );
            assert_eq!(failure, expected);
        }
        let failure = failure(Payload::new(2, "test.number:v1", r#"{"m":1}"#)).await;
        assert!(failure.contains("at revision 1"), "{failure}");
        assert!(
            failure.contains("json could not decode the bytes"),
            "{failure}"
        );
    });
}

#[test]
fn a_panic_while_taking_note_of_the_state_fails_the_recovery() {
    run(|| async {
        let (world, log) = (StateWorld::new(), Log::default());
        let memo = world.start(Memo::factory("1", &log)).unwrap();
        memo.send(Set(7)).await.unwrap().unwrap();
        log.take();
        let made = log.clone();
        let poisoned = world.elsewhere().start(move || Memo {
            poison: Some(7),
            ..Memo::new("1", &made)
        });
        poisoned.unwrap().send(Get).await.unwrap_err();
        let failure = log.take().remove(0);
        assert!(failure.ends_with("poisoned"), "{failure}");
    });
}

#[test]
fn recoveries_at_once_stay_within_the_permits_and_all_get_a_turn() {
    run(|| async {
        let storage = MemoryStorage::new();
        let store = Arc::new(Intercepted::state_store(storage.state_store()));
        let reads = store.on(Operation::GetState).record();
        store.on(Operation::GetState).run(|call, next| async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            next.run(call).await
        });
        let tune = |settings: &mut StateSettings| settings.max_concurrent_recoveries = 2;
        let world = StateWorld::tuned(storage, store, tune, |_| {});
        let log = Log::default();
        let ids = ["1", "2", "3", "4", "5"];
        let memos = ids.map(|id| world.start(Memo::factory(id, &log)).unwrap());
        for memo in memos {
            assert_eq!(memo.send(Get).await.unwrap(), (None, 0));
        }
        assert_eq!((reads.number(), reads.most_at_once()), (5, 2));
    });
}
