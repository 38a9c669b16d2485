//! Measures what an index of entity types costs and brings:
//! `cargo run --release -p actix-persistence-sqlite --example measure_queries_on_sqlite FILE [EVENTS]`.
//!
//! Every variant fills a table of its own in a new file, whose name begins with `FILE`: single events of 200 bytes in groups
//! of 100, each a transaction; one in 3,000 is of a rare type. Variants take turns; what is printed is the rate of the second
//! half in comparison with the first variant, the median of all turns, the sizes, and the times of queries. See `docs/adr/0016-partitions-and-indexes.md`.
#![allow(clippy::unwrap_used, clippy::print_stdout)] // a tool for people, not part of the crate

use std::time::Instant;

use actix_persistence_storage_api::PersistenceId;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{AssertSqlSafe, ConnectOptions, Executor, SqliteConnection};

const GROUP: i64 = 100;
const RARE: i64 = 3_000;
const ROUNDS: usize = 5;

/// The name and the index of each variant.
const VARIANTS: [(&str, &str); 3] = [
    ("rowid alone", ""),
    ("types", "CREATE INDEX q_type ON q_event (entity_type);"),
    (
        "types with slices",
        "CREATE INDEX q_type ON q_event (entity_type, ordering, slice);",
    ),
];

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().expect("the name of a new file");
    let events = arguments.next();
    let events: i64 = events.map_or(300_000, |text| text.parse().unwrap());
    println!("{events} events, one in {RARE} rare; medians of {ROUNDS}");
    let mut connections = Vec::new();
    for (place, (_, index)) in VARIANTS.iter().enumerate() {
        let mut connection = SqliteConnectOptions::new()
            .filename(format!("{file}.{place}"))
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .disable_statement_logging()
            .connect()
            .await
            .unwrap();
        let table = "CREATE TABLE q_event (ordering INTEGER PRIMARY KEY AUTOINCREMENT, persistence_id TEXT NOT NULL, \
             sequence_nr INTEGER NOT NULL, slice INTEGER NOT NULL, entity_type TEXT NOT NULL \
                 GENERATED ALWAYS AS (substr(persistence_id, 1, instr(persistence_id, '|') - 1)) VIRTUAL, \
             payload BLOB NOT NULL, UNIQUE (persistence_id, sequence_nr)) STRICT;";
        run(&mut connection, format!("{table} {index}")).await;
        connections.push(connection);
    }
    let ratios = fill(&mut connections, events).await;
    for (place, (name, index)) in VARIANTS.iter().enumerate() {
        let connection = &mut connections[place];
        run(connection, "PRAGMA wal_checkpoint(TRUNCATE)").await;
        let size = std::fs::metadata(format!("{file}.{place}")).unwrap().len();
        let size = size as f64 / 1_048_576.0;
        println!("{name:<20} {:.2}  {size:>6.1} MiB", ratios[place]);
        measure(connection, !index.is_empty(), events).await;
    }
}

async fn run(connection: &mut SqliteConnection, sql: impl Into<String>) {
    let sql = sqlx::raw_sql(AssertSqlSafe(sql.into()));
    connection.execute(sql).await.unwrap();
}

/// Stores the events; returns the rates in comparison with the first variant.
async fn fill(connections: &mut [SqliteConnection], events: i64) -> Vec<f64> {
    const TURN: i64 = 20 * GROUP;
    let mut ratios = vec![Vec::new(); connections.len()];
    for begin in (0..events).step_by(TURN as usize) {
        let statements: Vec<_> = (begin..begin + TURN)
            .step_by(GROUP as usize)
            .map(insert)
            .collect();
        let mut times = Vec::new();
        for connection in connections.iter_mut() {
            let start = Instant::now();
            for sql in &statements {
                run(connection, sql).await;
            }
            times.push(start.elapsed().as_secs_f64());
        }
        if begin >= events / 2 {
            for (ratios, time) in ratios.iter_mut().zip(&times) {
                ratios.push(times[0] / time);
            }
        }
    }
    ratios.iter_mut().map(|ratios| median(ratios)).collect()
}

fn median(numbers: &mut [f64]) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

/// The transaction that stores a group.
fn insert(begin: i64) -> String {
    let rows = (begin..begin + GROUP).map(|number| {
        let entity_type = if number % RARE == RARE - 1 {
            "Rare"
        } else {
            "Account"
        };
        // A walk that does not follow the order of ids.
        let id = PersistenceId::of(entity_type, &format!("{:08}", number * 7_919 % 10_000));
        let sequence_nr = number / 10_000 + 1;
        format!("('{id}', {sequence_nr}, {}, randomblob(200))", id.slice())
    });
    let rows = rows.collect::<Vec<_>>().join(", ");
    format!(
        "BEGIN IMMEDIATE; INSERT INTO q_event (persistence_id, sequence_nr, slice, payload) VALUES {rows}; COMMIT"
    )
}

async fn measure(connection: &mut SqliteConnection, has_index: bool, events: i64) {
    let index = if has_index {
        "INDEXED BY q_type"
    } else {
        "NOT INDEXED"
    };
    let of_type = |name: &str, after: i64, slices: &str| {
        format!(
            "SELECT ordering, persistence_id, sequence_nr, payload FROM q_event {index} WHERE entity_type = '{name}' \
             AND ordering > {after} {slices} ORDER BY ordering LIMIT 1000"
        )
    };
    for (name, sql) in [
        ("a rare type", of_type("Rare", 0, "")),
        ("nothing new of a type", of_type("Account", events, "")),
        ("a page of a type", of_type("Account", 0, "")),
        (
            "a page of a type, 16 slices",
            of_type("Account", 0, "AND slice BETWEEN 384 AND 399"),
        ),
    ] {
        let mut times = Vec::new();
        let mut found = 0;
        for _ in 0..ROUNDS {
            let start = Instant::now();
            let query = sqlx::query(AssertSqlSafe(sql.clone()));
            found = query.fetch_all(&mut *connection).await.unwrap().len();
            times.push(start.elapsed().as_secs_f64() * 1_000.0);
        }
        times.sort_by(f64::total_cmp);
        println!(
            "    {name:<34} {found:>5} rows  {:>8.2} ms",
            times[ROUNDS / 2]
        );
    }
}
