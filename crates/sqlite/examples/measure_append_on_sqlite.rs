//! Measures what storing in groups costs: `cargo run --release --example measure_append_on_sqlite [IDS] [SECONDS]`.
//!
//! Every variant appends single events of 200 bytes to ever other ids in groups, one transaction each, to a file of
//! its own in the temporary directory; what is printed is events per second and the ratio to a bare insert of 100
//! rows in a statement. `written` and `derived` are the two ways to know the highest number of an id
//! (`docs/adr/0002-sqlite-highest-sequence-nr.md`), with the statements of the journal but without its code.
#![allow(clippy::unwrap_used, clippy::print_stdout)] // a tool for people, not part of the crate

use std::path::Path;
use std::time::{Duration, Instant};

use actix_persistence_sqlite::{SqliteJournal, SqliteOptions};
use actix_persistence_storage_api::{
    AtomicWrite, EventRecord, Journal, Payload, PersistenceId, TakeOverRequest, Timestamp,
    WriteOutcome, WriterId,
};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{AssertSqlSafe, ConnectOptions, SqliteConnection};

const ROUNDS: usize = 7;
const ROWS: usize = 100;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Variant {
    /// Rows into a table with a unique key, nothing else.
    Bare,
    /// The journal's rows, with ordering numbers that may be used again.
    OwnRows,
    /// The same, with AUTOINCREMENT.
    OwnRowsAutoincrement,
    /// And a check of epoch and highest number, which is the maximum of the events.
    Derived,
    /// And a check against a number that every append writes.
    Written,
    /// This crate's journal.
    Journal,
}

struct Load {
    ids: Vec<PersistenceId>,
    numbers: Vec<i64>,
    next: usize,
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let ids = arguments
        .next()
        .map_or(10_000, |text| text.parse().unwrap());
    let seconds = arguments.next().map_or(1.0, |text| text.parse().unwrap());
    let time = Duration::from_secs_f64(seconds);
    let variants = [
        Variant::Bare,
        Variant::OwnRows,
        Variant::OwnRowsAutoincrement,
        Variant::Derived,
        Variant::Written,
        Variant::Journal,
    ];
    println!("{ids} ids, medians of {ROUNDS} rounds of {seconds} s");
    for group in [1, 100, 1_000] {
        let mut rates = vec![Vec::new(); variants.len()];
        for _ in 0..ROUNDS {
            for (variant, rates) in variants.iter().zip(&mut rates) {
                rates.push(rate(*variant, ids, group, time).await);
            }
        }
        let medians: Vec<f64> = rates.iter_mut().map(|rates| median(rates)).collect();
        for (variant, median) in variants.iter().zip(&medians) {
            let ratio = median / medians[0];
            println!("group of {group:>5}  {variant:<22?} {median:>8.0}/s  {ratio:.2}");
        }
    }
}

fn median(rates: &mut [f64]) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

async fn rate(variant: Variant, ids: usize, group: usize, time: Duration) -> f64 {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("measured.db");
    let load = Load {
        // A walk through all ids that does not follow their order.
        ids: (0..ids)
            .map(|i| PersistenceId::of("Account", &format!("{:08}", i * 7_919 % ids)))
            .collect(),
        numbers: vec![0; ids],
        next: 0,
    };
    match variant {
        Variant::Journal => journal_rate(&path, load, group, time).await,
        _ => statement_rate(variant, &path, load, group, time).await,
    }
}

impl Load {
    /// The next ids of a group with their next numbers.
    fn group(&mut self, size: usize) -> Vec<(PersistenceId, i64)> {
        let picked = (0..size).map(|_| {
            let at = self.next % self.ids.len();
            self.next += 1;
            self.numbers[at] += 1;
            (self.ids[at].clone(), self.numbers[at])
        });
        picked.collect()
    }
}

async fn journal_rate(path: &Path, mut load: Load, group: usize, time: Duration) -> f64 {
    let journal = SqliteJournal::new(SqliteOptions::new(path.to_str().unwrap())).unwrap();
    journal.initialize().await.unwrap();
    let writer = WriterId::random();
    for ids in load.ids.chunks(1_000) {
        let requests: Vec<_> = ids
            .iter()
            .map(|id| TakeOverRequest {
                persistence_id: id.clone(),
                writer,
            })
            .collect();
        journal.take_over(&requests).await.unwrap();
    }
    let start = Instant::now();
    let mut events = 0;
    while start.elapsed() < time {
        let writes: Vec<_> = load
            .group(group)
            .into_iter()
            .map(|(id, number)| {
                let payload = Payload::new(1, "bank.account:v1", vec![1; 200]);
                let event = EventRecord::new(number as u64, Timestamp::now(), writer, payload);
                AtomicWrite::new(id, 1, vec![event]).unwrap()
            })
            .collect();
        let outcomes = journal.write_messages(writes).await.unwrap();
        assert!(outcomes.iter().all(WriteOutcome::is_stored));
        events += group;
    }
    events as f64 / start.elapsed().as_secs_f64()
}

async fn statement_rate(
    variant: Variant,
    path: &Path,
    mut load: Load,
    group: usize,
    time: Duration,
) -> f64 {
    let mut connection = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .disable_statement_logging()
        .connect()
        .await
        .unwrap();
    make_tables(variant, &mut connection, &load).await;
    let start = Instant::now();
    let mut events = 0;
    while start.elapsed() < time {
        let picked = load.group(group);
        execute(&mut connection, "BEGIN IMMEDIATE").await;
        for rows in picked.chunks(ROWS) {
            if matches!(variant, Variant::Derived | Variant::Written) {
                check(variant, &mut connection, rows).await;
            }
            if variant == Variant::Written {
                raise(&mut connection, rows).await;
            }
            insert(variant, &mut connection, rows).await;
        }
        execute(&mut connection, "COMMIT").await;
        events += group;
    }
    events as f64 / start.elapsed().as_secs_f64()
}

async fn execute(connection: &mut SqliteConnection, sql: &'static str) {
    sqlx::query(sql).execute(connection).await.unwrap();
}

async fn make_tables(variant: Variant, connection: &mut SqliteConnection, load: &Load) {
    if variant == Variant::Bare {
        let sql = "CREATE TABLE events (ordering INTEGER PRIMARY KEY, persistence_id TEXT NOT NULL, \
            sequence_nr INTEGER NOT NULL, timestamp INTEGER NOT NULL, serializer_id INTEGER NOT NULL, \
            manifest TEXT NOT NULL, writer_uuid BLOB NOT NULL, payload BLOB NOT NULL, \
            UNIQUE (persistence_id, sequence_nr))";
        return execute(connection, sql).await;
    }
    let tables = include_str!("../migrations/0001_journal.sql")
        .replace("{event_table}", "events")
        .replace("{tag_table}", "tags")
        .replace("{tag_index}", "tag_index")
        .replace("{metadata_table}", "metadata")
        .replace("{unswept_index}", "unswept_index");
    let tables = match variant {
        Variant::OwnRows => tables.replace("PRIMARY KEY AUTOINCREMENT", "PRIMARY KEY"),
        _ => tables,
    };
    sqlx::raw_sql(AssertSqlSafe(tables))
        .execute(&mut *connection)
        .await
        .unwrap();
    execute(connection, "BEGIN").await;
    for id in &load.ids {
        sqlx::query("INSERT INTO metadata VALUES (?, 0, 0, 0, 1, zeroblob(16))")
            .bind(id.as_str())
            .execute(&mut *connection)
            .await
            .unwrap();
    }
    execute(connection, "COMMIT").await;
}

/// Finds ids with another epoch or highest number; there are none.
async fn check(variant: Variant, connection: &mut SqliteConnection, rows: &[(PersistenceId, i64)]) {
    let highest = match variant {
        Variant::Written => "m.highest",
        _ => {
            "MAX(m.highest, COALESCE((SELECT MAX(sequence_nr) FROM events AS e \
              WHERE e.persistence_id = v.column1), 0))"
        }
    };
    let values = values(3, rows.len());
    let sql = format!(
        "SELECT v.column1 FROM (VALUES {values}) AS v LEFT JOIN metadata AS m \
         ON m.persistence_id = v.column1 WHERE m.epoch IS NOT v.column2 OR {highest} IS NOT v.column3"
    );
    let mut query = sqlx::query(AssertSqlSafe(sql));
    for (id, number) in rows {
        query = query.bind(id.as_str().to_owned()).bind(1).bind(number - 1);
    }
    assert!(query.fetch_all(connection).await.unwrap().is_empty());
}

async fn raise(connection: &mut SqliteConnection, rows: &[(PersistenceId, i64)]) {
    let values = values(2, rows.len());
    let sql = format!(
        "UPDATE metadata SET highest = v.column2 FROM (VALUES {values}) AS v \
         WHERE metadata.persistence_id = v.column1"
    );
    let mut query = sqlx::query(AssertSqlSafe(sql));
    for (id, number) in rows {
        query = query.bind(id.as_str().to_owned()).bind(*number);
    }
    query.execute(connection).await.unwrap();
}

async fn insert(
    variant: Variant,
    connection: &mut SqliteConnection,
    rows: &[(PersistenceId, i64)],
) {
    let bare = variant == Variant::Bare;
    let (columns, number) = if bare {
        ("", 7)
    } else {
        (", adapter_manifest, slice", 9)
    };
    let manifest = if bare { "manifest" } else { "event_manifest" };
    let values = values(number, rows.len());
    let sql = format!(
        "INSERT INTO events (persistence_id, sequence_nr, timestamp, serializer_id, {manifest}, writer_uuid, \
         payload{columns}) VALUES {values}"
    );
    let mut query = sqlx::query(AssertSqlSafe(sql));
    for (id, number) in rows {
        query = query
            .bind(id.as_str().to_owned())
            .bind(*number)
            .bind(Timestamp::now().as_micros())
            .bind(1)
            .bind("bank.account:v1")
            .bind(&[7_u8; 16][..])
            .bind(vec![1_u8; 200]);
        if !bare {
            query = query.bind("").bind(i64::from(id.slice()));
        }
    }
    query.execute(connection).await.unwrap();
}

fn values(columns: usize, rows: usize) -> String {
    let row = format!("({})", vec!["?"; columns].join(", "));
    vec![row; rows].join(", ")
}
