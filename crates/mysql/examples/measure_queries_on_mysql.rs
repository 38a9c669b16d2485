//! Measures what indexes for queries over many ids cost and bring:
//! `cargo run --release -p actix-persistence-mysql --example measure_queries_on_mysql URL [EVENTS]`.
//!
//! Every variant fills tables of its own in the database `URL`: single events of 200 bytes in groups of 100, each a
//! transaction, one in two with a tag. One event in 3,000 is of a rare type, and has a rare tag. Variants take turns, so that
//! what else the machine does is the same for all. What is printed for each is the rate of the second half in comparison with
//! the first variant, the median of all turns; the sizes; and the times of queries. See `docs/adr/0016-partitions-and-indexes.md`.
#![allow(clippy::unwrap_used, clippy::print_stdout)] // a tool for people, not part of the crate

use std::time::Instant;

use actix_persistence_storage_api::{Partition, PersistenceId};
use sqlx::mysql::MySqlConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, Executor, MySqlConnection, Row};

const PARTITIONS: u16 = 8;
const GROUP: i64 = 100;
/// An event in this many is rare.
const RARE: i64 = 3_000;
const ROUNDS: usize = 5;

/// The keys of the tables.
struct Variant {
    name: &'static str,
    of_events: &'static str,
    /// The columns of a tag, and its keys.
    of_tags: &'static str,
    /// True if a row of a tag holds the id and the number of its event.
    tags_have_ids: bool,
}

const TAGS_BY_ID: &str = "persistence_id VARBINARY(255) NOT NULL, sequence_nr BIGINT NOT NULL, \
    tag VARBINARY(255) NOT NULL, slice SMALLINT NOT NULL, partition_nr TINYINT NOT NULL, ordering BIGINT NOT NULL, \
    PRIMARY KEY (persistence_id, sequence_nr, tag), KEY (tag, partition_nr, ordering)";
const TAGS_BY_PLACE: &str = "tag VARBINARY(255) NOT NULL, partition_nr TINYINT NOT NULL, ordering BIGINT NOT NULL, \
    slice SMALLINT NOT NULL, PRIMARY KEY (tag, partition_nr, ordering), KEY (partition_nr, ordering)";

const VARIANTS: [Variant; 5] = [
    Variant {
        name: "numbers",
        of_events: "UNIQUE KEY (partition_nr, ordering)",
        of_tags: TAGS_BY_ID,
        tags_have_ids: true,
    },
    Variant {
        name: "numbers and types",
        of_events: "UNIQUE KEY (partition_nr, ordering), KEY by_type (entity_type, partition_nr, ordering)",
        of_tags: TAGS_BY_ID,
        tags_have_ids: true,
    },
    Variant {
        name: "types with slices",
        of_events: "UNIQUE KEY (partition_nr, ordering), KEY by_type (entity_type, partition_nr, ordering, slice)",
        of_tags: TAGS_BY_ID,
        tags_have_ids: true,
    },
    Variant {
        name: "tags by place",
        of_events: "UNIQUE KEY (partition_nr, ordering)",
        of_tags: TAGS_BY_PLACE,
        tags_have_ids: false,
    },
    Variant {
        name: "types, tags by place",
        of_events: "UNIQUE KEY (partition_nr, ordering), KEY by_type (entity_type, partition_nr, ordering)",
        of_tags: TAGS_BY_PLACE,
        tags_have_ids: false,
    },
];

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let url = arguments.next().expect("the URL of a database");
    let events = arguments.next();
    let events: i64 = events.map_or(300_000, |text| text.parse().unwrap());
    let options: MySqlConnectOptions = url.parse().unwrap();
    let mut connection = options.disable_statement_logging().connect().await.unwrap();
    println!("{events} events, one in {RARE} rare; medians of {ROUNDS}");
    for place in 0..VARIANTS.len() {
        make_tables(&mut connection, place).await;
    }
    let ratios = fill(&mut connection, events).await;
    for (place, variant) in VARIANTS.iter().enumerate() {
        let analyse = format!("ANALYZE TABLE q_event_{place}, q_tag_{place}");
        run(&mut connection, analyse).await;
        let (of_events, of_tags) = sizes(&mut connection, place).await;
        println!(
            "{:<22} {:.2}  {of_events:>6.1} MiB  tags {of_tags:>5.1} MiB",
            variant.name, ratios[place]
        );
        measure(&mut connection, place, events).await;
    }
    for place in 0..VARIANTS.len() {
        run(&mut connection, drop_tables(place)).await;
    }
}

fn drop_tables(place: usize) -> String {
    format!("DROP TABLE IF EXISTS q_event_{place}, q_tag_{place}")
}

async fn run(connection: &mut MySqlConnection, sql: impl Into<String>) {
    let sql = sqlx::raw_sql(AssertSqlSafe(sql.into()));
    connection.execute(sql).await.unwrap();
}

async fn make_tables(connection: &mut MySqlConnection, place: usize) {
    let variant = &VARIANTS[place];
    run(connection, drop_tables(place)).await;
    let engine = "ENGINE = InnoDB ROW_FORMAT = DYNAMIC";
    let sql = format!(
        "CREATE TABLE q_event_{place} (persistence_id VARBINARY(255) NOT NULL, sequence_nr BIGINT NOT NULL, \
             ordering BIGINT NOT NULL, slice SMALLINT NOT NULL, partition_nr TINYINT NOT NULL, \
             entity_type VARBINARY(255) GENERATED ALWAYS AS \
                 (LEFT(persistence_id, GREATEST(LOCATE(X'7C', persistence_id), 1) - 1)) VIRTUAL, \
             payload LONGBLOB NOT NULL, PRIMARY KEY (persistence_id, sequence_nr), {}) {engine}; \
         CREATE TABLE q_tag_{place} ({}) {engine}",
        variant.of_events, variant.of_tags
    );
    run(connection, sql).await;
}

/// The id, the number in it, and the tag of an event.
fn event(number: i64) -> (PersistenceId, i64, Option<&'static str>) {
    let is_rare = number % RARE == RARE - 1;
    // A walk that does not follow the order of ids.
    let name = format!("{:08}", number * 7_919 % 10_000);
    let id = PersistenceId::of(if is_rare { "Rare" } else { "Account" }, &name);
    let tag = match (is_rare, number % 2) {
        (true, _) => Some("rare"),
        (_, 0) => Some("common"),
        _ => None,
    };
    (id, number / 10_000 + 1, tag)
}

/// Stores the events; returns the rates in comparison with the first variant.
async fn fill(connection: &mut MySqlConnection, events: i64) -> Vec<f64> {
    const TURN: i64 = 20 * GROUP;
    let mut newest = [0_i64; PARTITIONS as usize];
    let mut ratios = vec![Vec::new(); VARIANTS.len()];
    for begin in (0..events).step_by(TURN as usize) {
        let groups: Vec<_> = (begin..begin + TURN)
            .step_by(GROUP as usize)
            .map(|begin| rows_of(begin, &mut newest))
            .collect();
        let mut times = Vec::new();
        for (place, variant) in VARIANTS.iter().enumerate() {
            let statements: Vec<_> = groups
                .iter()
                .map(|rows| variant.insert(place, rows))
                .collect();
            let start = Instant::now();
            for sql in statements {
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

/// An event with its place.
struct Event {
    id: PersistenceId,
    sequence_nr: i64,
    tag: Option<&'static str>,
    partition: u16,
    ordering: i64,
}

fn rows_of(begin: i64, newest: &mut [i64]) -> Vec<Event> {
    let rows = (begin..begin + GROUP).map(|number| {
        let (id, sequence_nr, tag) = event(number);
        let partition = Partition::of_slice(id.slice(), PARTITIONS).unwrap().nr();
        let ordering = &mut newest[usize::from(partition)];
        *ordering += 1;
        Event {
            id,
            sequence_nr,
            tag,
            partition,
            ordering: *ordering,
        }
    });
    rows.collect()
}

impl Variant {
    /// The transaction that stores a group.
    fn insert(&self, place: usize, rows: &[Event]) -> String {
        let (mut events, mut tags) = (Vec::new(), Vec::new());
        for row in rows {
            let Event {
                id,
                sequence_nr,
                partition,
                ordering,
                ..
            } = row;
            let slice = id.slice();
            events.push(format!(
                "('{id}', {sequence_nr}, {ordering}, {slice}, {partition}, REPEAT('x', 200))"
            ));
            if let Some(tag) = row.tag {
                let by_id = match self.tags_have_ids {
                    true => format!("'{id}', {sequence_nr}, "),
                    false => String::new(),
                };
                tags.push(format!(
                    "({by_id}'{tag}', {partition}, {ordering}, {slice})"
                ));
            }
        }
        let by_id = match self.tags_have_ids {
            true => "persistence_id, sequence_nr, ",
            false => "",
        };
        format!(
            "START TRANSACTION; \
             INSERT INTO q_event_{place} (persistence_id, sequence_nr, ordering, slice, partition_nr, payload) VALUES {}; \
             INSERT INTO q_tag_{place} ({by_id}tag, partition_nr, ordering, slice) VALUES {}; COMMIT",
            events.join(", "),
            tags.join(", ")
        )
    }
}

/// The sizes of both tables in MiB.
async fn sizes(connection: &mut MySqlConnection, place: usize) -> (f64, f64) {
    let sql = format!(
        "SELECT CAST((data_length + index_length) AS SIGNED) FROM information_schema.tables \
         WHERE table_schema = DATABASE() AND table_name IN ('q_event_{place}', 'q_tag_{place}') ORDER BY table_name"
    );
    let rows = sqlx::query(AssertSqlSafe(sql))
        .fetch_all(connection)
        .await
        .unwrap();
    let size = |row: usize| rows[row].get::<i64, _>(0) as f64 / 1_048_576.0;
    (size(0), size(1))
}

const EVENTS: &str =
    "SELECT e.ordering, e.persistence_id, e.sequence_nr, e.payload FROM q_event_? AS e";

async fn measure(connection: &mut MySqlConnection, place: usize, events: i64) {
    let variant = &VARIANTS[place];
    let of_partitions = |partitions: std::ops::Range<u16>, rest: &str| -> Vec<String> {
        partitions
            .map(|partition| rest.replace("{p}", &partition.to_string()))
            .collect()
    };
    let index = match variant.of_events.contains("by_type") {
        true => " FORCE INDEX (by_type)",
        false => " FORCE INDEX (partition_nr)",
    };
    let of_type = |name: &str, after: i64, slices: &str| {
        format!(
            "{EVENTS}{index} WHERE e.entity_type = '{name}' AND e.partition_nr = {{p}} AND e.ordering > {after} {slices} \
             ORDER BY e.ordering LIMIT 1000"
        )
    };
    let tail = events / i64::from(PARTITIONS) * 2;
    let by_tag = |tag: &str| match variant.tags_have_ids {
        true => format!(
            "{EVENTS} JOIN (SELECT persistence_id, sequence_nr, ordering FROM q_tag_? WHERE tag = '{tag}' \
                 AND partition_nr = {{p}} AND ordering > 0 ORDER BY ordering LIMIT 1000) AS t \
             ON e.persistence_id = t.persistence_id AND e.sequence_nr = t.sequence_nr ORDER BY t.ordering"
        ),
        false => format!(
            "{EVENTS} JOIN (SELECT partition_nr, ordering FROM q_tag_? WHERE tag = '{tag}' \
                 AND partition_nr = {{p}} AND ordering > 0 ORDER BY ordering LIMIT 1000) AS t \
             ON e.partition_nr = t.partition_nr AND e.ordering = t.ordering ORDER BY t.ordering"
        ),
    };
    let (id, _, _) = event(0);
    let of_id = match variant.tags_have_ids {
        true => format!(
            "SELECT sequence_nr, tag FROM q_tag_? WHERE persistence_id = '{id}' AND sequence_nr BETWEEN 1 AND 100"
        ),
        false => format!(
            "SELECT e.sequence_nr, t.tag FROM q_event_? AS e \
             JOIN q_tag_? AS t ON t.partition_nr = e.partition_nr AND t.ordering = e.ordering \
             WHERE e.persistence_id = '{id}' AND e.sequence_nr BETWEEN 1 AND 100"
        ),
    };
    let all = 0..PARTITIONS;
    for (name, statements) in [
        (
            "a rare type, all slices",
            of_partitions(all.clone(), &of_type("Rare", 0, "")),
        ),
        (
            "nothing new of a type",
            of_partitions(all.clone(), &of_type("Account", tail, "")),
        ),
        (
            "a page of a type, an eighth",
            of_partitions(3..4, &of_type("Account", 0, "")),
        ),
        (
            "a page of a type, 16 slices",
            of_partitions(
                3..4,
                &of_type("Account", 0, "AND e.slice BETWEEN 384 AND 399"),
            ),
        ),
        (
            "a rare tag, all slices",
            of_partitions(all, &by_tag("rare")),
        ),
        (
            "a page of a tag, an eighth",
            of_partitions(3..4, &by_tag("common")),
        ),
        ("the tags of the events of an id", vec![of_id]),
    ] {
        let mut times = Vec::new();
        let mut found = 0;
        for _ in 0..ROUNDS {
            let start = Instant::now();
            found = 0;
            for sql in &statements {
                let sql = sql.replace("_?", &format!("_{place}"));
                let query = sqlx::query(AssertSqlSafe(sql));
                found += query.fetch_all(&mut *connection).await.unwrap().len();
            }
            times.push(start.elapsed().as_secs_f64() * 1_000.0);
        }
        times.sort_by(f64::total_cmp);
        println!(
            "    {name:<34} {found:>5} rows  {:>8.2} ms",
            times[ROUNDS / 2]
        );
    }
}
