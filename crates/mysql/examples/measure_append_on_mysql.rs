//! Measures what storing in groups costs:
//! `cargo run --release -p actix-persistence-mysql --example measure_append_on_mysql URL [IDS] [SECONDS] [VARIANT]`.
//! With a variant, such as `Journal`, those whose names begin so are compared with the first of them.
//!
//! Every variant appends single events of 200 bytes to ever other ids in groups, each group a transaction, to tables of its
//! own in the database `URL`. Two connections do so at the same time, each with the ids of every second eighth of the slices, as
//! the lanes of a journal have them, or with any ids, as two processes have them. What is printed is events per second and
//! the ratio to rows alone. See `docs/adr/0005-commit-order.md`.
#![allow(clippy::unwrap_used, clippy::print_stdout)] // a tool for people, not part of the crate

use std::sync::Arc;
use std::time::{Duration, Instant};

use actix_persistence_mysql::{MysqlJournal, MysqlOptions};
use actix_persistence_storage_api::{
    AtomicWrite, EventRecord, Journal, Partition, Payload, PersistenceId, TakeOverRequest,
    Timestamp, WriteOutcome, WriterId,
};
use sqlx::mysql::{MySqlArguments, MySqlConnectOptions};
use sqlx::{Arguments, AssertSqlSafe, ConnectOptions, Executor, MySqlConnection, Row};

const ROUNDS: usize = 5;
const WRITERS: usize = 2;
const PARTITIONS: usize = 8;
const LARGEST: usize = 256;
const MIGRATION: &str = include_str!("../migrations/0001_journal.sql");

/// The work of a transaction beside storing rows.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Variant {
    /// No other work.
    Rows,
    /// Nothing, and there is no index for queries.
    RowsWithoutIndex,
    /// Raises the highest numbers by an upsert.
    Upsert,
    /// By an update that is joined with `SELECT .. UNION ALL SELECT ..`.
    Update,
    /// By an update that is joined with `JSON_TABLE`.
    UpdateJson,
    /// Locks the rows of the ids, and looks for their newest events.
    LockDerived,
    /// Numbers events: an update of the partitions, and a select.
    Numbered,
    /// Numbers events: an update of each partition that gives the number itself.
    NumberedOneByOne,
    /// Upserts and numbers, as the journal does.
    UpsertNumbered,
    /// The same in sessions without autocommit, which save the begin.
    UpsertNumberedNoBegin,
    /// The rows, whose partition the server derives from the slice.
    RowsGenerated,
    /// This crate's journal, with so many counters.
    Journal(u16),
}

const VARIANTS: [Variant; 15] = [
    Variant::Rows,
    Variant::RowsWithoutIndex,
    Variant::Upsert,
    Variant::Update,
    Variant::UpdateJson,
    Variant::LockDerived,
    Variant::Numbered,
    Variant::NumberedOneByOne,
    Variant::UpsertNumbered,
    Variant::UpsertNumberedNoBegin,
    Variant::RowsGenerated,
    Variant::Journal(8),
    Variant::Journal(1),
    Variant::Journal(2),
    Variant::Journal(32),
];

#[derive(Clone, Copy)]
struct Load {
    ids: usize,
    group: usize,
    is_aligned: bool,
    time: Duration,
}

/// Some ids with the numbers of their newest events.
struct Share {
    ids: Vec<(PersistenceId, i64)>,
    next: usize,
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let url = arguments.next().expect("the URL of a database");
    let ids = arguments.next();
    let ids = ids.map_or(10_000, |text| text.parse().unwrap());
    let seconds = arguments.next().map_or(1.0, |text| text.parse().unwrap());
    let wanted = arguments.next().unwrap_or_default();
    let variants = VARIANTS
        .into_iter()
        .filter(|variant| format!("{variant:?}").starts_with(&wanted));
    let variants: Vec<_> = variants.collect();
    println!("{ids} ids, {WRITERS} connections, medians of {ROUNDS} rounds of {seconds} s");
    for (group, is_aligned) in [(1, true), (100, true), (1_000, true), (100, false)] {
        let load = Load {
            ids,
            group,
            is_aligned,
            time: Duration::from_secs_f64(seconds),
        };
        let mut rates = vec![Vec::new(); variants.len()];
        for _ in 0..ROUNDS {
            for (variant, rates) in variants.iter().zip(&mut rates) {
                rates.push(rate(&url, *variant, load).await);
            }
        }
        let medians: Vec<f64> = rates.iter_mut().map(|rates| median(rates)).collect();
        for (variant, median) in variants.iter().zip(&medians) {
            let (ratio, name) = (median / medians[0], format!("{variant:?}"));
            let ids = if is_aligned { "lanes" } else { "any  " };
            println!("group of {group:>5}  {ids}  {name:<22} {median:>8.0}/s  {ratio:.2}");
        }
    }
}

fn median(rates: &mut [f64]) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

async fn rate(url: &str, variant: Variant, load: Load) -> f64 {
    let options: MySqlConnectOptions = url.parse().unwrap();
    let options = options
        .statement_cache_capacity(256)
        .disable_statement_logging();
    let mut connection = options.connect().await.unwrap();
    make_tables(&mut connection, variant, load.ids).await;
    let barrier = Arc::new(tokio::sync::Barrier::new(WRITERS));
    let journal = match variant {
        Variant::Journal(partitions) => Some(Arc::new(open(url, load.ids, partitions).await)),
        _ => None,
    };
    let tasks: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let (options, barrier) = (options.clone(), Arc::clone(&barrier));
            let (journal, share) = (journal.clone(), share(load, writer));
            tokio::spawn(async move {
                let connection = options.connect().await.unwrap();
                barrier.wait().await;
                match journal {
                    Some(journal) => journal_rate(&journal, share, load).await,
                    None => statement_rate(connection, variant, share, load).await,
                }
            })
        })
        .collect();
    let mut total = 0.0;
    for task in tasks {
        total += task.await.unwrap();
    }
    total
}

/// The ids of a writer, in a walk that does not follow their order.
fn share(load: Load, writer: usize) -> Share {
    let ids = (0..load.ids).map(|at| (at, id(at * 7_919 % load.ids)));
    let mine = ids.filter(|(at, id)| match load.is_aligned {
        true => partition(id) % WRITERS == writer,
        false => at % WRITERS == writer,
    });
    Share {
        ids: mine.map(|(_, id)| (id, 0)).collect(),
        next: 0,
    }
}

fn id(number: usize) -> PersistenceId {
    PersistenceId::of("Account", &format!("{number:08}"))
}

impl Share {
    /// The next ids of a group with their next numbers, in the order of ids, so that no writers wait in a circle.
    fn group(&mut self, size: usize) -> Vec<(PersistenceId, i64)> {
        let mut group: Vec<_> = (0..size.min(self.ids.len()))
            .map(|_| {
                let at = self.next % self.ids.len();
                self.next += 1;
                self.ids[at].1 += 1;
                self.ids[at].clone()
            })
            .collect();
        group.sort_by(|one, other| one.0.cmp(&other.0));
        group
    }
}

async fn execute(connection: &mut MySqlConnection, sql: impl Into<String>) {
    let sql = sqlx::raw_sql(AssertSqlSafe(sql.into()));
    connection.execute(sql).await.unwrap();
}

async fn make_tables(connection: &mut MySqlConnection, variant: Variant, ids: usize) {
    let drop = "DROP TABLE IF EXISTS event_journal, event_tag, journal_metadata, event_journal_ordering, \
        actix_persistence_schema";
    execute(connection, drop).await;
    if let Variant::Journal(_) = variant {
        return;
    }
    let tables = [
        ("event_table", "event_journal"),
        ("event_index", "numbered"),
        ("event_type_index", "typed"),
        ("tag_table", "event_tag"),
        ("tag_index", "tagged"),
        ("metadata_table", "journal_metadata"),
        ("unswept_index", "unswept"),
        ("ordering_table", "event_journal_ordering"),
        ("payload_type", "LONGBLOB NOT NULL"),
        ("partitions", "8"),
    ];
    let sql = tables
        .iter()
        .fold(MIGRATION.to_owned(), |sql, (key, name)| {
            sql.replace(&format!("{{{key}}}"), name)
        });
    execute(connection, sql).await;
    // Rows without numbers of their own have the same one.
    let is_numbered = matches!(
        variant,
        Variant::Numbered
            | Variant::NumberedOneByOne
            | Variant::UpsertNumbered
            | Variant::UpsertNumberedNoBegin
    );
    let index = match variant {
        _ if is_numbered => "",
        Variant::RowsWithoutIndex => "DROP INDEX numbered, DROP INDEX typed",
        Variant::RowsGenerated => {
            "DROP INDEX numbered, DROP INDEX typed, DROP COLUMN partition_nr, \
             ADD COLUMN partition_nr TINYINT GENERATED ALWAYS AS (slice DIV 128) STORED, \
             ADD KEY numbered (partition_nr, ordering), \
             ADD KEY typed (entity_type, partition_nr, ordering)"
        }
        _ => "DROP INDEX numbered, ADD KEY numbered (partition_nr, ordering)",
    };
    if !index.is_empty() {
        execute(connection, format!("ALTER TABLE event_journal {index}")).await;
    }
    let rows: Vec<_> = (0..ids)
        .map(|number| format!("('{}', 0, 0, 0, 1, '')", id(number).as_str()))
        .collect();
    for rows in rows.chunks(1_000) {
        let rows = rows.join(", ");
        let sql = format!(
            "INSERT INTO journal_metadata (persistence_id, highest, deleted_to, swept_to, epoch, writer_uuid) \
             VALUES {rows}"
        );
        execute(connection, sql).await;
    }
}

async fn open(url: &str, ids: usize, partitions: u16) -> MysqlJournal {
    let options = MysqlOptions::new(url)
        .with_store(|store| store.with_auto_initialize(true))
        .with_counter_partitions(partitions);
    let journal = MysqlJournal::new(options).unwrap();
    journal.initialize().await.unwrap();
    let all: Vec<_> = (0..ids).collect();
    for chunk in all.chunks(1_000) {
        let requests: Vec<_> = chunk
            .iter()
            .map(|number| TakeOverRequest {
                persistence_id: id(*number),
                writer: WriterId::NIL,
            })
            .collect();
        journal.take_over(&requests).await.unwrap();
    }
    journal
}

async fn journal_rate(journal: &MysqlJournal, mut share: Share, load: Load) -> f64 {
    let start = Instant::now();
    let mut events = 0;
    while start.elapsed() < load.time {
        let writes: Vec<_> = share
            .group(load.group)
            .into_iter()
            .map(|(id, number)| {
                let payload = Payload::new(1, "bank.account:v1", vec![1; 200]);
                let event =
                    EventRecord::new(number as u64, Timestamp::now(), WriterId::NIL, payload);
                AtomicWrite::new(id, 1, vec![event]).unwrap()
            })
            .collect();
        events += writes.len();
        let outcomes = journal.write_messages(writes).await.unwrap();
        assert!(outcomes.iter().all(WriteOutcome::is_stored));
    }
    events as f64 / start.elapsed().as_secs_f64()
}

async fn statement_rate(
    mut connection: MySqlConnection,
    variant: Variant,
    mut share: Share,
    load: Load,
) -> f64 {
    let begins = variant != Variant::UpsertNumberedNoBegin;
    let session = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED; SET autocommit = ";
    execute(&mut connection, format!("{session}{}", i32::from(begins))).await;
    let start = Instant::now();
    let mut events = 0;
    while start.elapsed() < load.time {
        let group = share.group(load.group);
        if begins {
            execute(&mut connection, "START TRANSACTION").await;
        }
        for rows in chunks(&group) {
            fence(&mut connection, variant, rows).await;
        }
        let mut next = number(&mut connection, variant, &group).await;
        for rows in chunks(&group) {
            insert(&mut connection, variant, rows, &mut next).await;
        }
        execute(&mut connection, "COMMIT").await;
        events += group.len();
    }
    events as f64 / start.elapsed().as_secs_f64()
}

/// Parts that there is a statement for: powers of two.
fn chunks(mut rows: &[(PersistenceId, i64)]) -> Vec<&[(PersistenceId, i64)]> {
    let mut chunks = Vec::new();
    while !rows.is_empty() {
        let (chunk, rest) = rows.split_at(1 << rows.len().min(LARGEST).ilog2());
        chunks.push(chunk);
        rows = rest;
    }
    chunks
}

async fn fence(connection: &mut MySqlConnection, variant: Variant, rows: &[(PersistenceId, i64)]) {
    let many = |row: &str, separator: &str| vec![row; rows.len()].join(separator);
    let mut values = MySqlArguments::default();
    let mut add = |id: &PersistenceId, numbers: &[i64]| {
        values.add(id.as_str().as_bytes()).unwrap();
        numbers
            .iter()
            .for_each(|number| values.add(number).unwrap());
    };
    let (sql, counted) = match variant {
        Variant::Upsert | Variant::UpsertNumbered | Variant::UpsertNumberedNoBegin => {
            rows.iter()
                .for_each(|(id, number)| add(id, &[*number, number - 1, 1]));
            let sql = format!(
                "INSERT INTO journal_metadata (persistence_id, highest, deleted_to, swept_to, epoch, writer_uuid) \
                 VALUES {} ON DUPLICATE KEY UPDATE highest = IF(epoch = VALUES(epoch) AND highest = VALUES(deleted_to), \
                 VALUES(highest), highest)",
                many("(?, ?, ?, 0, ?, '')", ", ")
            );
            (sql, 2 * rows.len())
        }
        Variant::Update => {
            rows.iter()
                .for_each(|(id, number)| add(id, &[*number, number - 1, 1]));
            let given = many("SELECT ?, ?, ?, ?", " UNION ALL ");
            let given = given.replacen(
                "?, ?, ?, ?",
                "? AS id, ? AS last, ? AS stood, ? AS epoch",
                1,
            );
            let sql = format!(
                "UPDATE journal_metadata AS m JOIN ({given}) AS d ON m.persistence_id = d.id AND m.epoch = d.epoch \
                 AND m.highest = d.stood SET m.highest = d.last"
            );
            (sql, rows.len())
        }
        Variant::UpdateJson => {
            let rows_of_json = rows
                .iter()
                .map(|(id, number)| format!("[\"{}\", {number}, {}, 1]", id.as_str(), number - 1));
            let json = rows_of_json.collect::<Vec<_>>().join(", ");
            values.add(format!("[{json}]")).unwrap();
            let sql = "UPDATE journal_metadata AS m JOIN JSON_TABLE(?, '$[*]' COLUMNS (id VARCHAR(255) PATH '$[0]', \
                last BIGINT PATH '$[1]', stood BIGINT PATH '$[2]', epoch BIGINT PATH '$[3]')) AS d \
                ON m.persistence_id = CAST(d.id AS BINARY) AND m.epoch = d.epoch AND m.highest = d.stood \
                SET m.highest = d.last";
            (sql.to_owned(), rows.len())
        }
        Variant::LockDerived => {
            rows.iter().for_each(|(id, _)| add(id, &[]));
            let sql = format!(
                "SELECT persistence_id, epoch, (SELECT e.sequence_nr FROM event_journal AS e \
                 WHERE e.persistence_id = m.persistence_id ORDER BY e.sequence_nr DESC LIMIT 1) \
                 FROM journal_metadata AS m WHERE persistence_id IN ({}) ORDER BY persistence_id FOR UPDATE",
                many("?", ", ")
            );
            let found = sqlx::query_with(AssertSqlSafe(sql), values).fetch_all(connection);
            assert_eq!(found.await.unwrap().len(), rows.len());
            return;
        }
        _ => return,
    };
    let done = sqlx::query_with(AssertSqlSafe(sql), values).execute(connection);
    assert_eq!(done.await.unwrap().rows_affected(), counted as u64);
}

fn partition(id: &PersistenceId) -> usize {
    let partition = Partition::of_slice(id.slice(), PARTITIONS as u16);
    usize::from(partition.unwrap().nr())
}

/// Gives the first number of each partition; all the same where nothing is numbered.
async fn number(
    connection: &mut MySqlConnection,
    variant: Variant,
    group: &[(PersistenceId, i64)],
) -> Option<[i64; PARTITIONS]> {
    let mut wanted = [0_i64; PARTITIONS];
    group.iter().for_each(|(id, _)| wanted[partition(id)] += 1);
    let used: Vec<_> = (0..PARTITIONS).filter(|it| wanted[*it] > 0).collect();
    let mut next = [0; PARTITIONS];
    match variant {
        Variant::Numbered | Variant::UpsertNumbered | Variant::UpsertNumberedNoBegin => {
            let marks = ["?"; PARTITIONS].join(", ");
            let update = format!(
                "UPDATE event_journal_ordering SET newest = newest + CASE partition_nr{} END \
                 WHERE partition_nr IN ({marks}) ORDER BY partition_nr",
                " WHEN ? THEN ?".repeat(PARTITIONS)
            );
            let select = format!(
                "SELECT CAST(partition_nr AS SIGNED), newest FROM event_journal_ordering \
                 WHERE partition_nr IN ({marks}) ORDER BY partition_nr"
            );
            let repeated: Vec<_> = used.iter().copied().cycle().take(PARTITIONS).collect();
            let mut update = sqlx::query(AssertSqlSafe(update));
            let mut select = sqlx::query(AssertSqlSafe(select));
            for it in &repeated {
                update = update.bind(*it as i64).bind(wanted[*it]);
            }
            for it in &repeated {
                update = update.bind(*it as i64);
                select = select.bind(*it as i64);
            }
            update.execute(&mut *connection).await.unwrap();
            for row in select.fetch_all(connection).await.unwrap() {
                let it = row.get::<i64, _>(0) as usize;
                next[it] = row.get::<i64, _>(1) - wanted[it] + 1;
            }
        }
        Variant::NumberedOneByOne => {
            let sql = "UPDATE event_journal_ordering SET newest = LAST_INSERT_ID(newest + ?) WHERE partition_nr = ?";
            for it in used {
                let update = sqlx::query(sql).bind(wanted[it]).bind(it as i64);
                let done = update.execute(&mut *connection).await.unwrap();
                next[it] = done.last_insert_id() as i64 - wanted[it] + 1;
            }
        }
        _ => return None,
    }
    Some(next)
}

async fn insert(
    connection: &mut MySqlConnection,
    variant: Variant,
    rows: &[(PersistenceId, i64)],
    next: &mut Option<[i64; PARTITIONS]>,
) {
    let is_generated = variant == Variant::RowsGenerated;
    let (column, columns) = match is_generated {
        true => ("", 12),
        false => ("partition_nr, ", 13),
    };
    let row = format!("({})", vec!["?"; columns].join(", "));
    let sql = format!(
        "INSERT INTO event_journal (persistence_id, sequence_nr, ordering, slice, {column}timestamp, writer_uuid, \
         serializer_id, event_manifest, adapter_manifest, tag_count, bytes, payload) VALUES {}",
        vec![row; rows.len()].join(", ")
    );
    let mut query = sqlx::query(AssertSqlSafe(sql));
    for (id, number) in rows {
        let ordering = next.as_mut().map_or(0, |next| {
            let next = &mut next[partition(id)];
            *next += 1;
            *next - 1
        });
        query = query
            .bind(id.as_str().as_bytes().to_vec())
            .bind(*number)
            .bind(ordering)
            .bind(i64::from(id.slice()));
        if !is_generated {
            query = query.bind(partition(id) as i64);
        }
        query = query
            .bind(Timestamp::now().as_micros())
            .bind(&[7_u8; 16][..])
            .bind(1_i64)
            .bind("bank.account:v1")
            .bind("")
            .bind(0_i64)
            .bind(200_i64)
            .bind(vec![1_u8; 200]);
    }
    query.execute(connection).await.unwrap();
}
