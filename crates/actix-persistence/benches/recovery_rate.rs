//! The rate at which an actor recovers: against the bare driver on the same rows, and with a log ten times as long.
//!
//! Prints ratios, because absolute numbers say more about the machine than about the code.
//! `EVENTS` sets the number of events of the long log, `ROUNDS` the number of rounds.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod notebook;
mod rates;

use std::path::Path;
use std::time::Instant;

use actix::prelude::*;
use actix_persistence::prelude::*;
use futures_util::TryStreamExt;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Row};

use notebook::{Notebook, Noted, PAYLOAD};
use rates::{from_environment, median, rate};

const BATCH: usize = 1_000;
/// The factor by which the long log is longer.
const TIMES: usize = 10;
/// The ratio that the bench must reach.
const AT_LEAST_TO_BARE: f64 = 0.5;
const AT_LEAST_TO_SHORT: f64 = 0.7;

/// Notes so many events in one atomic write.
#[derive(Message)]
#[rtype(result = "Result<(), PersistError>")]
struct Note(usize);

impl Handler<Note> for Notebook {
    type Result = Reply<Note>;

    fn handle(&mut self, note: Note, ctx: &mut Self::Context) -> Reply<Note> {
        let events = (0..note.0).map(|_| Noted::new());
        ctx.persist_all(events).reply(|_| Ok(()))
    }
}

/// Asks for the number of notes, which is there after the recovery.
#[derive(Message)]
#[rtype(result = "u64")]
struct Count;

impl Handler<Count> for Notebook {
    type Result = u64;

    fn handle(&mut self, _: Count, _: &mut Self::Context) -> u64 {
        self.notes
    }
}

#[actix::main]
async fn main() {
    let events = from_environment("EVENTS", 300_000) / (TIMES * BATCH) * TIMES * BATCH;
    let rounds = from_environment("ROUNDS", 5);
    let directory = tempfile::tempdir_in(".").unwrap();
    let file = directory.path().join("bench.db");
    fill(&file, "short", events / TIMES).await;
    fill(&file, "long", events).await;

    let mut rates = [(); 3].map(|()| Vec::new());
    for round in 1..=rounds {
        rates[0].push(bare(&file, events).await);
        rates[1].push(recovery(&file, "short", events / TIMES).await);
        rates[2].push(recovery(&file, "long", events).await);
        eprintln!("round {round} of {rounds} done");
    }
    report(rates, events);
}

fn report(rates: [Vec<f64>; 3], events: usize) {
    let [bare, short, long] = rates.map(median);
    println!("on one SQLite file with events of {PAYLOAD} bytes, medians:");
    println!("  bare sqlx, row by row      {bare:>9.0} events/s");
    println!(
        "  an actor with {:>7} events {short:>7.0} events/s",
        events / TIMES
    );
    println!("  an actor with {events:>7} events {long:>7.0} events/s");
    let (to_bare, to_short) = (long / bare, long / short);
    println!("ratio to reading the rows: {to_bare:.2} (at least {AT_LEAST_TO_BARE})");
    println!("ratio to the short log:    {to_short:.2} (at least {AT_LEAST_TO_SHORT})");
    if to_bare < AT_LEAST_TO_BARE || to_short < AT_LEAST_TO_SHORT {
        println!("MISSED");
        std::process::exit(1);
    }
}

async fn fill(file: &Path, name: &'static str, events: usize) {
    let persistence = Persistence::sqlite(file).await.unwrap();
    let notebook = persistence.start(move || Notebook::named(name)).unwrap();
    for _ in 0..events / BATCH {
        notebook.send(Note(BATCH)).await.unwrap().unwrap();
    }
}

/// From the start of the actor to its first answer: events per second.
async fn recovery(file: &Path, name: &'static str, events: usize) -> f64 {
    // The actor before may still hold the id in its own.
    let persistence = Persistence::sqlite(file).await.unwrap();
    let start = Instant::now();
    let notebook = persistence.start(move || Notebook::named(name)).unwrap();
    assert_eq!(notebook.send(Count).await.unwrap(), events as u64);
    rate(events, start.elapsed())
}

/// The driver without us: the same rows, and what an event is made of taken out of them.
async fn bare(file: &Path, events: usize) -> f64 {
    let options = SqliteConnectOptions::new().filename(file);
    let mut connection = options.connect().await.unwrap();
    let start = Instant::now();
    let mut rows = sqlx::query(
        "SELECT sequence_nr, timestamp, writer_uuid, serializer_id, event_manifest, payload
         FROM event_journal WHERE persistence_id = 'Notebook|long' ORDER BY sequence_nr",
    )
    .fetch(&mut connection);
    let (mut count, mut bytes) = (0, 0);
    while let Some(row) = rows.try_next().await.unwrap() {
        count += 1;
        assert_eq!(row.get::<i64, _>(0), count);
        let (_timestamp, _serializer) = (row.get::<i64, _>(1), row.get::<i64, _>(3));
        bytes += row.get::<Vec<u8>, _>(2).len() + row.get::<String, _>(4).len();
        bytes += row.get::<Vec<u8>, _>(5).len();
    }
    assert_eq!(count, events as i64);
    assert!(bytes > events * PAYLOAD);
    rate(events, start.elapsed())
}
