//! The order of events for queries: docs/adr/0005-commit-order.md.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use actix_persistence_mysql::MysqlJournal;
use actix_persistence_storage_api::{
    AtomicWrite, EventOffset, EventSelection, EventsQuery, Journal, Partition, PersistenceId,
    StorageErrorKind, TakeOverRequest, WriterId,
};
use actix_persistence_tck::TakeOverOne;
use sqlx::{AssertSqlSafe, MySqlConnection};

use crate::database::execute;
use crate::place::{Place, id, store, write};
use crate::prepared::Prepared;

const PARTITIONS: usize = 8;

/// Reads every partition on from where it is, page by page, as a query that others build on does.
struct Reader {
    journal: MysqlJournal,
    offset: EventOffset,
    seen: BTreeSet<(String, i64)>,
}

impl Reader {
    async fn new(place: &Place) -> Self {
        Self {
            journal: place.journal().await,
            offset: EventOffset::start(),
            seen: BTreeSet::new(),
        }
    }

    /// Reads a page, and returns whether it was the last one; asks again if its session was ended.
    async fn read(&mut self, limit: usize) -> bool {
        let query = EventsQuery::new(EventSelection::all(), limit).after(self.offset.clone());
        let queries = self.journal.event_queries().expect("it has queries");
        let page = loop {
            match queries.events(query.clone()).await {
                Err(error) if error.kind().is_transient() => {}
                page => break page.unwrap(),
            }
        };
        for found in page.events {
            for (partition, at) in found.offset.positions() {
                let before = self.offset.position(partition);
                assert!(
                    before.is_none_or(|before| before <= at),
                    "an event comes too late"
                );
            }
            self.offset = found.offset;
            let id = found.persistence_id.as_str().to_owned();
            let is_new = self.seen.insert((id, found.event.sequence_nr as i64));
            assert!(is_new, "an event came twice");
        }
        self.offset = page.offset;
        !page.more
    }

    async fn read_all(&mut self) {
        while !self.read(1_000).await {}
    }
}

/// Takes over ids, writes to them in groups until something fails, and again, until enough pages were read meanwhile.
async fn write_in_groups(
    journal: Arc<MysqlJournal>,
    ids: Vec<PersistenceId>,
    pages: Arc<AtomicUsize>,
) {
    let mut written = 0;
    let enough = |written| written >= GROUPS && pages.load(Ordering::Acquire) >= PAGES;
    while !enough(written) {
        let writer = WriterId::random();
        let requests: Vec<_> = ids
            .iter()
            .map(|id| TakeOverRequest {
                persistence_id: id.clone(),
                writer,
            })
            .collect();
        let Ok(taken) = journal.take_over(&requests).await else {
            continue;
        };
        let mut next: Vec<_> = taken
            .iter()
            .map(|taken| (taken.epoch, taken.highest_sequence_nr + 1))
            .collect();
        while !enough(written) {
            written += 1;
            let mut writes: Vec<AtomicWrite> = Vec::new();
            for (id, (epoch, next)) in ids.iter().zip(&mut next) {
                if fastrand::bool() {
                    let last = *next + fastrand::u64(0..3);
                    writes.push(write(id, *epoch, writer, *next..=last));
                    *next = last + 1;
                }
            }
            let Ok(outcomes) = journal.write_messages(writes).await else {
                break;
            };
            assert!(outcomes.iter().all(|outcome| outcome.is_stored()));
        }
    }
}

/// Ends a session of the database, whatever it is doing.
pub(crate) async fn kill_some_session(connection: &mut MySqlConnection) {
    let victim: Option<i64> = sqlx::query_scalar(
        "SELECT CAST(id AS SIGNED) FROM information_schema.processlist \
         WHERE db = DATABASE() AND id <> CONNECTION_ID() AND info IS NOT NULL ORDER BY RAND() LIMIT 1",
    )
    .fetch_optional(&mut *connection)
    .await
    .unwrap();
    if let Some(victim) = victim {
        // It may have ended by itself, or be the reader, who is asked again.
        let _ = sqlx::raw_sql(AssertSqlSafe(format!("KILL {victim}")))
            .execute(connection)
            .await;
    }
}

const WRITERS: usize = 6;
const GROUPS: usize = 60;
const PAGES_BETWEEN_KILLS: usize = 20;
const PAGES: usize = 3 * PAGES_BETWEEN_KILLS;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_gets_every_event_once_in_order_while_groups_are_killed() {
    let place = Place::new().await;
    let running = Arc::new(AtomicUsize::new(WRITERS));
    let pages = Arc::new(AtomicUsize::new(0));
    let mut journal = Arc::new(place.journal().await);
    for writer in 0..WRITERS {
        if writer % 2 == 0 {
            // Each as another process.
            journal = Arc::new(place.journal().await);
        }
        let ids = (0..24).map(|number| id(&format!("{writer}-{number}")));
        let work = write_in_groups(Arc::clone(&journal), ids.collect(), Arc::clone(&pages));
        let running = Arc::clone(&running);
        tokio::spawn(async move {
            work.await;
            running.fetch_sub(1, Ordering::AcqRel);
        });
    }
    let mut reader = Reader::new(&place).await;
    let mut killer = place.connection().await;
    while running.load(Ordering::Acquire) > 0 {
        reader.read(fastrand::usize(1..50)).await;
        let read = pages.fetch_add(1, Ordering::AcqRel) + 1;
        if read.is_multiple_of(PAGES_BETWEEN_KILLS) {
            kill_some_session(&mut killer).await;
        }
    }
    reader.read_all().await;
    let stored = place.number("SELECT COUNT(*) FROM event_journal").await;
    assert_eq!(reader.seen.len() as i64, stored);
}

/// Stores an event in a transaction of its own after the other, until it is time; returns their number.
async fn append_one_by_one(
    journal: Arc<MysqlJournal>,
    id: PersistenceId,
    until: std::time::Instant,
) -> u64 {
    let writer = WriterId::random();
    let epoch = journal.take_over_one(&id, writer).await.unwrap().epoch;
    let mut stored = 0;
    while std::time::Instant::now() < until {
        let next = stored + 1;
        let writes = vec![write(&id, epoch, writer, next..=next)];
        let outcomes = journal.write_messages(writes).await.unwrap();
        assert!(outcomes[0].is_stored());
        stored = next;
    }
    stored
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_miss_no_event_beside_many_transactions_that_do_not_end() {
    let place = Arc::new(Place::new().await);
    let prepared = Prepared::new(&place, 2_000).await;
    let reading = tokio::spawn({
        let place = Arc::clone(&place);
        async move { read_beside_appends(&place).await }
    });
    let read = reading.await;
    prepared.roll_back(&place).await;
    read.unwrap();
}

/// Several write to one partition, each to an id of its own, and several read without a pause.
async fn read_beside_appends(place: &Place) {
    let until = std::time::Instant::now() + Duration::from_secs(4);
    let ids = (0..).map(|number: u32| id(&format!("w-{number}")));
    let ids = ids.filter(|id| partition_of(id) == 3).take(8);
    let mut writers = tokio::task::JoinSet::new();
    for id in ids {
        let journal = Arc::new(place.journal().await);
        writers.spawn(append_one_by_one(journal, id, until));
    }
    let mut readers = tokio::task::JoinSet::new();
    for _ in 0..3 {
        let mut reader = Reader::new(place).await;
        readers.spawn(async move {
            while std::time::Instant::now() < until {
                reader.read(50).await;
            }
            reader
        });
    }
    let stored: u64 = writers.join_all().await.into_iter().sum();
    for mut reader in readers.join_all().await {
        reader.read_all().await;
        assert_eq!(reader.seen.len() as u64, stored);
    }
}

#[tokio::test]
async fn events_that_are_deleted_are_not_read_while_their_rows_are_left() {
    let place = Place::new().await;
    let options = place
        .options()
        .with_store(|store| store.with_delete_chunk_events(2));
    let journal = place.journal_with(options).await;
    store(&journal, &id("a"), 9).await;
    store(&journal, &id("b"), 1).await;
    // As after a delete whose rows are still to be removed.
    let delete = "UPDATE journal_metadata SET deleted_to = 6 WHERE persistence_id = 'Test|a'";
    place.run(delete).await;
    // And of an id that was never taken over.
    place
        .run("DELETE FROM journal_metadata WHERE persistence_id = 'Test|b'")
        .await;
    let mut reader = Reader::new(&place).await;
    reader.read_all().await;
    let expected = [("Test|a", 7), ("Test|a", 8), ("Test|a", 9), ("Test|b", 1)];
    let expected: BTreeSet<_> = expected.map(|(id, number)| (id.to_owned(), number)).into();
    assert_eq!(reader.seen, expected);
}

/// An id of a partition.
pub(crate) fn id_in(partition: u16) -> PersistenceId {
    let ids = (0..).map(|number: u32| id(&number.to_string()));
    let mut found = ids.filter(|id| partition_of(id) == partition);
    found.next().unwrap()
}

/// The partition of an id, of those that tables have if nothing else was asked for.
pub(crate) fn partition_of(id: &PersistenceId) -> u16 {
    let partition = Partition::of_slice(id.slice(), PARTITIONS as u16);
    partition.unwrap().nr()
}

#[tokio::test]
async fn a_transaction_that_numbers_events_keeps_others_from_its_partition_only() {
    let place = Place::new().await;
    let options = place.options().with_server(|mut server| {
        server.lock_timeout = Duration::from_secs(1);
        server
    });
    let journal = place.journal_with(options).await;
    let (here, there) = (id_in(3), id_in(4));
    store(&journal, &here, 1).await;
    let mut other = place.connection().await;
    let number = "START TRANSACTION; UPDATE event_journal_ordering SET newest = newest + 1 WHERE partition_nr = 3";
    execute(&mut other, number).await;
    store(&journal, &there, 1).await;
    let writer = WriterId::random();
    let taken = journal.take_over_one(&here, writer).await.unwrap();
    let late = || vec![write(&here, taken.epoch, writer, 2..=2)];
    let error = journal.write_messages(late()).await.unwrap_err();
    assert_eq!(error.kind(), StorageErrorKind::Unavailable, "{error}");
    assert!(error.is_not_stored());
    // Whatever was taken back is given again.
    execute(&mut other, "ROLLBACK").await;
    assert!(journal.write_messages(late()).await.unwrap()[0].is_stored());
    let mut reader = Reader::new(&place).await;
    reader.read_all().await;
    assert_eq!(reader.seen.len(), 3);
}

#[tokio::test]
async fn a_group_over_all_partitions_numbers_each_of_them() {
    let place = Place::new().await;
    let journal = place.journal().await;
    let ids: Vec<_> = (0..8).map(id_in).collect();
    let writer = WriterId::random();
    for round in 1..=2 {
        let mut writes = Vec::new();
        for id in &ids {
            let epoch = journal.take_over_one(id, writer).await.unwrap().epoch;
            writes.push(write(id, epoch, writer, round..=round));
        }
        let outcomes = journal.write_messages(writes).await.unwrap();
        assert!(outcomes.iter().all(|outcome| outcome.is_stored()));
    }
    let mut reader = Reader::new(&place).await;
    reader.read_all().await;
    assert_eq!(reader.seen.len(), 16);
}
