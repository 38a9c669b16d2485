//! The order of events for queries: docs/adr/0005-commit-order.md.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use actix_persistence_postgres::PostgresJournal;
use actix_persistence_storage_api::{Journal, StorageErrorKind};
use sqlx::{AssertSqlSafe, PgConnection, Row};

use crate::database::{TestDatabase, execute};
use crate::place::{Place, assert_error, id, store};

const EVENTS: &str = include_str!("../../src/queries/events_by_ordering.sql");

/// An event by its place: ordering, id, number.
type Position = (i64, String, i64);

fn events() -> String {
    EVENTS
        .replace("{event_table}", "public.event_journal")
        .replace("{metadata_table}", "public.journal_metadata")
}

/// Reads on from where it is, page by page, as a query that others build on does.
struct Reader {
    connection: PgConnection,
    sql: String,
    at: Position,
    seen: Vec<Position>,
}

impl Reader {
    async fn new(place: &Place) -> Self {
        Self {
            connection: place.connection().await,
            sql: events(),
            at: (i64::MIN, String::new(), 0),
            seen: Vec::new(),
        }
    }

    /// Reads a page, and gives how many events it had.
    async fn read(&mut self, limit: i64) -> usize {
        let rows = sqlx::query(AssertSqlSafe(self.sql.clone()))
            .bind(self.at.0)
            .bind(&self.at.1)
            .bind(self.at.2)
            .bind(limit)
            .fetch_all(&mut self.connection)
            .await
            .unwrap();
        for row in &rows {
            let next: Position = (row.get(0), row.get(1), row.get(2));
            assert!(next > self.at, "{next:?} comes after {:?}", self.at);
            self.at = next.clone();
            self.seen.push(next);
        }
        rows.len()
    }

    /// Reads until there are this many; others on the server hold a reader back for as long as they write.
    async fn read_until(&mut self, number: usize) {
        while self.seen.len() < number {
            self.read(1_000).await;
        }
        assert_eq!(self.seen.len(), number);
    }

    fn numbers(&self) -> Vec<i64> {
        self.seen.iter().map(|(_, _, number)| *number).collect()
    }
}

/// A row as the journal makes it, but in any transaction.
fn insert(id: &str, number: u64) -> String {
    format!(
        "INSERT INTO event_journal (persistence_id, sequence_nr, slice, timestamp, writer_uuid, serializer_id, \
         event_manifest, adapter_manifest, tag_count, payload) \
         VALUES ('{id}', {number}, 0, 0, decode(repeat('00', 16), 'hex'), 1, 'm', '', 0, '')"
    )
}

/// A random walk through transactions: of one statement or many, with steps taken back, given up, or left open.
async fn write_at_random(
    mut connection: PgConnection,
    id: String,
    transactions: usize,
) -> BTreeSet<(String, i64)> {
    let mut committed = BTreeSet::new();
    let mut next = 1;
    for _ in 0..transactions {
        let mut mine = Vec::new();
        execute(&mut connection, "BEGIN").await;
        for _ in 0..fastrand::usize(1..5) {
            match fastrand::u8(0..6) {
                0 => {
                    execute(&mut connection, "SAVEPOINT step").await;
                    execute(&mut connection, insert(&id, next)).await;
                    execute(&mut connection, "ROLLBACK TO step").await;
                }
                1 => {
                    execute(&mut connection, "SAVEPOINT step").await;
                    execute(&mut connection, insert(&id, next)).await;
                    execute(&mut connection, "RELEASE step").await;
                    mine.push(next);
                    next += 1;
                }
                2 => {
                    let pause = format!("SELECT pg_sleep({})", fastrand::f64() * 0.005);
                    execute(&mut connection, pause).await;
                }
                _ => {
                    execute(&mut connection, insert(&id, next)).await;
                    mine.push(next);
                    next += 1;
                }
            }
        }
        if fastrand::u8(0..5) == 0 {
            execute(&mut connection, "ROLLBACK").await;
        } else {
            execute(&mut connection, "COMMIT").await;
            committed.extend(mine.into_iter().map(|number| (id.clone(), number as i64)));
        }
    }
    committed
}

const WRITERS: usize = 6;
const TRANSACTIONS: usize = 200;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_gets_every_event_once_in_order_while_transactions_commit() {
    let place = Place::new().await;
    let journal = Arc::new(place.journal().await);
    let mut writers = Vec::new();
    let running = Arc::new(AtomicUsize::new(WRITERS + 1));
    for writer in 0..WRITERS {
        let connection = place.connection().await;
        let running = Arc::clone(&running);
        writers.push(tokio::spawn(async move {
            let written = write_at_random(connection, format!("Raw|{writer}"), TRANSACTIONS).await;
            running.fetch_sub(1, Ordering::AcqRel);
            written
        }));
    }
    writers.push(tokio::spawn({
        let (journal, running) = (Arc::clone(&journal), Arc::clone(&running));
        async move {
            for _ in 0..TRANSACTIONS {
                store(&*journal, &id("journal"), fastrand::u64(1..5)).await;
            }
            running.fetch_sub(1, Ordering::AcqRel);
            let highest = journal
                .read_highest_sequence_nr(&id("journal"))
                .await
                .unwrap();
            (1..=highest as i64)
                .map(|number| ("Test|journal".to_owned(), number))
                .collect()
        }
    }));

    let mut reader = Reader::new(&place).await;
    let mut pages = 0;
    while running.load(Ordering::Acquire) > 0 {
        reader.read(fastrand::i64(1..20)).await;
        pages += 1;
    }
    let mut expected = BTreeSet::new();
    for writer in writers {
        expected.append(&mut writer.await.unwrap());
    }
    reader.read_until(expected.len()).await;

    // It went forward only, so nothing came twice; whatever came late is missing now.
    let seen: BTreeSet<_> = reader
        .seen
        .iter()
        .map(|(_, id, number)| (id.clone(), *number))
        .collect();
    assert_eq!(seen, expected);
    assert!(
        pages > TRANSACTIONS,
        "only {pages} pages were read meanwhile"
    );
}

/// Reads as a reader would that knows nothing of transactions under way: it shows that the test above can fail.
#[tokio::test]
async fn a_reader_without_the_bound_would_miss_an_event_that_commits_late() {
    let place = Place::new().await;
    let _journal = place.journal().await;
    let (mut early, mut late) = (place.connection().await, place.connection().await);
    execute(&mut late, format!("BEGIN; {}", insert("Late|1", 1))).await;
    execute(&mut early, insert("Early|1", 2)).await;
    let mut naive = Reader::new(&place).await;
    naive.sql = naive.sql.replace(
        "pg_snapshot_xmin(pg_current_snapshot())::text::bigint",
        "9223372036854775807",
    );
    naive.read(10).await;
    let mut reader = Reader::new(&place).await;
    assert_eq!(
        reader.read(10).await,
        0,
        "what is after an open transaction waits"
    );
    execute(&mut late, "COMMIT").await;
    naive.read(10).await;
    assert_eq!(naive.numbers(), [2]);
    reader.read_until(2).await;
    assert_eq!(reader.numbers(), [1, 2]);
}

#[tokio::test]
async fn a_transaction_anywhere_on_the_server_holds_back_readers_only() {
    let place = Place::new().await;
    let journal = place.journal().await;
    store(&journal, &id("a"), 1).await;
    let elsewhere = TestDatabase::create().await;
    let mut long = elsewhere.connect().await;
    execute(
        &mut long,
        "CREATE TABLE theirs (a int); BEGIN; INSERT INTO theirs VALUES (1)",
    )
    .await;
    store(&journal, &id("a"), 2).await;
    let mut reader = Reader::new(&place).await;
    reader.read_until(1).await;
    assert_eq!(reader.read(10).await, 0);
    execute(&mut long, "ROLLBACK").await;
    reader.read_until(3).await;
    assert_eq!(reader.numbers(), [1, 2, 3]);
}

#[tokio::test]
async fn a_transaction_that_only_reads_holds_no_reader_back() {
    let place = Place::new().await;
    let journal = place.journal().await;
    let mut long = place.connection().await;
    execute(
        &mut long,
        "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM event_journal",
    )
    .await;
    store(&journal, &id("a"), 2).await;
    Reader::new(&place).await.read_until(2).await;
    execute(&mut long, "ROLLBACK").await;
}

#[tokio::test]
async fn savepoints_share_one_number_and_rolled_back_ones_leave_nothing() {
    let place = Place::new().await;
    let _journal = place.journal().await;
    let mut connection = place.connection().await;
    let sql = format!(
        "BEGIN; SAVEPOINT a; {}; RELEASE a; SAVEPOINT b; {}; ROLLBACK TO b; SAVEPOINT c; {}; COMMIT",
        insert("A|1", 1),
        insert("A|1", 2),
        insert("A|1", 3)
    );
    execute(&mut connection, sql).await;
    execute(
        &mut connection,
        format!("BEGIN; {}; ROLLBACK", insert("A|1", 4)),
    )
    .await;
    execute(&mut connection, insert("A|1", 5)).await;
    let mut reader = Reader::new(&place).await;
    reader.read_until(3).await;
    assert_eq!(reader.numbers(), [1, 3, 5]);
    assert_eq!(reader.seen[0].0, reader.seen[1].0);
    assert!(reader.seen[1].0 < reader.seen[2].0);
}

#[tokio::test]
async fn events_that_are_deleted_are_not_read_while_their_rows_are_left() {
    let place = Place::new().await;
    let journal = place.journal().await;
    store(&journal, &id("a"), 9).await;
    // As after a delete whose rows are still to be removed.
    let delete = "UPDATE journal_metadata SET deleted_to = 6 WHERE persistence_id = 'Test|a'";
    place.run(delete).await;
    // And of an id that was never taken over.
    place.run(insert("Other|a", 1)).await;
    let mut reader = Reader::new(&place).await;
    reader.read_until(4).await;
    assert_eq!(reader.numbers(), [7, 8, 9, 1]);
}

/// The dump does not hold the events that a reader has of them, either.
#[tokio::test]
async fn events_that_were_removed_before_a_dump_are_remembered_by_their_numbers() {
    let place = Place::new().await;
    let options = place.options();
    let options = options.with_store(|store| store.with_delete_chunk_events(2));
    let journal = place.journal_with(options).await;
    for name in ["a", "b"] {
        store(&journal, &id(name), 3).await;
        store(&journal, &id(name), 2).await;
    }
    let highest = "SELECT max(ordering) FROM event_journal";
    let highest = place.number(highest).await;
    for name in ["b", "a"] {
        journal
            .delete_messages_to(&id(name), 5.into())
            .await
            .unwrap();
    }
    const LEFT: &str = "SELECT count(*) FROM event_journal";
    while place.number(LEFT).await > 0 {
        tokio::task::yield_now().await;
    }
    const KEPT: &str = "SELECT max(ordering) FROM event_journal_removed";
    assert_eq!(place.number(KEPT).await, highest);
    // The lower ones are forgotten, but for those that somebody was about to remove.
    const KEPT_ROWS: &str = "SELECT count(*) FROM event_journal_removed";
    assert!(place.number(KEPT_ROWS).await <= 2);
    place
        .run("UPDATE event_journal_removed SET ordering = ordering + 1000000000000")
        .await;
    let error = journal.initialize().await.unwrap_err();
    assert_error(&error, StorageErrorKind::SchemaMismatch, "as after a dump");
    let text = error.to_string();
    let (_, statements) = text.split_once("then run: ").unwrap();
    let (statements, _) = statements.rsplit_once("; and lower").unwrap();
    place.run(statements).await;
    journal.initialize().await.unwrap();
}

/// A dump keeps the numbers of the transactions of the server where it was made.
#[tokio::test]
async fn restored_events_with_too_high_numbers_are_refused_until_renumbered() {
    let place = Place::new().await;
    let journal = place.journal().await;
    store(&journal, &id("a"), 1).await;
    store(&journal, &id("a"), 1).await;
    drop(journal);
    place
        .run("UPDATE event_journal SET ordering = ordering + 1000000000000")
        .await;
    let journal = PostgresJournal::new(place.options()).unwrap();
    let error = journal.initialize().await.unwrap_err();
    assert_error(&error, StorageErrorKind::SchemaMismatch, "as after a dump");
    let text = error.to_string();
    let start = text.find("UPDATE").unwrap();
    let statements = &text[start..text.rfind("; and lower").unwrap()];
    place.run(statements).await;
    journal.initialize().await.unwrap();
    store(&journal, &id("a"), 1).await;
    let mut reader = Reader::new(&place).await;
    reader.read_until(3).await;
    assert_eq!(reader.numbers(), [1, 2, 3]);
}

#[tokio::test]
async fn events_by_ordering_are_found_by_their_index_and_page_by_page() {
    let place = Place::new().await;
    let journal = place.journal().await;
    store(&journal, &id("a"), 5).await;
    store(&journal, &id("b"), 3).await;
    let mut connection = place.connection().await;
    execute(&mut connection, "SET enable_seqscan = off").await;
    let sql = events();
    let plan: Vec<String> = sqlx::query_scalar(AssertSqlSafe(format!("EXPLAIN {sql}")))
        .bind(0_i64)
        .bind("")
        .bind(0_i64)
        .bind(10_i64)
        .fetch_all(&mut connection)
        .await
        .unwrap();
    let plan = plan.join("\n");
    assert!(plan.contains("event_journal_ordering"), "{plan}");
    let mut reader = Reader::new(&place).await;
    for _ in 0..8 {
        while reader.read(1).await == 0 {}
    }
    assert_eq!(reader.numbers(), [1, 2, 3, 4, 5, 1, 2, 3]);
}
