//! Live queries beside actors that persist, and the delay until a query has what was stored.

use std::time::{Duration, Instant};

use actix::Addr;
use actix_persistence::Persistence;
use actix_persistence::query::{EventOffset, EventSelection, QuerySettings, RecordStream};
use futures_util::StreamExt;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::database::Database;
use crate::notebook::{Notebook, persisted};
use crate::replay::Note;
use crate::series::{END, Series};

/// The actors beside the queries.
pub(crate) const ACTORS: usize = 100;
/// The queries of the side with many; one of them asks for everything.
const QUERIES: usize = 10;
/// The delay that the median is compared with.
const FIVE_MILLISECONDS: Duration = Duration::from_millis(5);
/// The interval of a query that no write of its own process wakes.
const INTERVAL: Duration = Duration::from_millis(100);
/// The delay that such a query stays below, beyond its interval.
const BEYOND: Duration = Duration::from_millis(50);

/// Actors that persist event after event, beside ten live queries, one, or none: events per second.
pub(crate) async fn beside<D: Database>(series: &Series) {
    let database = D::make().await;
    let persistence = database.open(&["journal"], Persistence::builder()).await;
    let notebooks = Notebook::start_many(&persistence, ACTORS);
    persisted(&notebooks, Duration::ZERO).await;
    series
        .measure(async |side| {
            let number = match side {
                "ten" => QUERIES,
                "one" => 1,
                "none" => 0,
                other => series.has_no(other),
            };
            let queries = follow(&persistence, number).await;
            let rate = persisted(&notebooks, series.time).await;
            for query in queries {
                query.abort();
                let _ = query.await;
            }
            rate
        })
        .await;
    drop(notebooks);
    persistence.stop(END).await;
    database.close().await;
}

/// Starts this many live queries from the newest event on: the first of everything, the others of a tag each.
async fn follow(persistence: &Persistence, number: usize) -> Vec<JoinHandle<()>> {
    let queries = persistence.event_queries(None).unwrap();
    let newest = newest(persistence).await;
    let follow = |nr: usize| {
        let selection = match nr {
            0 => EventSelection::all(),
            nr => EventSelection::all().with_tag(nr.to_string()),
        };
        let mut records = queries.event_records(selection, newest.clone());
        tokio::spawn(async move {
            while let Some(record) = records.next().await {
                record.unwrap();
            }
        })
    };
    (0..number).map(follow).collect()
}

pub(crate) async fn newest(persistence: &Persistence) -> EventOffset {
    let queries = persistence.event_queries(None).unwrap();
    let mut all = queries.current_event_records(EventSelection::all(), EventOffset::start());
    while let Some(record) = all.next().await {
        record.unwrap();
    }
    all.offset().clone()
}

/// The median of the time from the confirmation of an event until a live query of the same process has it: one divided by
/// it. The other side is that of five milliseconds.
pub(crate) async fn delay<D: Database>(series: &Series) {
    let database = D::make().await;
    let persistence = database.open(&["journal"], Persistence::builder()).await;
    let notebook = Notebook::start_many(&persistence, 1).remove(0);
    let queries = persistence.event_queries(None).unwrap();
    let mut live =
        Following::begin(queries.event_records(EventSelection::all(), EventOffset::start()));
    series
        .measure(async |side| match side {
            "query" => {
                let delays = delays(&notebook, &mut live, series.time, Duration::ZERO).await;
                one_divided_by(delays[delays.len() / 2])
            }
            "5-ms" => one_divided_by(FIVE_MILLISECONDS),
            other => series.has_no(other),
        })
        .await;
    live.end().await;
    drop((queries, notebook));
    persistence.stop(END).await;
    database.close().await;
}

/// The 95th percentile of the time from the confirmation of an event until a live query that shares nothing with its writer
/// has it: one divided by it. The query looks every 100 ms; the other side is that of 150 ms.
pub(crate) async fn far_delay<D: Database>(series: &Series) {
    let database = D::make().await;
    let writing = database.open(&["journal"], Persistence::builder()).await;
    let reading = database.open(&["journal"], Persistence::builder()).await;
    let notebook = Notebook::start_many(&writing, 1).remove(0);
    let settings = QuerySettings::default().with_refresh_interval(INTERVAL);
    let queries = reading.event_queries_with(None, settings).unwrap();
    let mut live =
        Following::begin(queries.event_records(EventSelection::all(), EventOffset::start()));
    series
        .measure(async |side| match side {
            "query" => {
                // Without a pause the writer follows on what was read, and the next look is as far away as it can be.
                let delays = delays(&notebook, &mut live, series.time, INTERVAL).await;
                one_divided_by(delays[(delays.len() - 1) * 95 / 100])
            }
            "150-ms" => one_divided_by(INTERVAL + BEYOND),
            other => series.has_no(other),
        })
        .await;
    live.end().await;
    drop((queries, notebook));
    writing.stop(END).await;
    reading.stop(END).await;
    database.close().await;
}

/// Stores event after event, each up to `pause` after the one before was read; returns the times until they were read, sorted.
async fn delays(
    notebook: &Addr<Notebook>,
    live: &mut Following,
    time: Duration,
    pause: Duration,
) -> Vec<Duration> {
    let (mut delays, end) = (Vec::new(), Instant::now() + time);
    while delays.is_empty() || Instant::now() < end {
        // Every part of the pause comes equally often.
        let part = (delays.len() as f64 * 0.618_034).fract();
        tokio::time::sleep(pause.mul_f64(part)).await;
        let stored = async {
            notebook.send(Note(1)).await.unwrap().unwrap();
            Instant::now()
        };
        let (stored, taken) = tokio::join!(stored, live.taken.recv());
        let taken = taken.expect("the query goes on");
        delays.push(taken.saturating_duration_since(stored));
    }
    delays.sort_unstable();
    delays
}

/// A live query that is polled all the time, whatever else happens.
struct Following {
    /// The times at which it has got events.
    taken: mpsc::UnboundedReceiver<Instant>,
    task: JoinHandle<()>,
}

impl Following {
    fn begin(mut records: RecordStream) -> Self {
        let (take, taken) = mpsc::unbounded_channel();
        let task = tokio::spawn(async move {
            while let Some(record) = records.next().await {
                record.unwrap();
                let _ = take.send(Instant::now());
            }
        });
        Self { taken, task }
    }

    async fn end(self) {
        self.task.abort();
        let _ = self.task.await;
    }
}

fn one_divided_by(delay: Duration) -> f64 {
    1.0 / delay.max(Duration::from_micros(1)).as_secs_f64()
}
