//! Events and snapshots that are encrypted on their way to the store.

use std::sync::Arc;

use actix_persistence_memory::MemoryStorage;
use actix_persistence_persistent_actor::{EncodeError, PersistError, RejectionCause};
use futures_util::join;

use super::diary::{
    Diary, Lines, Load, Save, Write, WriteAll, contains, stored, world_on, world_with,
};
use super::keys::Keys;
use crate::history::end;
use crate::scripted_journal::{Next, ScriptedJournal};
use crate::tally::Log;
use crate::world::{World, run};

type Strict = Diary<false>;

fn cause(error: PersistError) -> Arc<EncodeError> {
    match error {
        PersistError::Rejected(RejectionCause::Encode(cause)) => cause,
        other => panic!("{other:?}"),
    }
}

#[test]
fn only_what_has_a_data_subject_is_encrypted_and_all_of_it_is_read_again() {
    run(|| async {
        let (storage, keys, log) = (MemoryStorage::new(), Arc::default(), Log::default());
        let world = world_with(&storage, &keys);
        let diary = world.start(Strict::factory(&log)).unwrap();
        let about = ["", "ada", "bob", "ada"];
        for (about, text) in
            about
                .into_iter()
                .zip(["rain-rain", "sun-sun", "wind-wind", "snow-snow"])
        {
            diary.send(Write(about, text)).await.unwrap().unwrap();
        }
        let lines = diary.send(Lines).await.unwrap();
        end(&world, diary).await;

        let payloads = stored(&storage).await;
        let ids: Vec<_> = payloads
            .iter()
            .map(|payload| payload.serializer_id)
            .collect();
        assert_eq!(ids, [1, 4, 4, 4]);
        for (payload, line) in payloads.iter().zip(&lines) {
            assert_eq!(&*payload.manifest, "diary.entry:v1");
            assert_eq!(contains(payload, line), payload.serializer_id == 1);
        }
        let diary = world.start(Strict::factory(&log)).unwrap();
        assert_eq!(diary.send(Lines).await.unwrap(), lines);
    });
}

#[test]
fn an_event_that_gets_another_number_is_encrypted_for_that() {
    run(|| async {
        let (storage, keys, log) = (MemoryStorage::new(), Arc::default(), Log::default());
        let journal = ScriptedJournal::held(storage.journal());
        let world = world_on(&storage, journal.clone(), &keys);
        let diary = world.start(Strict::factory(&log)).unwrap();
        // The first goes alone; the others wait, and share the next write.
        journal.next(Next::RejectWritesOf(7));
        journal.next(Next::RejectWritesOf(2));
        let first = diary.send(Write("ada", "first"));
        let pair = diary.send(WriteAll("ada", vec!["lost", "lost too"]));
        let (bob, ada) = (
            diary.send(Write("bob", "second")),
            diary.send(Write("ada", "third")),
        );
        journal.release(100);
        let (first, pair, bob, ada) = join!(first, pair, bob, ada);
        assert_eq!(first.unwrap().unwrap(), 1);
        assert!(matches!(pair.unwrap(), Err(PersistError::Rejected(_))));
        assert_eq!(bob.unwrap().unwrap(), 2);
        assert_eq!(ada.unwrap().unwrap(), 3);
        assert!(
            journal.calls().contains(&vec![2, 1, 1]),
            "{:?}",
            journal.calls()
        );
        end(&world, diary).await;
        let world = world_with(&storage, &keys);
        let diary = world.start(Strict::factory(&log)).unwrap();
        assert_eq!(
            diary.send(Lines).await.unwrap(),
            ["first", "second", "third"]
        );
    });
}

#[test]
fn an_event_without_a_key_is_rejected_and_never_stored_in_plain() {
    run(|| async {
        let (storage, keys, log) = (
            MemoryStorage::new(),
            Arc::new(Keys::default()),
            Log::default(),
        );
        let world = world_with(&storage, &keys);
        let diary = world.start(Strict::factory(&log)).unwrap();
        keys.set_away(true);
        let refused = diary.send(Write("ada", "secret")).await.unwrap();
        let refused = cause(refused.unwrap_err());
        assert!(
            matches!(&*refused, EncodeError::KeyStore { .. }),
            "{refused}"
        );
        let together = diary.send(WriteAll("ada", vec!["one", "two"])).await;
        cause(together.unwrap().unwrap_err());
        diary.send(Save("ada")).await.unwrap();
        assert_eq!(diary.send(Write("", "plain")).await.unwrap().unwrap(), 1);
        assert_eq!(diary.send(Load).await.unwrap(), Ok(None));
        assert_eq!(
            log.take(),
            ["there is no key for the data subject of diary.pages:v1: no keys today"]
        );
        keys.set_away(false);
        assert_eq!(diary.send(Write("ada", "known")).await.unwrap().unwrap(), 2);
        end(&world, diary).await;

        assert_eq!(stored(&storage).await.len(), 2);

        let without_keys = World::new();
        let diary = without_keys.start(Strict::factory(&log)).unwrap();
        let refused = diary.send(Write("ada", "secret")).await.unwrap();
        let refused = cause(refused.unwrap_err());
        assert!(
            matches!(&*refused, EncodeError::NoKeyStore { .. }),
            "{refused}"
        );
        assert_eq!(stored(&without_keys.storage).await.len(), 0);
    });
}

#[test]
fn a_snapshot_is_compressed_and_encrypted_and_read_again() {
    run(|| async {
        let (storage, keys, log) = (MemoryStorage::new(), Arc::default(), Log::default());
        let world = world_with(&storage, &keys);
        let diary = world.start(Strict::factory(&log)).unwrap();
        let long =
            "rain and rain and rain and rain and rain and rain and rain and rain and rain and rain";
        for about in ["ada", "", "ada"] {
            diary.send(Write(about, long)).await.unwrap().unwrap();
        }
        diary.send(Save("ada")).await.unwrap();
        let loaded = diary.send(Load).await.unwrap().unwrap();
        assert_eq!(loaded.unwrap().len(), 3);
        end(&world, diary).await;
        assert_eq!(log.take(), ["saved"]);
        let diary = world.start(Strict::factory(&log)).unwrap();
        assert_eq!(diary.send(Lines).await.unwrap(), [long; 3]);
        assert_eq!(log.take(), ["snapshot 3"]);
    });
}
