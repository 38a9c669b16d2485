//! Recoveries after a key was destroyed, and errors that are no destroyed keys.

use std::sync::Arc;

use actix::{Addr, MailboxError};
use actix_persistence_memory::MemoryStorage;
use actix_persistence_persistent_actor::{
    EncryptionKey, ErrorChain, EventMeta, FoundKey, RecoveryError, replay_actor, replay_events,
};
use actix_persistence_storage_api::{
    AtomicWrite, EventRecord, Journal, Payload, ReplayRange, TakeOverRequest, Timestamp, WriterId,
};

use super::diary::{Diary, Entry, Lines, Load, Save, Write, id, stored, world_with};
use super::keys::Keys;
use crate::history::end;
use crate::tally::Log;
use crate::world::{World, run};

type Strict = Diary<false>;
type Forgiving = Diary<true>;

/// A diary with an entry about nobody, about ada, about nobody, and snapshots about these after each.
async fn with_entries(about: [&'static str; 3]) -> (World, Arc<Keys>, Log) {
    let (storage, keys, log) = (MemoryStorage::new(), Arc::default(), Log::default());
    let world = world_with(&storage, &keys);
    let diary = world.start(Strict::factory(&log)).unwrap();
    for ((entry, text), snapshot) in [("", "one"), ("ada", "two"), ("", "three")]
        .into_iter()
        .zip(about)
    {
        diary.send(Write(entry, text)).await.unwrap().unwrap();
        if snapshot != "never" {
            diary.send(Save(snapshot)).await.unwrap();
            diary.send(Load).await.unwrap().unwrap();
        }
    }
    end(&world, diary).await;
    log.take();
    (world, keys, log)
}

const NEVER: [&str; 3] = ["never"; 3];

async fn lines_of<const FORGIVING: bool>(diary: &Addr<Diary<FORGIVING>>) -> Vec<String> {
    diary.send(Lines).await.unwrap()
}

/// Returns why neither an actor nor a reader comes back.
async fn failure<const FORGIVING: bool>(world: &World, log: &Log) -> RecoveryError {
    let reader = replay_actor(Diary::<FORGIVING>::new(log), world.environment.clone()).await;
    let error = reader.err().expect("the recovery fails");
    log.take();
    let diary = world.start(Diary::<FORGIVING>::factory(log)).unwrap();
    let told = ErrorChain(&error).to_string();
    loop {
        let entries = log.take();
        if let Some(entry) = entries.iter().find(|entry| entry.contains("could not")) {
            assert_eq!(*entry, told);
            break;
        }
        tokio::task::yield_now().await;
    }
    let asked = diary.send(Lines).await;
    assert!(matches!(asked, Err(MailboxError::Closed)), "{asked:?}");
    end(world, diary).await;
    log.take();
    error
}

#[test]
fn the_value_of_the_type_takes_the_place_of_what_is_gone() {
    run(|| async {
        let (world, keys, log) = with_entries(NEVER).await;
        keys.destroy("ada");
        let gone = "Shredded { persistence_id: \"Diary|1\", number: 2, manifest: \"diary.entry\", version: 1 }";
        let expected = ["one", gone, "three"];
        let diary = world.start(Forgiving::factory(&log)).unwrap();
        assert_eq!(lines_of(&diary).await, expected);
        // It goes on, and may write about others.
        assert_eq!(diary.send(Write("bob", "four")).await.unwrap().unwrap(), 4);
        end(&world, diary).await;
        let read = replay_actor(Forgiving::new(&log), world.environment.clone()).await;
        assert_eq!(read.unwrap().0.lines[..3], expected);
        let fold =
            |lines: &mut Vec<String>, _: &EventMeta, entry: Entry<true>| lines.push(entry.text);
        let read =
            replay_events(&world.environment, id(), ReplayRange::ALL, Vec::new(), fold).await;
        assert_eq!(read.unwrap()[..3], expected);
    });
}

#[test]
fn without_such_a_value_the_recovery_fails_and_says_what_to_implement() {
    run(|| async {
        let (world, keys, log) = with_entries(NEVER).await;
        keys.destroy("ada");
        let error = failure::<false>(&world, &log).await;
        assert!(matches!(error, RecoveryError::Event { sequence_nr: 2, .. }));
        assert_eq!(
            ErrorChain(&error).to_string(),
            "could not decode event 2 of \"Diary|1\", stored by serializer 4 as \"diary.entry:v1\": the key \
             KeyId(616461) of its data subject was destroyed; implement `shredded` for its type to go on without it"
        );
    });
}

#[test]
fn a_wrong_key_an_unknown_one_and_damage_are_errors_never_shredded() {
    run(|| async {
        let (world, keys, log) = with_entries(NEVER).await;
        for found in [
            FoundKey::Unknown,
            FoundKey::Key(EncryptionKey::random().unwrap()),
        ] {
            keys.set("ada", found);
            failure::<true>(&world, &log).await;
        }
        keys.destroy("ada");
        let second = &stored(&world.storage).await[1];
        let mut bytes = second.bytes.to_vec();
        bytes[20] ^= 1;
        let damaged = Payload::new(4, second.manifest.clone(), bytes);
        for payload in [damaged, second.clone()] {
            // The second event in the place of the first one of a journal of its own.
            let storage = MemoryStorage::new();
            write_raw(&storage, payload).await;
            let world = world_with(&storage, &keys);
            failure::<true>(&world, &log).await;
        }
    });
}

async fn write_raw(storage: &MemoryStorage, payload: Payload) {
    let (journal, writer) = (storage.journal(), WriterId::random());
    let request = TakeOverRequest::new(id(), writer);
    let epoch = journal.take_over(&[request]).await.unwrap()[0].epoch;
    let record = EventRecord::new(1, Timestamp::now(), writer, payload);
    let write = AtomicWrite::new(id(), epoch, vec![record]).unwrap();
    assert!(journal.write_messages(vec![write]).await.unwrap()[0].is_stored());
}

#[test]
fn a_key_store_that_fails_is_waited_for() {
    run(|| async {
        let (world, keys, log) = with_entries(NEVER).await;
        keys.set_away(true);
        let reader = replay_actor(Strict::new(&log), world.environment.clone()).await;
        assert!(reader.err().unwrap().is_transient());
        let diary = world.start(Strict::factory(&log)).unwrap();
        let asked = diary.send(Lines);
        while !log
            .take()
            .iter()
            .any(|entry| entry.contains("no keys today"))
        {
            tokio::task::yield_now().await;
        }
        keys.set_away(false);
        assert_eq!(asked.await.unwrap(), ["one", "two", "three"]);
    });
}

#[test]
fn a_shredded_snapshot_is_passed_over_if_the_events_are_there() {
    for (about, from) in [
        (["", "", "ada"], Some("snapshot 2")),
        (["", "ada", "ada"], Some("snapshot 1")),
        (["ada", "ada", "ada"], None),
    ] {
        run(move || async move {
            let (world, keys, log) = with_entries(about).await;
            keys.destroy("ada");
            let diary = world.start(Forgiving::factory(&log)).unwrap();
            let lines = lines_of(&diary).await;
            assert_eq!((lines.len(), &*lines[0], &*lines[2]), (3, "one", "three"));
            assert_eq!(log.take().first().map(String::as_str), from);
            let error = diary.send(Load).await.unwrap().unwrap_err();
            assert!(
                error.contains("at 3") && error.contains("was destroyed"),
                "{error}"
            );
            end(&world, diary).await;
        });
    }
}

#[test]
fn a_shredded_snapshot_is_missed_if_its_events_were_deleted() {
    run(|| async {
        let (world, keys, log) = with_entries(["", "ada", "ada"]).await;
        keys.destroy("ada");
        let journal = world.storage.journal();
        journal.delete_messages_to(&id(), 1.into()).await.unwrap();
        let diary = world.start(Forgiving::factory(&log)).unwrap();
        assert_eq!(lines_of(&diary).await.len(), 3);
        assert_eq!(log.take(), ["snapshot 1"]);
        end(&world, diary).await;

        journal.delete_messages_to(&id(), 2.into()).await.unwrap();
        let error = failure::<true>(&world, &log).await;
        let RecoveryError::SnapshotNeeded {
            deleted_to, source, ..
        } = error
        else {
            panic!("{error:?}");
        };
        assert_eq!(deleted_to, 2);
        let source = ErrorChain(&source.unwrap()).to_string();
        assert!(source.contains("was destroyed"), "{source}");
    });
}
