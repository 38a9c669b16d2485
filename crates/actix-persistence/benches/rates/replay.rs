//! The recovery of one long log, and of many short ones, and a query of all their events, beside the bare driver that reads the
//! same rows in pages.

use std::time::Instant;

use actix::prelude::*;
use actix_persistence::Persistence;
use actix_persistence::prelude::*;
use actix_persistence::query::{EventOffset, EventSelection, QuerySettings};
use futures_util::StreamExt;
use futures_util::future::join_all;

use crate::bare::Bare;
use crate::database::{Database, SqlConnection};
use crate::notebook::Notebook;
use crate::series::{END, Series, rate};

/// The events of the long log.
pub(crate) const LONG: usize = 100_000;
/// The events of the short one.
const SHORT: usize = LONG / 10;
/// The number of logs of many.
const LOGS: usize = 1_000;
/// The events of each of many.
pub(crate) const EACH: usize = 100;
/// The rows of a page, and the events of an atomic write.
pub(crate) const PAGE: usize = 1_000;

/// Notes this many events in one atomic write.
#[derive(Message)]
#[rtype(result = "Result<(), PersistError>")]
pub(crate) struct Note(pub(crate) usize);

impl Handler<Note> for Notebook {
    type Result = Reply<Note>;

    fn handle(&mut self, note: Note, ctx: &mut Self::Context) -> Reply<Note> {
        let events = (0..note.0).map(|_| crate::notebook::Noted::new());
        ctx.persist_all(events).reply(|_| Ok(()))
    }
}

/// Asks for the number of notes, which is there after the recovery.
#[derive(Message)]
#[rtype(result = "u64")]
pub(crate) struct Count;

impl Handler<Count> for Notebook {
    type Result = u64;

    fn handle(&mut self, _: Count, _: &mut Self::Context) -> u64 {
        self.notes
    }
}

/// One long log; and a short one, because a long one should not be slower.
pub(crate) async fn one<D: Database<Connection: SqlConnection>>(series: &Series) {
    let long = ["long".to_owned()];
    let short = ["short".to_owned()];
    let database = D::make().await;
    fill(&database, &long, LONG, PAGE).await;
    fill(&database, &short, SHORT, PAGE).await;
    let mut bare = Bare::open(&database).await;
    series
        .measure(async |side| match side {
            "actor" => recover(&database, &long, LONG).await,
            "short" => recover(&database, &short, SHORT).await,
            "pages" => replay(bare.first(), &long, LONG).await,
            other => series.has_no(other),
        })
        .await;
    database.close().await;
}

/// Many short logs.
pub(crate) async fn many<D: Database<Connection: SqlConnection>>(series: &Series) {
    let names = names_of_many();
    let database = D::make().await;
    fill(&database, &names, EACH, PAGE).await;
    let mut bare = Bare::open(&database).await;
    series
        .measure(async |side| match side {
            "actors" => recover(&database, &names, EACH).await,
            "pages" => replay(bare.first(), &names, EACH).await,
            other => series.has_no(other),
        })
        .await;
    database.close().await;
}

pub(crate) fn names_of_many() -> Vec<String> {
    (0..LOGS).map(|number| number.to_string()).collect()
}

/// The events of many logs in the order of their commits.
pub(crate) async fn catch_up<D: Database<Connection: SqlConnection>>(series: &Series) {
    let names = names_of_many();
    let database = D::make().await;
    fill(&database, &names, EACH, PAGE).await;
    let mut bare = Bare::open(&database).await;
    series
        .measure(async |side| match side {
            "query" => query_all(&database, LOGS * EACH).await,
            "pages" => {
                let start = Instant::now();
                let read = bare.first().log(async |_: &mut _, _| {}).await;
                assert_eq!(read, LOGS * EACH);
                rate(LOGS * EACH, start.elapsed())
            }
            other => series.has_no(other),
        })
        .await;
    database.close().await;
}

/// A query of all events, decoded: events per second.
async fn query_all<D: Database>(database: &D, events: usize) -> f64 {
    let persistence = database.open(&["journal"], Persistence::builder()).await;
    let settings = QuerySettings::default().with_page_size(PAGE);
    let queries = persistence.event_queries_with(None, settings).unwrap();
    let start = Instant::now();
    let mut stream = queries
        .current_events::<crate::notebook::Noted>(EventSelection::all(), EventOffset::start());
    let mut count = 0;
    while let Some(event) = stream.next().await {
        event.unwrap();
        count += 1;
    }
    let took = start.elapsed();
    assert_eq!(count, events);
    drop(stream);
    drop(queries);
    persistence.stop(END).await;
    rate(events, took)
}

/// Stores this many events of each; each stores up to `batch` of them in an atomic write.
pub(crate) async fn fill<D: Database>(database: &D, names: &[String], events: usize, batch: usize) {
    let persistence = database.open(&["journal"], Persistence::builder()).await;
    let stored = names.iter().map(async |name| {
        let name = name.clone();
        let notebook = persistence.start(move || Notebook::named(name.clone()));
        let notebook = notebook.unwrap();
        for stored in (0..events).step_by(batch) {
            let noted = notebook.send(Note(batch.min(events - stored))).await;
            noted.unwrap().unwrap();
        }
    });
    join_all(stored).await;
    persistence.stop(END).await;
    database.settle().await;
}

/// From the start of the actors to their first answers: events per second.
pub(crate) async fn recover<D: Database>(database: &D, names: &[String], events: usize) -> f64 {
    // The actors before may still hold the ids in theirs.
    let persistence = database.open(&["journal"], Persistence::builder()).await;
    let start = Instant::now();
    let counts = join_all(names.iter().map(|name| {
        let name = name.clone();
        let notebook = persistence.start(move || Notebook::named(name.clone()));
        notebook.unwrap().send(Count)
    }))
    .await;
    let took = start.elapsed();
    assert!(
        counts
            .into_iter()
            .all(|count| count.unwrap() == events as u64)
    );
    persistence.stop(END).await;
    rate(names.len() * events, took)
}

/// The driver without us: the same rows, and what an event is made of taken out of them.
async fn replay(connection: &mut impl SqlConnection, names: &[String], events: usize) -> f64 {
    let start = Instant::now();
    for name in names {
        let id = format!("Notebook|{name}");
        let (mut count, mut last) = (0, 0);
        loop {
            let (rows, newest) = connection.page(&id, last).await;
            count += rows;
            last = newest;
            if rows < PAGE {
                break;
            }
        }
        assert_eq!(count, events);
    }
    rate(names.len() * events, start.elapsed())
}
