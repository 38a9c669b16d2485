//! A query of all events of a large journal.

use std::path::Path;
use std::time::Instant;

use actix::System;
use actix_persistence::Persistence;
use actix_persistence::query::{EventOffset, EventSelection};
use futures_util::TryStreamExt;
use sqlx::{Connection, SqliteConnection};

use super::ledger::{Booked, Ledger};
use super::{Scale, measured_process, stored_ledgers};

const SHORT: u64 = 10_000;
/// The number of ids, whose events alternate.
const LEDGERS: u64 = 10_000;
/// The most by which the length of the journal may raise the peak of memory.
const LIMIT_KIB: u64 = 16 * 1024;

/// Returns the number of events of the large journal, which would not fit into the limit. A million takes a debug build 15 seconds.
fn all_events() -> u64 {
    match Scale::from_environment() {
        Scale::Tenth => 250_000,
        Scale::Full => 10_000_000,
    }
}

#[test]
fn the_memory_of_a_query_does_not_grow_with_the_journal() {
    const NAME: &str =
        "recovery_at_scale::all_events::the_memory_of_a_query_does_not_grow_with_the_journal";
    if let Some((events, file)) = measured_process::scenario() {
        return System::new().block_on(read(events, &file));
    }
    // The name of the test may stand on this line.
    println!();
    let directory = tempfile::tempdir().unwrap();
    let peaks = [SHORT, all_events()].map(|events| {
        let file = directory.path().join(format!("{events}.db"));
        let start = Instant::now();
        System::new().block_on(store(&file, events));
        let stored = start.elapsed();
        let measured = measured_process::run(NAME, events, &file);
        assert_eq!(measured.get("events"), events);
        let peak = measured.peak_kib();
        println!(
            "{events:>9} events stored in {} ms, read in {} ms, peak memory {} KiB",
            stored.as_millis(),
            measured.get("ms"),
            peak.unwrap_or_default()
        );
        peak
    });
    if let [Some(of_short), Some(of_long)] = peaks {
        let more = of_long.saturating_sub(of_short);
        println!("{more} KiB more (at most {LIMIT_KIB})");
        assert!(more <= LIMIT_KIB, "{more} KiB more, {LIMIT_KIB} allowed");
    }
}

/// Stores events of all ledgers in turns by plain SQL, which is much faster than the journal.
async fn store(file: &Path, events: u64) {
    let payload = stored_ledgers::encoded_event().await;
    drop(stored_ledgers::journal(file).await);
    let url = format!("sqlite://{}", file.display());
    let mut connection = SqliteConnection::connect(&url).await.unwrap();
    let ids = "CREATE TEMP TABLE ledgers (nr INTEGER PRIMARY KEY, id TEXT, slice INTEGER)";
    sqlx::query(ids).execute(&mut connection).await.unwrap();
    let mut transaction = connection.begin().await.unwrap();
    for ledger in 0..LEDGERS {
        let id = Ledger::id(ledger);
        sqlx::query("INSERT INTO ledgers VALUES ($1, $2, $3)")
            .bind(ledger as i64)
            .bind(id.as_str())
            .bind(i64::from(id.slice()))
            .execute(&mut *transaction)
            .await
            .unwrap();
    }
    let insert = "WITH RECURSIVE places (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM places WHERE n + 1 < $1)
        INSERT INTO event_journal (persistence_id, sequence_nr, slice, timestamp, writer_uuid, serializer_id,
            event_manifest, adapter_manifest, payload)
        SELECT id, n / $2 + 1, slice, 7, zeroblob(16), $3, $4, '', $5 FROM places JOIN ledgers ON nr = n % $2";
    sqlx::query(insert)
        .bind(events as i64)
        .bind(LEDGERS as i64)
        .bind(i64::from(payload.serializer_id))
        .bind(&*payload.manifest)
        .bind(&*payload.bytes)
        .execute(&mut *transaction)
        .await
        .unwrap();
    transaction.commit().await.unwrap();
    connection.close().await.unwrap();
}

/// Reads all events once, each in its order.
async fn read(events: u64, file: &Path) {
    let persistence = Persistence::sqlite(file).await.unwrap();
    let start = Instant::now();
    let queries = persistence.event_queries(None).unwrap();
    let mut all = queries.current_events::<Booked>(EventSelection::all(), EventOffset::start());
    let mut count = 0;
    while let Some(event) = all.try_next().await.unwrap() {
        let (ledger, number) = (count % LEDGERS, count / LEDGERS + 1);
        assert_eq!(event.sequence_nr, number);
        if ledger == 0 {
            assert_eq!(event.persistence_id, Ledger::id(ledger));
        }
        count += 1;
    }
    assert_eq!(count, events);
    measured_process::report("ms", start.elapsed().as_millis() as u64);
    measured_process::report("events", count);
    measured_process::report_peak();
}
