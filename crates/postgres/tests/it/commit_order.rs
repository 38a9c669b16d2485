//! The order of events for queries: docs/adr/0014-base-and-bound.md.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use actix_persistence_storage_api::{Journal, PurgeProgress};
use sqlx::{AssertSqlSafe, PgConnection, Row};

use crate::database::{TestDatabase, execute};
use crate::event_reader::{ANNOUNCE, RAISE_BASE, Reader, insert};
use crate::place::{Place, id, store};

/// Runs a statement; false if the session is ended by another.
async fn lives(connection: &mut PgConnection, sql: impl Into<String>) -> bool {
    let sql = sqlx::raw_sql(AssertSqlSafe(sql.into()));
    match sql.execute(connection).await {
        Ok(_) => true,
        Err(sqlx::Error::Database(error)) => match error.code().as_deref() {
            Some("57P01") => false,
            _ => panic!("{error}"),
        },
        Err(_) => false,
    }
}

/// The numbers of an id that were given to events, whether or not they were committed.
struct Walk<'a> {
    id: &'a str,
    next: u64,
}

impl Walk<'_> {
    fn insert(&mut self) -> String {
        self.next += 1;
        insert(self.id, self.next)
    }

    /// Makes a transaction of one statement or many, with steps taken back; returns the last statement of it, or `None` if
    /// its session was ended.
    async fn transaction(&mut self, connection: &mut PgConnection) -> Option<&'static str> {
        let named = "SET LOCAL application_name = 'walker'".to_owned();
        let mut sql = vec!["BEGIN".to_owned(), named, ANNOUNCE.to_owned()];
        for _ in 0..fastrand::usize(1..5) {
            match fastrand::u8(0..6) {
                0 => sql.extend(["SAVEPOINT a".into(), self.insert(), "ROLLBACK TO a".into()]),
                1 => sql.extend(["SAVEPOINT a".into(), self.insert(), "RELEASE a".into()]),
                2 => sql.push(format!("SELECT pg_sleep({})", fastrand::f64() * 0.005)),
                _ => sql.push(self.insert()),
            }
        }
        for sql in sql {
            if !lives(connection, sql).await {
                return None;
            }
        }
        let last = if fastrand::u8(0..5) == 0 {
            "ROLLBACK"
        } else {
            "COMMIT"
        };
        lives(connection, last).await.then_some(last)
    }
}

/// Makes transactions, on a new connection whenever a session was ended, until enough were committed and enough pages were
/// read meanwhile.
async fn write_at_random(place: &Place, id: String, pages: &AtomicUsize) {
    let mut walk = Walk { id: &id, next: 0 };
    let mut connection = place.connection().await;
    let mut committed = 0;
    while committed < TRANSACTIONS || pages.load(Ordering::Acquire) < PAGES {
        match walk.transaction(&mut connection).await {
            Some(last) => committed += usize::from(last == "COMMIT"),
            None => connection = place.connection().await,
        }
    }
}

/// A writer that is under way, whatever it ends with.
struct Running(Arc<AtomicUsize>);

impl Running {
    fn of(all: &Arc<AtomicUsize>) -> Self {
        all.fetch_add(1, Ordering::AcqRel);
        Self(Arc::clone(all))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Ends the session of a writer now and then, and raises the base.
async fn disturb(place: &Place, writers: &AtomicUsize) {
    const END: &str = "SELECT count(pg_terminate_backend(pid)) FROM (SELECT pid FROM pg_stat_activity \
        WHERE datname = current_database() AND application_name = 'walker' AND xact_start IS NOT NULL \
        ORDER BY random() LIMIT 1) AS one";
    while writers.load(Ordering::Acquire) > 0 {
        place.run(END).await;
        place.run(RAISE_BASE).await;
        place.run("SELECT pg_sleep(0.05)").await;
    }
}

const WRITERS: usize = 6;
const TRANSACTIONS: usize = 150;
const PAGES: usize = 200;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_gets_every_event_once_in_order_while_transactions_commit() {
    let place = Arc::new(Place::new().await);
    let journal = Arc::new(place.journal().await);
    // It has a number from the start and stores nothing: no reader waits for it.
    let mut idle = place.connection().await;
    execute(&mut idle, "BEGIN; SELECT pg_current_xact_id()").await;
    let all = Arc::new(AtomicUsize::new(0));
    let pages = Arc::new(AtomicUsize::new(0));
    let mut writers = Vec::new();
    for writer in 0..WRITERS {
        let (place, running) = (Arc::clone(&place), Running::of(&all));
        let pages = Arc::clone(&pages);
        writers.push(tokio::spawn(async move {
            let _running = running;
            write_at_random(&place, format!("Raw|{writer}"), &pages).await;
        }));
    }
    writers.push(tokio::spawn({
        let (journal, running) = (Arc::clone(&journal), Running::of(&all));
        async move {
            let _running = running;
            for _ in 0..TRANSACTIONS {
                store(&*journal, &id("journal"), fastrand::u64(1..5)).await;
            }
        }
    }));
    let disturbing = tokio::spawn({
        let (place, all) = (Arc::clone(&place), Arc::clone(&all));
        async move { disturb(&place, &all).await }
    });

    let mut reader = Reader::new(&place);
    while all.load(Ordering::Acquire) > 0 {
        reader.read(fastrand::usize(1..20)).await;
        pages.fetch_add(1, Ordering::AcqRel);
    }
    for writer in writers {
        writer.await.unwrap();
    }
    disturbing.await.unwrap();
    // Nothing else is under way.
    while reader.read(1_000).await > 0 {}
    execute(&mut idle, "ROLLBACK").await;

    // It went forward only, so nothing came twice; whatever came late is missing now.
    let seen: BTreeSet<_> = reader
        .seen
        .iter()
        .map(|(_, id, number)| (id, number))
        .collect();
    let rows = sqlx::query("SELECT persistence_id, sequence_nr FROM event_journal");
    let rows = rows.fetch_all(&mut idle).await.unwrap();
    let rows: Vec<(String, i64)> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
    let expected: BTreeSet<_> = rows.iter().map(|(id, number)| (id, number)).collect();
    assert_eq!(seen, expected);
}

/// Reads as a reader would that knows nothing of transactions under way: it shows that the test above can fail.
#[tokio::test]
async fn a_reader_without_the_bound_would_miss_an_event_that_commits_late() {
    let place = Place::new().await;
    let _journal = place.journal().await;
    let (mut early, mut late) = (place.connection().await, place.connection().await);
    execute(
        &mut late,
        format!("BEGIN; {ANNOUNCE}; {}", insert("Late|1", 1)),
    )
    .await;
    execute(
        &mut early,
        format!("BEGIN; {ANNOUNCE}; {}; COMMIT", insert("Early|1", 2)),
    )
    .await;
    let naive = "SELECT sequence_nr FROM event_journal ORDER BY ordering DESC LIMIT 1";
    assert_eq!(place.number(naive).await, 2);
    let mut reader = Reader::new(&place);
    assert_eq!(
        reader.read(10).await,
        0,
        "what is after an open transaction waits"
    );
    execute(&mut late, "COMMIT").await;
    // It is not above what was read, where a reader without the bound goes on.
    assert_eq!(place.number(naive).await, 2);
    reader.read_until(2).await;
    assert_eq!(reader.numbers(), [1, 2]);
}

/// An announced transaction may store its first event long afterwards.
#[tokio::test]
async fn a_transaction_that_is_announced_holds_readers_back_from_then_on() {
    let place = Place::new().await;
    let journal = place.journal().await;
    let mut late = place.connection().await;
    execute(
        &mut late,
        format!("BEGIN; {ANNOUNCE}; SELECT pg_current_xact_id()"),
    )
    .await;
    store(&journal, &id("a"), 2).await;
    let mut reader = Reader::new(&place);
    assert_eq!(reader.read(10).await, 0);
    execute(&mut late, format!("{}; COMMIT", insert("Late|1", 3))).await;
    reader.read_until(3).await;
    assert_eq!(reader.numbers(), [3, 1, 2]);
}

/// Those of programs that know nothing of this: an exactly-once projection, a report, a migration.
#[tokio::test]
async fn transactions_that_store_no_events_hold_no_reader_back() {
    let place = Place::new().await;
    let journal = place.journal().await;
    store(&journal, &id("a"), 1).await;
    let elsewhere = TestDatabase::create().await;
    let mut others = [
        elsewhere.connect().await,
        place.connection().await,
        place.connection().await,
    ];
    for other in &mut others[..2] {
        let writes = "CREATE TABLE theirs (a int); BEGIN; INSERT INTO theirs VALUES (1)";
        execute(other, writes).await;
    }
    let reads = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM event_journal";
    execute(&mut others[2], reads).await;
    store(&journal, &id("a"), 2).await;
    let mut reader = Reader::new(&place);
    assert_eq!(reader.read(10).await, 3);
    for other in &mut others {
        execute(other, "ROLLBACK").await;
    }
}

/// The reader's own event is confirmed, because it is below the transaction that is under way; the other one is above it.
/// Other transactions of the server may keep an event from being confirmed, so there are several rounds.
#[tokio::test]
async fn a_confirmed_page_says_that_there_is_more_above_an_idle_transaction() {
    const ROUNDS: usize = 10;
    let place = Place::new().await;
    let other = place.journal().await;
    let mut reader = Reader::new(&place);
    reader.read_to_the_end().await;
    for round in 1..=ROUNDS {
        store(&reader.journal, &id("own"), 1).await;
        let mut idle = place.connection().await;
        execute(&mut idle, "BEGIN; SELECT pg_current_xact_id()").await;
        store(&other, &id("other"), 1).await;
        reader.read_to_the_end().await;
        assert_eq!(reader.seen.len(), 2 * round);
        execute(&mut idle, "ROLLBACK").await;
    }
}

/// The reader's own event is above a writer that is under way, and is not confirmed; the purged one is below that writer.
#[tokio::test]
async fn a_confirmed_page_passes_what_was_purged_below_a_writer() {
    const ROUNDS: usize = 10;
    let place = Place::new().await;
    let other = place.journal().await;
    let mut reader = Reader::new(&place);
    for _ in 0..ROUNDS {
        reader.read_to_the_end().await;
        store(&other, &id("purged"), 1).await;
        while other.purge(&id("purged")).await.unwrap() != PurgeProgress::Done {}
        // Numbers of transactions that store nothing are no places.
        place.run("SELECT pg_current_xact_id()").await;
        let mut writer = place.connection().await;
        execute(
            &mut writer,
            format!("BEGIN; {ANNOUNCE}; SELECT pg_current_xact_id()"),
        )
        .await;
        store(&reader.journal, &id("own"), 1).await;
        reader.read_to_the_end().await;
        let mut new = Reader::new(&place);
        new.read_to_the_end().await;
        assert!(
            reader.offset.has_reached(&new.offset),
            "{} before {}",
            reader.offset,
            new.offset
        );
        assert!(
            new.offset.has_reached(&reader.offset),
            "{} after {}",
            reader.offset,
            new.offset
        );
        execute(&mut writer, "ROLLBACK").await;
    }
}

/// Of an announcement in another database; of an exclusive lock with the same key; of keys of another form.
#[tokio::test]
async fn locks_of_others_hold_no_reader_back() {
    let place = Place::new().await;
    let journal = place.journal().await;
    let elsewhere = TestDatabase::create().await;
    let mut others = [elsewhere.connect().await, place.connection().await];
    execute(&mut others[0], format!("BEGIN; {ANNOUNCE}")).await;
    let locks = "SELECT pg_advisory_lock((1::bigint << 48) | 5), pg_advisory_lock_shared(65536, 5), \
                 pg_advisory_lock_shared(5)";
    execute(&mut others[1], locks).await;
    store(&journal, &id("a"), 2).await;
    assert_eq!(Reader::new(&place).read(10).await, 2);
}

/// A lock with the key of an announcement may be held for ever; then transactions under way are what bounds readers.
#[tokio::test]
async fn a_lock_that_is_never_released_stops_no_reader() {
    let place = Place::new().await;
    let journal = place.journal().await;
    let mut other = place.connection().await;
    execute(
        &mut other,
        "SELECT pg_advisory_lock_shared((1::bigint << 48) | 5)",
    )
    .await;
    store(&journal, &id("a"), 2).await;
    // Until no transaction of the server is under way that is older.
    Reader::new(&place).read_until(2).await;
}

#[tokio::test]
async fn a_prepared_transaction_holds_readers_back_until_it_ends() {
    let place = Place::new().await;
    let journal = place.journal().await;
    let mut late = place.connection().await;
    let gid = place.database.name();
    let sql = format!(
        "BEGIN; {ANNOUNCE}; {}; PREPARE TRANSACTION '{gid}'",
        insert("Late|1", 1)
    );
    execute(&mut late, sql).await;
    drop(late);
    store(&journal, &id("a"), 2).await;
    let mut reader = Reader::new(&place);
    assert_eq!(reader.read(10).await, 0);
    place.run(format!("COMMIT PREPARED '{gid}'")).await;
    reader.read_until(3).await;
    assert_eq!(reader.numbers(), [1, 1, 2]);
}

#[tokio::test]
async fn savepoints_share_one_number_and_rolled_back_ones_leave_nothing() {
    let place = Place::new().await;
    let _journal = place.journal().await;
    let mut connection = place.connection().await;
    let sql = format!(
        "BEGIN; {ANNOUNCE}; SAVEPOINT a; {}; RELEASE a; SAVEPOINT b; {}; ROLLBACK TO b; SAVEPOINT c; {}; COMMIT",
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
    let mut reader = Reader::new(&place);
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
    let mut reader = Reader::new(&place);
    reader.read_until(4).await;
    assert_eq!(reader.numbers(), [7, 8, 9, 1]);
}

/// Whatever else the table holds: a page of a type or of a few slices is found in an index that has all it asks for.
#[tokio::test]
async fn events_of_a_type_or_of_few_slices_are_found_among_many_others() {
    let place = Place::new().await;
    let _journal = place.journal().await;
    let rows = "INSERT INTO event_journal (persistence_id, sequence_nr, ordering, slice, timestamp, writer_uuid, \
        serializer_id, event_manifest, adapter_manifest, tag_count, payload) \
        SELECT CASE WHEN n % 1000 = 0 THEN 'Rare|' ELSE 'Usual|' END || n, 1, n, n % 1024, 0, '', 1, 'm', '', 0, '' \
        FROM generate_series(1, 20000) AS n";
    place.run(rows).await;
    place.run("VACUUM ANALYZE event_journal").await;
    let mut connection = place.connection().await;
    execute(&mut connection, "SET enable_seqscan = off").await;
    for (condition, index, rows) in [
        ("entity_type = 'Rare'", "event_journal_by_type", 20),
        ("slice BETWEEN 0 AND 0", "event_journal_by_ordering", 19),
    ] {
        let sql = format!(
            "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) SELECT * FROM event_journal \
             WHERE ordering > 0 AND {condition} ORDER BY ordering LIMIT 1000"
        );
        let plan = sqlx::raw_sql(AssertSqlSafe(sql)).fetch_all(&mut connection);
        let plan: Vec<String> = plan.await.unwrap().iter().map(|row| row.get(0)).collect();
        let plan = plan.join("\n");
        assert!(
            plan.contains(index) && !plan.contains("Rows Removed"),
            "{plan}"
        );
        assert!(plan.contains(&format!("actual rows={rows} ")), "{plan}");
    }
}
