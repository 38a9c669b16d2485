//! Live queries beside actors that persist, and the delay until a query has what was stored.

use std::time::{Duration, Instant};

use actix_persistence::Persistence;
use actix_persistence::query::{EventOffset, EventSelection};
use futures_util::StreamExt;
use tokio::task::JoinHandle;

use crate::database::Database;
use crate::notebook::{Notebook, persisted};
use crate::replay::Note;
use crate::series::{END, Series};

/// The actors beside the queries.
const ACTORS: usize = 100;
/// The queries of the side with many; one of them asks for everything.
const QUERIES: usize = 10;
/// The delay that the median is compared with.
const FIVE_MILLISECONDS: Duration = Duration::from_millis(5);

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

async fn newest(persistence: &Persistence) -> EventOffset {
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
    let mut live = queries.event_records(EventSelection::all(), EventOffset::start());
    series
        .measure(async |side| match side {
            "query" => {
                let (mut delays, end) = (Vec::new(), Instant::now() + series.time);
                while delays.is_empty() || Instant::now() < end {
                    let stored = async {
                        notebook.send(Note(1)).await.unwrap().unwrap();
                        Instant::now()
                    };
                    let taken = async {
                        live.next().await.unwrap().unwrap();
                        Instant::now()
                    };
                    let (stored, taken) = tokio::join!(stored, taken);
                    delays.push(taken.saturating_duration_since(stored));
                }
                delays.sort_unstable();
                let median = delays[delays.len() / 2].max(Duration::from_micros(1));
                1.0 / median.as_secs_f64()
            }
            "5-ms" => 1.0 / FIVE_MILLISECONDS.as_secs_f64(),
            other => series.has_no(other),
        })
        .await;
    drop((live, queries, notebook));
    persistence.stop(END).await;
    database.close().await;
}
