//! Measures what storing in groups costs: `cargo run --release --example measure_append_on_postgres URL [IDS] [SECONDS]`.
//!
//! Every variant appends single events of 200 bytes to ever other ids in groups, each group one statement, to tables
//! of its own in a schema of the database `URL`; two connections do so at the same time. What is printed is events per
//! second and the ratio to a bare insert, and for what is no journal the microseconds of a processor that an event takes on
//! the server, which other work on the machine does not change; for these it must be this machine, and Linux. See `docs/adr/0005-commit-order.md` and `docs/adr/0014-base-and-bound.md`.
#![allow(clippy::unwrap_used, clippy::print_stdout)] // a tool for people, not part of the crate

use std::sync::Arc;
use std::time::{Duration, Instant};

use actix_persistence_postgres::{PostgresJournal, PostgresOptions};
use actix_persistence_storage_api::{
    AtomicWrite, EventRecord, Journal, Payload, PersistenceId, TakeOverRequest, Timestamp,
    WriteOutcome, WriterId,
};
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, PgConnection};

const ROUNDS: usize = 5;
const WRITERS: usize = 2;
const MIGRATION: &str = include_str!("../migrations/0001_journal.sql");

#[derive(Clone, Copy, Debug, PartialEq)]
enum Variant {
    /// Rows into a table with a unique key, nothing else.
    Bare,
    /// The journal's rows, without the entity type and without the indexes for queries.
    OwnRows,
    /// The same, with the entity type.
    EntityType,
    /// And with the indexes for queries.
    OrderingIndex,
    /// And the fence, on which the rows depend by a look into a hash table.
    Fenced,
    /// The same, with a base that is added to the number of the transaction.
    Based,
    /// And announced to readers before it has that number.
    Announced,
    /// The same as `Fenced`, with a join in its place.
    FencedJoin,
    /// The same as `Fenced`, with the planner as the server has it.
    FencedPlanned,
    /// This crate's journal.
    Journal,
}

const VARIANTS: [Variant; 10] = [
    Variant::Bare,
    Variant::OwnRows,
    Variant::EntityType,
    Variant::OrderingIndex,
    Variant::Fenced,
    Variant::Based,
    Variant::Announced,
    Variant::FencedJoin,
    Variant::FencedPlanned,
    Variant::Journal,
];

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let url = arguments.next().expect("the URL of a database");
    let ids = arguments
        .next()
        .map_or(10_000, |text| text.parse().unwrap());
    let seconds = arguments.next().map_or(1.0, |text| text.parse().unwrap());
    let time = Duration::from_secs_f64(seconds);
    println!("{ids} ids, {WRITERS} connections, medians of {ROUNDS} rounds of {seconds} s");
    for group in [1, 100, 1_000] {
        let mut rates = vec![Vec::new(); VARIANTS.len()];
        let mut times = rates.clone();
        for _ in 0..ROUNDS {
            for ((variant, rates), times) in VARIANTS.iter().zip(&mut rates).zip(&mut times) {
                let done = rate(*variant, &url, ids, group, time).await;
                rates.push(done.rate);
                times.push(done.microseconds);
            }
        }
        let medians: Vec<f64> = rates.iter_mut().map(|rates| median(rates)).collect();
        for ((variant, rate), times) in VARIANTS.iter().zip(&medians).zip(&mut times) {
            let (ratio, time) = (rate / medians[0], median(times));
            println!(
                "group of {group:>5}  {variant:<15?} {rate:>8.0}/s  {ratio:.2}  {time:>7.2} us"
            );
        }
    }
}

/// The work of one connection, or the sum of several.
#[derive(Default)]
struct Done {
    /// Events per second.
    rate: f64,
    /// The time of a processor that an event takes on the server, 0 if it is not known.
    microseconds: f64,
}

fn median(rates: &mut [f64]) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

/// A share of the ids, whose next numbers are known.
struct Load {
    ids: Vec<PersistenceId>,
    numbers: Vec<i64>,
    next: usize,
}

impl Load {
    fn of(writer: usize, ids: usize) -> Self {
        let share = ids / WRITERS;
        Self {
            // A walk through all ids that does not follow their order.
            ids: (0..share)
                .map(|i| {
                    PersistenceId::of("Account", &format!("{writer}-{:08}", i * 7_919 % share))
                })
                .collect(),
            numbers: vec![0; share],
            next: 0,
        }
    }

    /// The next ids of a group with their next numbers, in order.
    fn group(&mut self, size: usize) -> Vec<(PersistenceId, i64)> {
        let picked = (0..size).map(|_| {
            let at = self.next % self.ids.len();
            self.next += 1;
            self.numbers[at] += 1;
            (self.ids[at].clone(), self.numbers[at])
        });
        let mut picked: Vec<_> = picked.collect();
        picked.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        picked
    }
}

async fn rate(variant: Variant, url: &str, ids: usize, group: usize, time: Duration) -> Done {
    let mut owner = connect(url, Variant::FencedPlanned).await;
    execute(
        &mut owner,
        "DROP SCHEMA IF EXISTS measured CASCADE".to_owned(),
    )
    .await;
    let tasks: Vec<_> = if variant == Variant::Journal {
        let options = PostgresOptions::new(url)
            .with_schema("measured")
            .with_store(|store| store.with_auto_initialize(true));
        let journal = Arc::new(PostgresJournal::new(options).unwrap());
        journal.initialize().await.unwrap();
        let loads = (0..WRITERS).map(|writer| Load::of(writer, ids));
        loads
            .map(|load| tokio::spawn(journal_task(Arc::clone(&journal), load, group, time)))
            .collect()
    } else {
        make_tables(variant, &mut owner).await;
        let mut tasks = Vec::new();
        for writer in 0..WRITERS {
            let connection = connect(url, variant).await;
            let load = Load::of(writer, ids);
            tasks.push(tokio::spawn(statement_task(
                variant, connection, load, group, time,
            )));
        }
        tasks
    };
    let mut all = Done::default();
    for task in tasks {
        let done = task.await.unwrap();
        all.rate += done.rate;
        all.microseconds += done.microseconds / WRITERS as f64;
    }
    all
}

async fn connect(url: &str, variant: Variant) -> PgConnection {
    let options: PgConnectOptions = url.parse().unwrap();
    let mut connection = options.disable_statement_logging().connect().await.unwrap();
    if variant != Variant::FencedPlanned {
        execute(
            &mut connection,
            "SET enable_seqscan = off; SET jit = off".to_owned(),
        )
        .await;
    }
    connection
}

async fn execute(connection: &mut PgConnection, sql: String) {
    sqlx::raw_sql(AssertSqlSafe(sql))
        .execute(connection)
        .await
        .unwrap();
}

async fn make_tables(variant: Variant, owner: &mut PgConnection) {
    execute(owner, "CREATE SCHEMA measured".to_owned()).await;
    let mut tables = MIGRATION.to_owned();
    for (key, name) in [
        ("{event_table}", "measured.event"),
        ("{tag_table}", "measured.tag"),
        ("{metadata_table}", "measured.metadata"),
        ("{event_index}", "event_ordering"),
        ("{type_index}", "event_type"),
        ("{ordering_table}", "measured.ordering"),
        ("{removed_table}", "measured.removed"),
        ("{tag_index}", "tag_ordering"),
        ("{unswept_index}", "unswept"),
        ("{payload_type}", "bytea"),
    ] {
        tables = tables.replace(key, name);
    }
    execute(owner, tables).await;
    // As it was before there was a base.
    let number = "ALTER TABLE measured.event ALTER COLUMN ordering SET DEFAULT pg_current_xact_id()::text::bigint";
    execute(owner, number.to_owned()).await;
    let less = match variant {
        Variant::Bare => {
            "ALTER TABLE measured.event DROP COLUMN ordering, DROP COLUMN entity_type, DROP COLUMN slice, \
             DROP COLUMN tag_count, DROP COLUMN adapter_manifest"
        }
        Variant::OwnRows => {
            "DROP INDEX measured.event_ordering; DROP INDEX measured.event_type; ALTER TABLE measured.event DROP COLUMN entity_type"
        }
        Variant::EntityType => "DROP INDEX measured.event_ordering; DROP INDEX measured.event_type",
        _ => "",
    };
    execute(owner, less.to_owned()).await;
}

async fn journal_task(
    journal: Arc<PostgresJournal>,
    mut load: Load,
    group: usize,
    time: Duration,
) -> Done {
    let writer = WriterId::random();
    for ids in load.ids.chunks(1_000) {
        let request = |id: &PersistenceId| TakeOverRequest {
            persistence_id: id.clone(),
            writer,
        };
        let requests: Vec<_> = ids.iter().map(request).collect();
        journal.take_over(&requests).await.unwrap();
    }
    let start = Instant::now();
    let mut events = 0;
    while start.elapsed() < time {
        let write = |(id, number): (PersistenceId, i64)| {
            let payload = Payload::new(1, "bank.account:v1", vec![1; 200]);
            let event = EventRecord::new(number as u64, Timestamp::now(), writer, payload);
            AtomicWrite::new(id, 1, vec![event]).unwrap()
        };
        let writes = load.group(group).into_iter().map(write).collect();
        let outcomes = journal.write_messages(writes).await.unwrap();
        assert!(outcomes.iter().all(WriteOutcome::is_stored));
        events += group;
    }
    Done {
        rate: events as f64 / start.elapsed().as_secs_f64(),
        ..Done::default()
    }
}

async fn statement_task(
    variant: Variant,
    mut connection: PgConnection,
    mut load: Load,
    group: usize,
    time: Duration,
) -> Done {
    let ids: Vec<&str> = load.ids.iter().map(PersistenceId::as_str).collect();
    sqlx::query(
        "INSERT INTO measured.metadata SELECT id, 0, 0, 0, 1, decode(repeat('00', 16), 'hex') FROM unnest($1::text[]) AS n (id)",
    )
    .bind(ids)
    .execute(&mut connection)
    .await
    .unwrap();
    let sql = sql(variant);
    let before = microseconds(&mut connection).await;
    let start = Instant::now();
    let mut events = 0;
    while start.elapsed() < time {
        append(&mut connection, &sql, variant, &load.group(group)).await;
        events += group;
    }
    let spent = microseconds(&mut connection).await - before;
    Done {
        rate: events as f64 / start.elapsed().as_secs_f64(),
        microseconds: spent / events as f64,
    }
}

/// Returns the time for which the session has run on a processor.
async fn microseconds(connection: &mut PgConnection) -> f64 {
    let process = sqlx::query_scalar("SELECT pg_backend_pid()").fetch_one(connection);
    let process: i32 = process.await.unwrap();
    let text = std::fs::read_to_string(format!("/proc/{process}/schedstat")).unwrap_or_default();
    let nanoseconds = text
        .split(' ')
        .next()
        .and_then(|text| text.parse::<f64>().ok());
    nanoseconds.unwrap_or_default() / 1e3
}

/// Announces a transaction that has no number.
const ANNOUNCED: &str = "(CASE WHEN pg_current_xact_id_if_assigned() IS NULL \
    THEN pg_advisory_xact_lock_shared((2::bigint << 48) | pg_snapshot_xmax(pg_current_snapshot())::text::bigint)::text \
    END IS DISTINCT FROM 'never')";

fn sql(variant: Variant) -> String {
    let (columns, values) = if variant == Variant::Bare {
        ("", "")
    } else {
        (
            ", slice, adapter_manifest, tag_count",
            ", slice, adapter_manifest, 0",
        )
    };
    let (ordering, number) = match variant {
        Variant::Based | Variant::Announced => (", ordering", ", (SELECT ordering FROM numbered)"),
        _ => ("", ""),
    };
    let insert = format!(
        "INSERT INTO measured.event (persistence_id, sequence_nr, timestamp, writer_uuid, serializer_id, event_manifest, \
         payload{columns}{ordering}) SELECT n.id, n.sequence_nr, timestamp, writer, serializer, manifest, payload{values}{number} \
         FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bytea[], $5::bigint[], $6::text[], $7::bytea[], \
         $8::smallint[], $9::text[]) AS n (id, sequence_nr, timestamp, writer, serializer, manifest, payload, slice, \
         adapter_manifest)"
    );
    let filter = match variant {
        Variant::Fenced | Variant::FencedPlanned | Variant::Based | Variant::Announced => {
            "WHERE (n.id IN (SELECT persistence_id FROM fenced)) IS TRUE"
        }
        Variant::FencedJoin => "WHERE n.id IN (SELECT persistence_id FROM fenced)",
        _ => return insert,
    };
    let announced = match variant {
        Variant::Announced => ANNOUNCED,
        _ => "true",
    };
    let (before, and, numbered) = match variant {
        Variant::Based | Variant::Announced => (
            format!("announced AS MATERIALIZED (SELECT {announced} AS is_done), "),
            " AND (SELECT is_done FROM announced)",
            format!(
                "numbered AS MATERIALIZED (SELECT CASE WHEN {announced} \
                 THEN o.base + pg_current_xact_id()::text::bigint END AS ordering \
                 FROM measured.ordering AS o WHERE o.is_only), "
            ),
        ),
        _ => (String::new(), "", String::new()),
    };
    format!(
        "WITH {before}fenced AS (UPDATE measured.metadata AS m SET highest = h.last \
         FROM unnest($1::text[], $10::bigint[], $11::bigint[], $2::bigint[]) AS h (id, epoch, before, last) \
         WHERE m.persistence_id = h.id AND m.epoch = h.epoch AND m.highest = h.before{and} RETURNING m.persistence_id), \
         {numbered}\
         stored AS ({insert} {filter}) \
         SELECT h.place FROM unnest($1::text[]) WITH ORDINALITY AS h (id, place) \
         WHERE h.id NOT IN (SELECT persistence_id FROM fenced)"
    )
}

async fn append(
    connection: &mut PgConnection,
    sql: &str,
    variant: Variant,
    rows: &[(PersistenceId, i64)],
) {
    let number = rows.len();
    let numbers: Vec<i64> = rows.iter().map(|(_, number)| *number).collect();
    let slices: Vec<i16> = rows.iter().map(|(id, _)| id.slice() as i16).collect();
    let ids: Vec<&str> = rows.iter().map(|(id, _)| id.as_str()).collect();
    let mut query = sqlx::query(AssertSqlSafe(sql.to_owned()))
        .bind(ids)
        .bind(numbers.clone())
        .bind(vec![Timestamp::now().as_micros(); number])
        .bind(vec![&[7_u8; 16][..]; number])
        .bind(vec![1_i64; number])
        .bind(vec!["bank.account:v1"; number])
        .bind(vec![&[1_u8; 200][..]; number])
        .bind(slices)
        .bind(vec![""; number]);
    if sql.starts_with("WITH") {
        let before: Vec<i64> = numbers.iter().map(|number| number - 1).collect();
        query = query.bind(vec![1_i64; number]).bind(before);
    }
    let losers = query.fetch_all(connection).await.unwrap();
    assert!(losers.is_empty(), "{variant:?}: {} lost", losers.len());
}
