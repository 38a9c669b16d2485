//! Measures what indexes for queries cost and give: `cargo run --release --example measure_indexes_on_postgres URL [ROWS..]`.
//!
//! For each set of indexes it fills tables of its own, in the schema `measured` of the database `URL`, with the numbers of
//! rows that are given, and prints: what it takes to store an event in a group of 100 at that size; then what queries over
//! all rows take. Times are those of the session on a processor, so that other work on the machine does not count; the
//! server must be on this one, which has to be Linux. See `docs/adr/0015-indexes-on-postgresql.md`.
#![allow(clippy::unwrap_used, clippy::print_stdout)] // a tool for people, not part of the crate

use std::time::Instant;

use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, PgConnection, Row};

const GROUP: usize = 100;
/// The groups that are measured at each size.
const GROUPS: usize = 300;
const PAGE: i64 = 1_000;
const READERS: i64 = 4;

/// Events of 20 types, of which one has every 3,000th; and of 10,000 ids, whose slices have no order.
const ROWS: &str = "\
SELECT CASE WHEN n % 3000 = 0 THEN 'Rare|' ELSE 'Type' || n % 19 || '|' END || 'account-of-a-customer-' || n % 10000, n,
       ($1::bigint + n) / 100 + 1000, 1700000000000000 + n, 1, (hashint8(n % 10000) & 1023)::smallint, 1,
       decode(repeat('07', 16), 'hex'), 'bank.account:v1', '', decode(repeat('01', 200), 'hex')
FROM generate_series($1::bigint, $1::bigint + $2::bigint - 1) AS n";

const TABLES: &str = "\
DROP SCHEMA IF EXISTS measured CASCADE;
CREATE SCHEMA measured;
CREATE TABLE measured.event (
    persistence_id TEXT COLLATE \"C\" NOT NULL, sequence_nr BIGINT NOT NULL, ordering BIGINT NOT NULL,
    timestamp BIGINT NOT NULL, serializer_id BIGINT NOT NULL, slice SMALLINT NOT NULL, tag_count INTEGER NOT NULL,
    writer_uuid BYTEA NOT NULL, entity_type TEXT COLLATE \"C\" NOT NULL
        GENERATED ALWAYS AS (left(persistence_id, greatest(strpos(persistence_id, '|') - 1, 0))) STORED,
    event_manifest TEXT NOT NULL, adapter_manifest TEXT NOT NULL, payload BYTEA NOT NULL,
    PRIMARY KEY (persistence_id, sequence_nr))";

/// Sets of indexes of the table of events.
const EVENTS: [(&str, &str); 6] = [
    ("none", ""),
    ("(ordering)", "CREATE INDEX o ON measured.event (ordering)"),
    (
        "(ordering, slice)",
        "CREATE INDEX o ON measured.event (ordering, slice)",
    ),
    (
        "(slice, ordering)",
        "CREATE INDEX s ON measured.event (slice, ordering)",
    ),
    (
        "(type, ordering, slice)",
        "CREATE INDEX t ON measured.event (entity_type, ordering, slice)",
    ),
    (
        "both of the last but one",
        "CREATE INDEX o ON measured.event (ordering, slice); CREATE INDEX t ON measured.event (entity_type, ordering, slice)",
    ),
];

/// Queries over events, a page at a time, and for the number of readers that share the slices out; the rest of the last
/// transaction of a page is left out. Values: the last number that was read, the first slice, the last one, the most.
const QUERIES: [(&str, &str, i64); 4] = [
    (
        "all, by number",
        "SELECT e.ordering FROM measured.event AS e WHERE e.ordering > $1 AND $2::bigint + $3::bigint > 0 \
         ORDER BY e.ordering LIMIT $4",
        1,
    ),
    (
        "all, type by type",
        "WITH RECURSIVE types AS ( \
             (SELECT entity_type FROM measured.event ORDER BY entity_type LIMIT 1) UNION ALL \
             SELECT (SELECT e.entity_type FROM measured.event AS e WHERE e.entity_type > t.entity_type \
                     ORDER BY e.entity_type LIMIT 1) FROM types AS t WHERE t.entity_type IS NOT NULL) \
         SELECT e.ordering FROM types AS t CROSS JOIN LATERAL ( \
             SELECT e.ordering FROM measured.event AS e WHERE e.entity_type = t.entity_type AND e.ordering > $1 \
               AND e.slice BETWEEN $2 AND $3 ORDER BY e.ordering LIMIT $4) AS e ORDER BY e.ordering LIMIT $4",
        1,
    ),
    (
        "a quarter of the slices, each",
        "SELECT e.ordering FROM measured.event AS e WHERE e.ordering > $1 AND e.slice BETWEEN $2 AND $3 \
         ORDER BY e.ordering LIMIT $4",
        READERS,
    ),
    (
        "a rare type",
        "SELECT e.ordering FROM measured.event AS e WHERE e.entity_type = 'Rare' AND e.ordering > $1 \
           AND e.slice BETWEEN $2 AND $3 ORDER BY e.ordering LIMIT $4",
        1,
    ),
];

/// Keys of the table of tags; how rows of a tag are read, and those of events removed.
const TAGS: [(&str, &str); 3] = [
    (
        "(id, nr, tag), (tag, ordering, id, nr)",
        "ALTER TABLE measured.tag ADD PRIMARY KEY (persistence_id, sequence_nr, tag); \
         CREATE INDEX g ON measured.tag (tag, ordering, persistence_id, sequence_nr)",
    ),
    (
        "(id, nr, tag), (tag, ordering)",
        "ALTER TABLE measured.tag ADD PRIMARY KEY (persistence_id, sequence_nr, tag); \
         CREATE INDEX g ON measured.tag (tag, ordering)",
    ),
    (
        "(tag, ordering, id, nr)",
        "ALTER TABLE measured.tag ADD PRIMARY KEY (tag, ordering, persistence_id, sequence_nr)",
    ),
];

#[tokio::main]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let url = arguments.next().expect("the URL of a database");
    let mut sizes: Vec<usize> = arguments.map(|text| text.parse().unwrap()).collect();
    if sizes.is_empty() {
        sizes = vec![100_000, 1_000_000];
    }
    let options: PgConnectOptions = url.parse().unwrap();
    let mut connection = options.disable_statement_logging().connect().await.unwrap();
    // As the plugin has it, and all of it in one process.
    run(
        &mut connection,
        "SET enable_seqscan = off; SET enable_sort = off; SET jit = off; SET max_parallel_workers_per_gather = 0",
    )
    .await;
    for (name, indexes) in EVENTS {
        run(&mut connection, TABLES).await;
        run(&mut connection, indexes).await;
        let rows = fill(&mut connection, "event", name, &sizes).await;
        if !indexes.is_empty() {
            for (what, sql, readers) in QUERIES {
                measure_query(&mut connection, name, rows, (what, sql, readers)).await;
            }
        }
    }
    for (name, keys) in TAGS {
        run(&mut connection, TABLES).await;
        let table = "CREATE TABLE measured.tag (persistence_id TEXT COLLATE \"C\" NOT NULL, sequence_nr BIGINT NOT NULL, \
            tag TEXT COLLATE \"C\" NOT NULL, slice SMALLINT NOT NULL, ordering BIGINT NOT NULL)";
        run(&mut connection, table).await;
        run(&mut connection, keys).await;
        let rows = fill(&mut connection, "tag", name, &sizes).await;
        let sql = "SELECT ordering FROM (SELECT ordering, persistence_id, sequence_nr FROM measured.tag \
            WHERE tag = 'tag-5' AND ordering > $1 AND slice BETWEEN $2 AND $3 ORDER BY ordering LIMIT $4) AS e";
        measure_query(&mut connection, name, rows, ("a tag of ten", sql, 1)).await;
    }
}

async fn run(connection: &mut PgConnection, sql: &str) {
    let sql = sqlx::raw_sql(AssertSqlSafe(sql.to_owned()));
    sql.execute(connection).await.unwrap();
}

/// Fills a table up to each size, and prints how fast groups are stored there.
async fn fill(connection: &mut PgConnection, table: &str, name: &str, sizes: &[usize]) -> usize {
    let sql = match table {
        "tag" => format!(
            "INSERT INTO measured.tag SELECT r.i, r.n, 'tag-' || r.n % 10, r.s, r.o FROM ({ROWS}) AS r (i, n, o, t, a, s)"
        ),
        _ => format!(
            "INSERT INTO measured.event (persistence_id, sequence_nr, ordering, timestamp, serializer_id, slice, tag_count, \
             writer_uuid, event_manifest, adapter_manifest, payload) {ROWS}"
        ),
    };
    let mut rows = 0;
    for size in sizes {
        let bulk = size.saturating_sub(rows + GROUPS * GROUP);
        insert(connection, &sql, rows, bulk).await;
        rows += bulk;
        run(connection, &format!("VACUUM ANALYZE measured.{table}")).await;
        run(connection, "CHECKPOINT").await;
        let before = milliseconds(connection).await;
        for _ in 0..GROUPS {
            insert(connection, &sql, rows, GROUP).await;
            rows += GROUP;
        }
        let spent = milliseconds(connection).await - before;
        let each = spent * 1e3 / (GROUPS * GROUP) as f64;
        let sizes = format!(
            "SELECT pg_indexes_size('measured.{table}') / 1048576, pg_total_relation_size('measured.{table}') / 1048576"
        );
        let sizes = sqlx::query(AssertSqlSafe(sizes)).fetch_one(&mut *connection);
        let sizes = sizes.await.unwrap();
        let (indexes, all): (i64, i64) = (sizes.get(0), sizes.get(1));
        println!(
            "{table:<6} {name:<40} {rows:>8} rows {each:>6.1} us each, {indexes:>4} MiB of {all} in indexes"
        );
    }
    rows
}

async fn insert(connection: &mut PgConnection, sql: &str, first: usize, number: usize) {
    let sql = sqlx::query(AssertSqlSafe(sql.to_owned()));
    let sql = sql.bind(first as i64).bind(number as i64);
    sql.execute(connection).await.unwrap();
}

/// Prints how long it takes to read everything, and to look once more where nothing is new.
async fn measure_query(
    connection: &mut PgConnection,
    name: &str,
    rows: usize,
    (what, sql, readers): (&str, &str, i64),
) {
    let (mut found, mut pages) = (0, 0);
    let start = Instant::now();
    let before = milliseconds(connection).await;
    let limit = std::time::Duration::from_secs(10);
    for reader in 0..readers {
        let slices = 1024 / readers;
        let mut at = 0_i64;
        loop {
            let page = sqlx::query_scalar::<_, i64>(AssertSqlSafe(sql.to_owned()))
                .bind(at)
                .bind(reader * slices)
                .bind((reader + 1) * slices - 1)
                .bind(PAGE)
                .fetch_all(&mut *connection);
            let page = page.await.unwrap();
            pages += 1;
            found += page.len();
            match page.last() {
                Some(last) => at = *last,
                None => break,
            }
            if start.elapsed() > limit {
                println!(
                    "       {name:<40} {rows:>8} rows {what:<30} given up after {found} events"
                );
                return;
            }
        }
    }
    let all = milliseconds(connection).await - before;
    println!(
        "       {name:<40} {rows:>8} rows {what:<30} {all:>8.1} ms, {found} events in {pages} pages"
    );
}

/// Returns the time for which the session has run on a processor.
async fn milliseconds(connection: &mut PgConnection) -> f64 {
    let process = sqlx::query_scalar("SELECT pg_backend_pid()").fetch_one(connection);
    let process: i32 = process.await.unwrap();
    let text = std::fs::read_to_string(format!("/proc/{process}/schedstat")).unwrap();
    let nanoseconds = text.split(' ').next().unwrap();
    nanoseconds.parse::<f64>().unwrap() / 1e6
}
