//! The databases, by their drivers alone.

pub(crate) mod memory;
pub(crate) mod mysql;
pub(crate) mod postgres;
mod relay;
pub(crate) mod server;
pub(crate) mod sqlite;
mod values;

use std::time::Duration;

use actix_persistence::{Builder, Config, Persistence};

use crate::projections::Counts;
use crate::row::{Row, Table};

/// The kinds of stores.
const KINDS: [&str; 4] = ["journal", "snapshot-store", "state", "offset-store"];

/// A database that is made for one series, beside others or alone, and is gone after it.
pub(crate) trait Database: Sized {
    type Connection: Connection;
    /// The number of connections that bare batches use at the same time.
    const CONNECTIONS: usize;

    /// Makes the database, with the tables for bare rows.
    async fn make() -> Self;

    /// Returns what a connection needs.
    fn url(&self) -> String;

    /// Opens stores of some kinds, `journal`, `snapshot-store`, `state` or `offset-store`, on this database.
    async fn open(&self, kinds: &[&str], builder: Builder) -> Persistence;

    /// Lets what is opened from now on be at a distance: bytes need this time either way.
    fn move_away(&mut self, _one_way: Duration) {
        panic!("there is no network between");
    }

    /// Lets stores that are opened from now on have these settings, such as `writers=4`, in the place of those before.
    fn set(&mut self, _settings: &str) {
        panic!("there is nothing to be set");
    }

    /// Lets the database do now what it else does in the background after many writes.
    async fn settle(&self) {}

    async fn close(self);
}

/// A connection to a database; or what stands for one.
pub(crate) trait Connection: Send + Sized + 'static {
    fn connect(url: String) -> impl Future<Output = Self> + Send;

    /// Returns how many of the rows that wait a group should have: all, unless the database has reasons.
    fn at_once(waiting: usize) -> usize {
        waiting
    }

    /// Stores rows by one statement, which is a transaction.
    fn write(&mut self, table: Table, rows: Vec<Row>) -> impl Future<Output = ()> + Send;
}

/// A connection that knows SQL.
pub(crate) trait SqlConnection: Connection {
    async fn run(&mut self, statement: &str);

    /// Reads up to 1,000 events that the plugin stored of an id above a number; returns their number, and the last number.
    async fn page(&mut self, id: &str, after: i64) -> (usize, i64);

    /// Reads the events of all ids in the order of their commits, in pages of 1,000, as few rows at a time as a reader needs to
    /// go on, and hands the ids of each page out; returns their number.
    async fn log(&mut self, each: impl AsyncFnMut(&mut Self, Vec<Vec<u8>>)) -> usize;

    /// The end of a statement that inserts counts, which adds to those that are there.
    const ADDED: &'static str;

    /// Adds counts in a transaction that stores the progress.
    async fn store_counts(&mut self, counts: &Counts, progress: i64);

    /// Returns the number of all events that were counted.
    async fn projected(&mut self) -> i64;
}

/// Returns the statement that adds this number of counts.
pub(crate) fn upsert(rows: usize, tail: &str, place: impl Fn(usize) -> String) -> String {
    let rows = (0..rows).map(|row| format!("({}, {})", place(2 * row + 1), place(2 * row + 2)));
    let rows = rows.collect::<Vec<_>>().join(", ");
    format!("INSERT INTO projected (kind, n) VALUES {rows} {tail}")
}

/// Opens stores of some kinds on a database, with these settings beside those that a person names.
async fn open(
    kinds: &[&str],
    plugin: &str,
    url: &str,
    settings: &str,
    builder: Builder,
) -> Persistence {
    let of_person = std::env::var("SETTINGS").unwrap_or_default();
    let settings = format!("{of_person},{settings}");
    let mut config = Config::new();
    for kind in kinds {
        let section = format!("persistence.{kind}");
        config = config
            .with(&format!("{section}.bench.kind"), plugin)
            .with(&format!("{section}.bench.url"), url)
            .with(&format!("{section}.bench.auto-initialize"), true)
            .with(&format!("{section}.plugin"), "bench");
        for (key, value) in settings_of(kind, &settings) {
            let key = format!("{section}.bench.{key}");
            config = match (value.parse::<i64>(), value.parse::<bool>()) {
                (Ok(number), _) => config.with(&key, number),
                (_, Ok(choice)) => config.with(&key, choice),
                _ => config.with(&key, value),
            };
        }
        if *kind == "state" {
            config = config.with("persistence.state.bench.change-handler.Counted", "counting");
        }
    }
    let persistence = builder.config(config).open().await.unwrap();
    persistence.ready().await.unwrap();
    persistence
}

/// Returns the settings of the stores of a kind, of a text such as `writers=1,snapshot-store.read-connections=2`: a key that
/// begins with a kind is for stores of that kind.
fn settings_of(kind: &str, text: &str) -> Vec<(String, String)> {
    let settings = text.split(',').filter(|setting| !setting.is_empty());
    let parts = settings.map(|setting| setting.split_once('=').expect("KEY=VALUE"));
    parts
        .filter_map(|(key, value)| {
            let key = match key.split_once('.') {
                Some((of, key)) if KINDS.contains(&of) => (of == kind).then_some(key)?,
                _ => key,
            };
            Some((key.to_owned(), value.to_owned()))
        })
        .collect()
}

/// Looks at every value of a row of `LOG`, as for an event; returns the number of its order, and its id.
macro_rules! looked_at {
    ($row:expr, $key:ty) => {{
        let row = $row;
        let (_timestamp, _serializer) = (row.get::<i64, _>(1), row.get::<i64, _>(3));
        let mut bytes = row.get::<Vec<u8>, _>(2).len() + row.get::<String, _>(4).len();
        bytes += row.get::<Vec<u8>, _>(5).len();
        assert!(bytes >= crate::notebook::PAYLOAD);
        (row.get::<i64, _>(0), Vec::<u8>::from(row.get::<$key, _>(6)))
    }};
}

/// Implements [`SqlConnection`] for the connection of a driver, whose `PAGE` takes the id in the form of `$bound`.
macro_rules! sql_connection {
    ($connection:ty, |$id:ident| $bound:expr, |$nr:ident| $place:expr, added $added:expr, log $log:item) => {
        impl super::SqlConnection for $connection {
            async fn run(&mut self, statement: &str) {
                let statement = sqlx::raw_sql(sqlx::AssertSqlSafe(statement.to_owned()));
                statement.execute(self).await.unwrap();
            }

            async fn page(&mut self, $id: &str, after: i64) -> (usize, i64) {
                let query = sqlx::query(PAGE).bind($bound).bind(after);
                let rows = query.fetch_all(self).await.unwrap();
                let mut last = after;
                let mut bytes = 0;
                // Every value is looked at, as for an event.
                for row in &rows {
                    last = row.get::<i64, _>(0);
                    let (_timestamp, _serializer) = (row.get::<i64, _>(1), row.get::<i64, _>(3));
                    bytes += row.get::<Vec<u8>, _>(2).len() + row.get::<String, _>(4).len();
                    bytes += row.get::<Vec<u8>, _>(5).len();
                }
                assert!(bytes >= rows.len() * crate::notebook::PAYLOAD);
                (rows.len(), last)
            }

            $log

            const ADDED: &'static str = $added;

            async fn store_counts(&mut self, counts: &crate::projections::Counts, progress: i64) {
                self.run("BEGIN").await;
                let place = |$nr: usize| $place;
                let sql = super::upsert(counts.len(), Self::ADDED, place);
                let mut query = sqlx::query(sqlx::AssertSqlSafe(sql));
                for (kind, n) in counts {
                    query = query.bind(kind.to_string()).bind(n);
                }
                query.execute(&mut *self).await.unwrap();
                let sql = format!("UPDATE bare_progress SET at = {} WHERE name = 'counts'", place(1));
                let query = sqlx::query(sqlx::AssertSqlSafe(sql)).bind(progress);
                query.execute(&mut *self).await.unwrap();
                self.run("COMMIT").await;
            }

            async fn projected(&mut self) -> i64 {
                let rows = sqlx::query("SELECT n FROM projected").fetch_all(self).await.unwrap();
                rows.iter().map(|row| row.get::<i64, _>(0)).sum()
            }
        }
    };
}

use {looked_at, sql_connection};
