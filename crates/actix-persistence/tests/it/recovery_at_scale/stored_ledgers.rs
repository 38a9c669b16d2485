//! Fills a database with the events of many ledgers, faster than the ledgers could.

use std::path::Path;
use std::sync::Arc;

use actix_persistence::memory::MemoryStorage;
use actix_persistence::prelude::*;
use actix_persistence::sqlite::{SqliteJournal, SqliteOptions};
use actix_persistence::storage_api::{
    AtomicWrite, EventRecord, Journal, PageLimit, Payload, ReplayRange, TakeOverRequest, Timestamp,
    WriterId,
};

use super::ledger::{Book, Ledger};

const EVENTS_PER_CALL: u64 = 5_000;
const EVENTS_PER_WRITE: u64 = 1_000;

/// A journal on `file` that is ready.
pub(super) async fn journal(file: &Path) -> SqliteJournal {
    let options = SqliteOptions::new(file.to_str().unwrap());
    let journal = SqliteJournal::new(options).unwrap();
    journal.initialize().await.unwrap();
    journal
}

/// Stores this many events of one cent for each ledger; one without events leaves no trace.
pub(super) async fn store(file: &Path, ledgers: impl Iterator<Item = (u64, u64)>) {
    let payload = encoded_event().await;
    let journal = journal(file).await;
    let mut batch = Vec::new();
    let mut events = 0;
    for (ledger, count) in ledgers.filter(|(_, count)| *count > 0) {
        batch.push((ledger, count));
        events += count;
        if events >= EVENTS_PER_CALL {
            store_batch(&journal, &payload, std::mem::take(&mut batch)).await;
            events = 0;
        }
    }
    store_batch(&journal, &payload, batch).await;
}

async fn store_batch(journal: &SqliteJournal, payload: &Payload, batch: Vec<(u64, u64)>) {
    let writer = WriterId::random();
    let request = |ledger| TakeOverRequest {
        persistence_id: Ledger::id(ledger),
        writer,
    };
    let requests: Vec<_> = batch.iter().map(|(ledger, _)| request(*ledger)).collect();
    let recovered = journal.take_over(&requests).await.unwrap();
    let mut writes = Vec::new();
    let mut events = 0;
    for ((ledger, count), recovered) in batch.into_iter().zip(recovered) {
        for first in (1..=count).step_by(EVENTS_PER_WRITE as usize) {
            let numbers = first..=count.min(first + EVENTS_PER_WRITE - 1);
            let records = numbers.map(|number| {
                EventRecord::new(number, Timestamp::from_micros(7), writer, payload.clone())
            });
            let records: Vec<_> = records.collect();
            events += records.len() as u64;
            writes.push(AtomicWrite::new(Ledger::id(ledger), recovered.epoch, records).unwrap());
            if events >= EVENTS_PER_CALL {
                write(journal, std::mem::take(&mut writes)).await;
                events = 0;
            }
        }
    }
    write(journal, writes).await;
}

async fn write(journal: &SqliteJournal, writes: Vec<AtomicWrite>) {
    let outcomes = journal.write_messages(writes).await.unwrap();
    assert!(outcomes.iter().all(|outcome| outcome.is_stored()));
}

/// An event as a ledger encodes it.
pub(super) async fn encoded_event() -> Payload {
    let storage = MemoryStorage::new();
    let persistence = Persistence::builder()
        .journal("memory", Arc::new(storage.journal()))
        .open()
        .await
        .unwrap();
    let ledger = persistence.start(|| Ledger::new(0)).unwrap();
    ledger.send(Book).await.unwrap().unwrap();
    let page = storage
        .journal()
        .replay_messages(&Ledger::id(0), ReplayRange::ALL, PageLimit::DEFAULT)
        .await
        .unwrap();
    page.events[0].payload.clone()
}
