//! The torn end of a log after a crash is cut off, and everything before it is there again.

use std::fs;

use actix_persistence_storage_api::{Epoch, EventDeletion, Journal, WriterId};
use actix_persistence_tck::TakeOverOne;
use tempfile::TempDir;

use crate::writer::{LOG, Seen, Writer, id_of, numbers, open, open_bytes, seen};

/// A log after one of its appends, and what it shows of the ids `a` and `b`.
struct Stage {
    log: Vec<u8>,
    shows: [(Seen, Epoch); 2],
}

impl Stage {
    async fn of(place: &TempDir) -> Self {
        let log = fs::read(place.path().join(LOG)).unwrap();
        let shows = shown(&log).await;
        Self { log, shows }
    }
}

/// Looks at a copy of the log, because taking over raises the epoch.
async fn shown(log: &[u8]) -> [(Seen, Epoch); 2] {
    let place = TempDir::new().unwrap();
    let journal = open_bytes(place.path(), log).await.unwrap();
    let mut shows = Vec::new();
    for name in ["a", "b"] {
        let id = id_of(name);
        let what = seen(&journal, &id).await;
        let head = journal.read_head(&id).await.unwrap();
        assert_eq!(head.highest_sequence_nr, what.highest);
        assert_eq!(head.deleted_to, what.deleted_to);
        let next = journal
            .take_over_one(&id, WriterId::random())
            .await
            .unwrap();
        assert_eq!(next.deleted_to, what.deleted_to);
        assert_eq!(next.epoch, head.epoch + 1);
        shows.push((what, head.epoch));
    }
    shows.try_into().unwrap()
}

/// A history with every kind of record, append by append.
async fn history() -> Vec<Stage> {
    let place = TempDir::new().unwrap();
    let journal = open(&place).await.unwrap();
    let mut stages = vec![Stage::of(&place).await];
    let mut a = Writer::take_over(&journal, "a").await;
    stages.push(Stage::of(&place).await);
    a.store(&journal, 1).await;
    stages.push(Stage::of(&place).await);
    a.store(&journal, 3).await;
    stages.push(Stage::of(&place).await);
    let mut b = Writer::take_over(&journal, "b").await;
    stages.push(Stage::of(&place).await);
    b.store(&journal, 1).await;
    stages.push(Stage::of(&place).await);
    journal
        .delete_messages_to(&a.id, EventDeletion::up_to(2))
        .await
        .unwrap();
    stages.push(Stage::of(&place).await);
    Writer::take_over(&journal, "a").await;
    stages.push(Stage::of(&place).await);
    b.store(&journal, 2).await;
    stages.push(Stage::of(&place).await);
    Writer::look(&journal, "b").await.store(&journal, 2).await;
    stages.push(Stage::of(&place).await);
    stages
}

#[tokio::test]
async fn an_append_torn_at_any_byte_leaves_what_was_before_it() {
    let stages = history().await;
    for pair in stages.windows(2) {
        let (before, after) = (&pair[0], &pair[1]);
        assert_ne!(before.shows, after.shows);
        assert_eq!(after.shows, shown(&after.log).await);
        for length in before.log.len()..after.log.len() {
            let torn = &after.log[..length];
            assert_eq!(shown(torn).await, before.shows, "{length} bytes are left");
        }
    }
}

#[tokio::test]
async fn an_append_whose_bytes_never_reached_the_disk_leaves_what_was_before_it() {
    let stages = history().await;
    for pair in stages.windows(2) {
        let (before, after) = (&pair[0], &pair[1]);
        // The file has its new length already, and from some byte on nothing in it.
        for length in (before.log.len()..after.log.len()).step_by(7) {
            let mut torn = after.log.clone();
            torn[length..].fill(0);
            if torn == after.log {
                continue; // these bytes are zeros anyway
            }
            assert_eq!(shown(&torn).await, before.shows, "zeros from byte {length}");
        }
    }
}

#[tokio::test]
async fn of_a_torn_group_every_write_is_whole_or_gone() {
    let place = TempDir::new().unwrap();
    let journal = open(&place).await.unwrap();
    let mut writers = Vec::new();
    for name in ["a", "b", "c"] {
        writers.push(Writer::take_over(&journal, name).await);
    }
    let start = fs::read(place.path().join(LOG)).unwrap().len();
    let group = writers.iter().map(|writer| writer.events(2, 5)).collect();
    let outcomes = journal.write_messages(group).await.unwrap();
    assert!(outcomes.iter().all(|outcome| outcome.is_stored()));
    drop(journal);
    let log = fs::read(place.path().join(LOG)).unwrap();
    let each = (log.len() - start) / 3;
    for length in start..=log.len() {
        let journal = open_bytes(place.path(), &log[..length]).await.unwrap();
        for (at, writer) in writers.iter().enumerate() {
            let whole = length >= start + (at + 1) * each;
            let expected: &[u64] = if whole { &[1, 2] } else { &[] };
            assert_eq!(numbers(&journal, &writer.id).await, expected);
        }
    }
}

#[tokio::test]
async fn writing_goes_on_where_a_torn_append_was_cut_off() {
    let place = TempDir::new().unwrap();
    let journal = open(&place).await.unwrap();
    let mut writer = Writer::take_over(&journal, "a").await;
    writer.store(&journal, 2).await;
    let start = fs::read(place.path().join(LOG)).unwrap().len();
    writer.store(&journal, 2).await;
    drop(journal);
    let log = fs::read(place.path().join(LOG)).unwrap();
    for length in start..log.len() {
        let journal = open_bytes(place.path(), &log[..length]).await.unwrap();
        let mut next = Writer::take_over(&journal, "a").await;
        assert_eq!(next.next, 3);
        next.store(&journal, 1).await;
        drop(journal);
        let journal = open(&place).await.unwrap();
        assert_eq!(numbers(&journal, &next.id).await, [1, 2, 3]);
    }
}
