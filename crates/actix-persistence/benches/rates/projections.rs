//! Projections: a read model of counts beside the bare driver, and the pages that ten of them read of the journal.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use actix::Addr;
use actix_persistence::Persistence;
use actix_persistence::projection::{
    AtLeastOnceHandler, ExtensionError, GroupHandler, Projection, Session,
};
use actix_persistence::query::{EventEnvelope, EventSelection};
use actix_persistence::sql::Sql;
use actix_persistence::storage_api::{Operation, Plugin};
use actix_persistence_testkit::InterceptedPlugin;
use async_trait::async_trait;
use futures_util::future::join_all;

use crate::bare::Bare;
use crate::database::{Database, SqlConnection, upsert};
use crate::live::{ACTORS, newest};
use crate::notebook::{Notebook, Noted, persisted, persisted_each};
use crate::replay::Note;
use crate::series::{END, Series, rate};

/// The events of each actor that are projected.
const EACH: usize = 500;
/// The events of a transaction.
const GROUP: usize = 100;
/// The time from one event of an actor to its next beside live projections: two cores are enough for 2,000 events a second and
/// ten projections.
const INTERVAL: Duration = Duration::from_millis(50);
/// The projections of the side with many.
const PROJECTIONS: usize = 10;
/// Longer than anything takes that works.
const LONG: Duration = Duration::from_secs(600);

/// The events of each kind, of which there are ten: of ids with the same last digit.
pub(crate) type Counts = BTreeMap<u8, i64>;

/// The read model and, for the bare driver, its progress.
const TABLES: [&str; 3] = [
    "CREATE TABLE projected (kind VARCHAR(8) PRIMARY KEY, n BIGINT NOT NULL)",
    "CREATE TABLE bare_progress (name VARCHAR(8) PRIMARY KEY, at BIGINT NOT NULL)",
    "INSERT INTO bare_progress VALUES ('counts', 0)",
];

/// Counts the events of each kind, by one statement for a group.
struct Counting {
    /// The end of the statement.
    tail: &'static str,
}

#[async_trait]
impl GroupHandler<EventEnvelope<Noted>> for Counting {
    async fn handle_group(
        &self,
        session: &mut dyn Session,
        items: &[EventEnvelope<Noted>],
    ) -> Result<(), ExtensionError> {
        let mut counts = Counts::new();
        for item in items {
            count(&mut counts, item.persistence_id.as_str().as_bytes());
        }
        let sql = upsert(counts.len(), self.tail, |nr| format!("${nr}"));
        let values = counts
            .iter()
            .flat_map(|(kind, n)| [kind.to_string().as_str().into(), (*n).into()]);
        let values: Vec<_> = values.collect();
        session.execute(Sql::assert_safe(sql), values).await?;
        Ok(())
    }
}

pub(crate) fn count(counts: &mut Counts, id: &[u8]) {
    let kind = id.last().copied().unwrap_or_default();
    *counts.entry(kind).or_default() += 1;
}

/// A grouped exactly-once projection of counts, and the bare driver doing the same statements in the same groups: events per
/// second.
pub(crate) async fn counts<D: Database<Connection: SqlConnection>>(series: &Series) {
    let database = D::make().await;
    let kinds = ["journal", "offset-store"];
    let persistence = database.open(&kinds, Persistence::builder()).await;
    let notebooks = Notebook::start_many(&persistence, ACTORS);
    persisted_each(&notebooks, EACH).await;
    let events = ACTORS * EACH;
    let end = newest(&persistence).await;
    let mut bare = Bare::open(&database).await;
    for table in TABLES {
        bare.first().run(table).await;
    }
    let tail = <D::Connection as SqlConnection>::ADDED;
    let mut nr = 0;
    series
        .measure(async |side| {
            bare.first().run("DELETE FROM projected").await;
            let start = Instant::now();
            match side {
                "projection" => {
                    nr += 1;
                    let projection = start_one(&persistence, &format!("counts-{nr}"))
                        .with(|settings| settings.group_size = GROUP)
                        .grouped(Counting { tail })
                        .unwrap();
                    projection.applied(&end, LONG).await.unwrap();
                    let took = start.elapsed();
                    projection.stop().await;
                    assert_eq!(bare.first().projected().await, events as i64);
                    rate(events, took)
                }
                "bare" => {
                    let read = project(bare.first()).await;
                    let took = start.elapsed();
                    assert_eq!(read, events);
                    assert_eq!(bare.first().projected().await, events as i64);
                    rate(events, took)
                }
                other => series.has_no(other),
            }
        })
        .await;
    drop(notebooks);
    persistence.stop(END).await;
    database.close().await;
}

/// The driver without us: reads the events, and stores the counts of each group with the progress.
async fn project<C: SqlConnection>(connection: &mut C) -> usize {
    let mut at = 0;
    connection
        .log(async |connection: &mut C, ids: Vec<Vec<u8>>| {
            for group in ids.chunks(GROUP) {
                let mut counts = Counts::new();
                for id in group {
                    count(&mut counts, id);
                }
                at += group.len() as i64;
                connection.store_counts(&counts, at).await;
            }
        })
        .await
}

fn start_one(
    persistence: &Persistence,
    name: &str,
) -> actix_persistence::projection::ProjectionBuilder<
    actix_persistence::projection::EventSource<Noted>,
> {
    let new = persistence.projection(name);
    new.of_events::<Noted>(None, EventSelection::all()).unwrap()
}

/// Does nothing.
struct Ignoring;

#[async_trait]
impl AtLeastOnceHandler<EventEnvelope<Noted>> for Ignoring {
    async fn handle(&self, _: &EventEnvelope<Noted>) -> Result<(), ExtensionError> {
        Ok(())
    }
}

/// Actors that persist beside ten live projections, or one: the events that are stored for each page of events that the
/// projections ask the journal for. As many events are stored beside ten as beside one: fewer would make smaller pages.
pub(crate) async fn pages<D: Database>(series: &Series) {
    let plugin = match series.backend.as_str() {
        "sqlite" => around(actix_persistence::sqlite::SqlitePlugin::new()),
        "postgres" => around(actix_persistence::postgres::PostgresPlugin::new()),
        "mysql" => around(actix_persistence::mysql::MysqlPlugin::new()),
        other => panic!("no database {other}"),
    };
    let builder = Persistence::builder().plugin(plugin.clone());
    let database = D::make().await;
    let persistence = database.open(&["journal", "offset-store"], builder).await;
    let notebooks = Notebook::start_many(&persistence, ACTORS);
    persisted(&notebooks, Duration::ZERO).await;
    let asked = plugin.journals().on(Operation::QueryEvents).record();
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    series
        .measure(async |side| {
            let number = match side {
                "ten" => PROJECTIONS,
                "one" => 1,
                other => series.has_no(other),
            };
            let after = newest(&persistence).await;
            let projections: Vec<Projection> = (0..number)
                .map(|_| {
                    let nr = NEXT.fetch_add(1, Ordering::Relaxed);
                    start_one(&persistence, &format!("of-pages-{nr}"))
                        .after(after.clone())
                        .at_least_once(Ignoring)
                        .unwrap()
                })
                .collect();
            // They are at the tail then.
            persisted(&notebooks, Duration::ZERO).await;
            applied(&persistence, &projections).await;
            let before = asked.number();
            let stored = persisted_evenly(&notebooks, series.time).await;
            let pages = asked.number() - before;
            asked.take();
            for projection in projections {
                projection.stop().await;
            }
            stored as f64 / pages.max(1) as f64
        })
        .await;
    drop(notebooks);
    persistence.stop(END).await;
    database.close().await;
}

/// Lets every actor persist an event in each interval, which end at different times; returns the number of events.
async fn persisted_evenly(notebooks: &[Addr<Notebook>], time: Duration) -> usize {
    let start = tokio::time::Instant::now();
    let each = notebooks.iter().enumerate().map(async |(nr, notebook)| {
        let mut due = start + INTERVAL.mul_f64(nr as f64 / ACTORS as f64);
        let mut stored = 0;
        while due < start + time {
            tokio::time::sleep_until(due).await;
            notebook.send(Note(1)).await.unwrap().unwrap();
            due += INTERVAL;
            stored += 1;
        }
        stored
    });
    join_all(each).await.into_iter().sum()
}

/// Waits until all of them have handled what is stored.
async fn applied(persistence: &Persistence, projections: &[Projection]) {
    let end = newest(persistence).await;
    let all = projections
        .iter()
        .map(|projection| projection.applied(&end, LONG));
    for applied in join_all(all).await {
        applied.unwrap();
    }
}

fn around(plugin: impl Plugin + 'static) -> InterceptedPlugin {
    InterceptedPlugin::around(plugin)
}
