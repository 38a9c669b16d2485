//! One actor that need not wait: many `persist_async` in one turn.

use std::time::{Duration, Instant};

use actix::prelude::*;
use actix_persistence::Persistence;
use actix_persistence::prelude::*;

use crate::bare::Bare;
use crate::database::Database;
use crate::notebook::{Notebook, Noted, persisted};
use crate::row::Table;
use crate::series::{END, Series, rate};

/// The events of a burst.
const BURST: usize = 10_000;
/// The rows of a bare batch.
const BATCH: usize = 1_000;
/// The events of a long queue.
const LONG: usize = 20_000;
/// The events of a short one.
const SHORT: usize = LONG / 10;

/// Persists this many events in one turn, each with a handler.
#[derive(Message)]
#[rtype(result = "Result<u64, PersistError>")]
struct Burst {
    events: usize,
    /// Puts a deferred call after each event.
    deferring: bool,
}

impl Handler<Burst> for Notebook {
    type Result = Reply<Burst>;

    fn handle(&mut self, burst: Burst, ctx: &mut Self::Context) -> Reply<Burst> {
        for _ in 0..burst.events {
            ctx.persist_async(Noted::new())
                .then(|notebook, _, ctx| assert!(ctx.last_sequence_nr() >= notebook.notes))
                .detach();
            if burst.deferring {
                ctx.defer_async(|_, _| ()).detach();
            }
        }
        ctx.defer(|_, _| ()).reply(|notebook| Ok(notebook.notes))
    }
}

/// Bursts on a database.
pub(crate) async fn run<D: Database>(series: &Series) {
    let database = D::make().await;
    let persistence = database.open(&["journal"], Persistence::builder()).await;
    let notebooks = Notebook::start_many(&persistence, 1);
    // The actor has recovered before the clock starts.
    persisted(&notebooks, Duration::ZERO).await;
    let mut bare = Bare::open(&database).await;
    series
        .measure(async |side| match side {
            "actor" => bursts(&notebooks[0], series.time).await,
            "batches" => bare.on_one(Table::Events, BATCH, series.time).await,
            "persist" => persisted(&notebooks, series.time).await,
            other => series.has_no(other),
        })
        .await;
    drop(notebooks);
    persistence.stop(END).await;
    database.close().await;
}

/// Long and short queues in memory.
pub(crate) async fn queue(series: &Series) {
    let persistence = Persistence::memory().await.unwrap();
    let mut number = 0;
    series
        .measure(async |side| {
            let events = match side {
                "long" => LONG,
                "short" => SHORT,
                other => series.has_no(other),
            };
            // A log of its own each time, so that a round does not pay for the ones before.
            number += 1;
            let name = number.to_string();
            let notebook = persistence.start(move || Notebook::named(name.clone()));
            burst(&notebook.unwrap(), events, true).await
        })
        .await;
    persistence.stop(END).await;
}

/// Burst after burst: events per second.
pub(crate) async fn bursts(notebook: &Addr<Notebook>, time: Duration) -> f64 {
    let start = Instant::now();
    let mut events = 0;
    while events == 0 || start.elapsed() < time {
        burst(notebook, BURST, false).await;
        events += BURST;
    }
    rate(events, start.elapsed())
}

/// All events of one turn, until the last of them is handled: events per second.
async fn burst(notebook: &Addr<Notebook>, events: usize, deferring: bool) -> f64 {
    let start = Instant::now();
    let notes = notebook.send(Burst { events, deferring }).await.unwrap();
    assert!(notes.unwrap() >= events as u64);
    rate(events, start.elapsed())
}
