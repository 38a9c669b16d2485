//! Readers beside a handler that holds its transaction for long, and beside an idle transaction of another program.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use actix::Addr;
use actix_persistence::config::Config;
use actix_persistence::prelude::*;
use actix_persistence::projection::{ExactlyOnceHandler, ExtensionError, Projection, Session};
use actix_persistence::query::{EventEnvelope, EventSelection};
use actix_persistence::sql::{SessionWork, Sql};
use async_trait::async_trait;
use futures_util::StreamExt;
use sqlx::{AssertSqlSafe, Connection, MySqlConnection, PgConnection};

use crate::projections::{Add, Added, LONG, Place, Sum, add, newest, sum};

/// The time for which the slow handler holds its transaction.
const SLOW: Duration = Duration::from_millis(2_900);
/// The most by which others are delayed.
const MOST: Duration = Duration::from_millis(200);
/// The number of events of an attempt.
const EVENTS: u64 = 30;
/// The number of attempts on a machine that is busy, which delays everything now and then.
const ATTEMPTS: u64 = 8;

/// Writes a row, and keeps its transaction open.
struct Slow {
    table: String,
    is_open: Arc<AtomicBool>,
}

#[async_trait]
impl ExactlyOnceHandler<EventEnvelope<Added>> for Slow {
    async fn handle(
        &self,
        session: &mut dyn Session,
        item: &EventEnvelope<Added>,
    ) -> Result<(), ExtensionError> {
        write(session, &self.table, item).await?;
        self.is_open.store(true, Ordering::SeqCst);
        tokio::time::sleep(SLOW).await;
        self.is_open.store(false, Ordering::SeqCst);
        Ok(())
    }
}

/// Starts a version of the projection of the slow handler.
fn start_slow(
    persistence: &Persistence,
    place: &Place,
    is_open: &Arc<AtomicBool>,
    version: u32,
) -> Projection {
    let slow = Slow {
        table: place.table("slow"),
        is_open: Arc::clone(is_open),
    };
    let new = persistence
        .projection("slow")
        .of_events::<Added>(None, all());
    let new = new.unwrap().version(version);
    let one_by_one = new.with(|settings| settings.group_size = 1);
    one_by_one.exactly_once(slow).unwrap()
}

/// Writes a row, and notes when.
struct Quick {
    table: String,
    seen: Seen,
}

#[async_trait]
impl ExactlyOnceHandler<EventEnvelope<Added>> for Quick {
    async fn handle(
        &self,
        session: &mut dyn Session,
        item: &EventEnvelope<Added>,
    ) -> Result<(), ExtensionError> {
        write(session, &self.table, item).await?;
        self.seen.note(item);
        Ok(())
    }
}

async fn write(
    session: &mut dyn Session,
    table: &str,
    item: &EventEnvelope<Added>,
) -> Result<(), ExtensionError> {
    let insert = format!("INSERT INTO {table} (id, seq) VALUES ($1, $2)");
    let values = [
        item.persistence_id.as_str().into(),
        (item.sequence_nr as i64).into(),
    ];
    session.execute(Sql::assert_safe(insert), values).await?;
    Ok(())
}

/// The amounts that a reader was shown, and when.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<(u64, Instant)>>>);

impl Seen {
    fn note(&self, item: &EventEnvelope<Added>) {
        let amount = item.events.as_slice()[0].0;
        self.0.lock().unwrap().push((amount, Instant::now()));
    }

    /// Returns the median of the delays after these moments.
    async fn median_delay(&self, stored: &[(u64, Instant)]) -> Duration {
        let seen = async {
            loop {
                let seen = self.0.lock().unwrap().clone();
                let delays: Vec<_> = stored
                    .iter()
                    .filter_map(|(amount, at)| {
                        let (_, seen) = seen.iter().find(|(seen, _)| seen == amount)?;
                        Some(seen.saturating_duration_since(*at))
                    })
                    .collect();
                if delays.len() == stored.len() {
                    return delays;
                }
                tokio::task::yield_now().await;
            }
        };
        let mut delays = tokio::time::timeout(LONG, seen).await.unwrap();
        delays.sort_unstable();
        delays[delays.len() / 2]
    }
}

/// A transaction of another program that has written something, and waits.
enum Idle {
    Postgres(PgConnection),
    Mysql(MySqlConnection),
}

impl Idle {
    async fn open(place: &Place) -> Self {
        let (url, table) = (place.url(), place.table("foreign_work"));
        let insert = AssertSqlSafe(format!("INSERT INTO {table} (id, seq) VALUES ('idle', 1)"));
        match place.kind() {
            "postgres" => {
                let mut connection = PgConnection::connect(url).await.unwrap();
                sqlx::raw_sql("BEGIN")
                    .execute(&mut connection)
                    .await
                    .unwrap();
                sqlx::raw_sql(insert)
                    .execute(&mut connection)
                    .await
                    .unwrap();
                Self::Postgres(connection)
            }
            _ => {
                let mut connection = MySqlConnection::connect(url).await.unwrap();
                sqlx::raw_sql("BEGIN")
                    .execute(&mut connection)
                    .await
                    .unwrap();
                sqlx::raw_sql(insert)
                    .execute(&mut connection)
                    .await
                    .unwrap();
                Self::Mysql(connection)
            }
        }
    }

    async fn end(self) {
        match self {
            Self::Postgres(mut connection) => {
                sqlx::raw_sql("ROLLBACK")
                    .execute(&mut connection)
                    .await
                    .unwrap();
            }
            Self::Mysql(mut connection) => {
                sqlx::raw_sql("ROLLBACK")
                    .execute(&mut connection)
                    .await
                    .unwrap();
            }
        }
    }
}

fn all() -> EventSelection {
    EventSelection::all().of_entity_type("Sum")
}

/// Lets a handler take its time.
fn patient(config: Config) -> Config {
    let mut config = config;
    for section in ["journal", "state", "offset-store"] {
        for (key, value) in [("acquire-timeout", "8s"), ("statement-timeout", "6s")] {
            config = config.with(&format!("persistence.{section}.test.{key}"), value);
        }
    }
    config.with("persistence.offset-store.test.handler-timeout", "4s")
}

async fn make_tables(place: &Place, persistence: &Persistence, names: &[&str]) {
    for name in names {
        let table = place.table(name);
        let create = format!("CREATE TABLE {table} (id VARCHAR(200), seq BIGINT)");
        let work = SessionWork::new(move |session| {
            Box::pin(async move {
                session.execute(Sql::assert_safe(create), []).await?;
                Ok(())
            })
        });
        persistence.transact(None, work).await.unwrap();
    }
}

/// Stores events one after the other, each only while this is true, and returns when each was confirmed.
async fn store(
    sum: &Addr<Sum>,
    amounts: std::ops::Range<u64>,
    is_open: impl Fn() -> bool,
) -> Vec<(u64, Instant)> {
    let mut stored = Vec::new();
    let storing = async {
        for amount in amounts {
            while !is_open() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            sum.send(Add(amount)).await.unwrap().unwrap();
            stored.push((amount, Instant::now()));
        }
    };
    tokio::time::timeout(LONG * 2, storing).await.unwrap();
    stored
}

type Reader<'s> = (&'static str, &'s Seen);

/// Checks that the median of each reader is below the limit beside the slow handler, in one of some attempts: a handler that
/// holds a reader back does so in each.
async fn are_not_delayed(sum: &Addr<Sum>, is_open: &AtomicBool, readers: &[Reader<'_>]) {
    // The slow handler begins with this one, when all readers go on.
    let first = store(sum, 1_000..1_001, || true).await;
    for (_, seen) in readers {
        seen.median_delay(&first).await;
    }
    let mut best = vec![Duration::MAX; readers.len()];
    for attempt in 0..ATTEMPTS {
        let first = 2_000 + attempt * EVENTS;
        let is_open = || is_open.load(Ordering::SeqCst);
        let stored = store(sum, first..first + EVENTS, is_open).await;
        for ((_, seen), best) in readers.iter().zip(&mut best) {
            *best = seen.median_delay(&stored).await.min(*best);
        }
        if best.iter().all(|best| *best < MOST) {
            break;
        }
    }
    for ((name, _), best) in readers.iter().zip(best) {
        eprintln!("a {name} beside a slow handler: {best:?} in the median");
        assert!(best < MOST, "{name}: {best:?}");
    }
}

/// Follows all events with a live query until the task is dropped.
fn follow(persistence: &Persistence, seen: &Seen) -> tokio::task::JoinHandle<()> {
    let queries = persistence.event_queries(None).unwrap();
    let seen = seen.clone();
    actix_rt::spawn(async move {
        let mut events = queries.events::<Added>(all(), Default::default());
        while let Some(event) = events.next().await {
            seen.note(&event.unwrap());
        }
    })
}

/// On a server, a live query and another projection of the same database.
pub(crate) async fn a_slow_handler_and_an_idle_transaction_delay_no_reader(kind: &'static str) {
    let place = Place::new(kind, "slow");
    let config = patient(place.config());
    let persistence = Persistence::open(config).await.unwrap();
    make_tables(&place, &persistence, &["slow", "quick", "foreign_work"]).await;
    let is_open = Arc::new(AtomicBool::new(false));
    let (of_query, of_projection) = (Seen::default(), Seen::default());
    let following = follow(&persistence, &of_query);
    let quick = Quick {
        table: place.table("quick"),
        seen: of_projection.clone(),
    };
    let quick = persistence
        .projection("quick")
        .of_events::<Added>(None, all())
        .unwrap()
        .exactly_once(quick)
        .unwrap();
    let readers = [("query", &of_query), ("projection", &of_projection)];
    let sum = sum(&persistence, 1);
    let idle = Idle::open(&place).await;
    let slow = start_slow(&persistence, &place, &is_open, 1);
    are_not_delayed(&sum, &is_open, &readers).await;
    let end = newest(&persistence).await;
    quick.applied(&end, LONG).await.unwrap();
    assert!(
        slow.status()
            .shares
            .values()
            .all(|share| share.error.is_none())
    );
    idle.end().await;
    following.abort();
    assert!(persistence.stop(LONG).await.is_complete());
}

/// On SQLite, a live query of a journal in a file of its own; a handler holds the only write lock of the file that it writes to.
#[actix::test]
async fn a_slow_handler_in_another_file_delays_no_reader_on_sqlite() {
    let place = Place::new("sqlite", "slow");
    let other = place.url().replace("test.db", "read_model.db");
    let mut config = place.config();
    for section in ["state", "offset-store"] {
        let url = format!("persistence.{section}.test.url");
        let timeout = format!("persistence.{section}.test.handler-timeout");
        config = config.with(&url, other.as_str()).with(&timeout, "4s");
    }
    let persistence = Persistence::open(config).await.unwrap();
    make_tables(&place, &persistence, &["slow"]).await;
    let is_open = Arc::new(AtomicBool::new(false));
    let of_query = Seen::default();
    let following = follow(&persistence, &of_query);
    let sum = sum(&persistence, 1);
    let slow = start_slow(&persistence, &place, &is_open, 1);
    are_not_delayed(&sum, &is_open, &[("query", &of_query)]).await;
    assert!(
        slow.status()
            .shares
            .values()
            .all(|share| share.error.is_none())
    );
    following.abort();
    assert!(persistence.stop(LONG).await.is_complete());
}

/// On SQLite, what is stored is read while a handler in the same file holds the write lock.
#[actix::test]
async fn a_slow_handler_in_the_same_file_keeps_nobody_from_reading() {
    let place = Place::new("sqlite", "held");
    let timeout = "persistence.offset-store.test.handler-timeout";
    let persistence = Persistence::open(place.config().with(timeout, "4s"))
        .await
        .unwrap();
    make_tables(&place, &persistence, &["slow"]).await;
    add(&persistence, 1, 1..=EVENTS).await;
    let mut shortest = SLOW;
    for attempt in 0..ATTEMPTS {
        let is_open = Arc::new(AtomicBool::new(false));
        let slow = start_slow(&persistence, &place, &is_open, 1 + attempt as u32);
        let begins = async {
            while !is_open.load(Ordering::SeqCst) {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(LONG, begins).await.unwrap();
        let begun = Instant::now();
        let queries = persistence.event_queries(None).unwrap();
        let events = queries.events::<Added>(all(), Default::default());
        let read = events.take(EVENTS as usize).collect::<Vec<_>>();
        let read = tokio::time::timeout(LONG, read).await.unwrap();
        assert!(read.iter().all(Result::is_ok));
        shortest = shortest.min(begun.elapsed());
        slow.stop().await;
        if shortest < MOST {
            break;
        }
    }
    assert!(shortest < MOST, "{shortest:?}");
    assert!(persistence.stop(LONG).await.is_complete());
}
