//! One actor that need not wait: `persist_async` against `persist`, and a long queue against a short one.
//!
//! Prints ratios, because absolute numbers say more about the disk than about the code.
//! `EVENTS` sets the number of events per round, `ROUNDS` the number of rounds.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod notebook;
mod rates;

use std::time::Instant;

use actix::prelude::*;
use actix_persistence::prelude::*;
use futures_util::future::join_all;

use notebook::{Notebook, Noted, PAYLOAD};
use rates::{from_environment, median, rate};

/// The factor by which the long queue is longer.
const TIMES: usize = 10;
/// The ratio that the bench must reach.
const AT_LEAST_TO_PERSIST: f64 = 3.0;
const AT_LEAST_TO_SHORT: f64 = 0.5;

#[derive(Clone, Copy, Message)]
#[rtype(result = "Result<u64, PersistError>")]
enum Note {
    Persist,
    PersistAsync,
}

impl Handler<Note> for Notebook {
    type Result = Reply<Note>;

    fn handle(&mut self, note: Note, ctx: &mut Self::Context) -> Reply<Note> {
        let persist = match note {
            Note::Persist => ctx.persist(Noted::new()),
            Note::PersistAsync => ctx.persist_async(Noted::new()),
        };
        persist.reply(|notebook| Ok(notebook.notes))
    }
}

/// Persists this many events in one turn, each with a handler and a deferred call after it.
#[derive(Message)]
#[rtype(result = "Result<u64, PersistError>")]
struct Queue(usize);

impl Handler<Queue> for Notebook {
    type Result = Reply<Queue>;

    fn handle(&mut self, queue: Queue, ctx: &mut Self::Context) -> Reply<Queue> {
        for _ in 0..queue.0 {
            ctx.persist_async(Noted::new())
                .then(|notebook, _, ctx| assert!(ctx.last_sequence_nr() >= notebook.notes))
                .detach();
            ctx.defer_async(|_, _| ()).detach();
        }
        ctx.defer(|_, _| ()).reply(|notebook| Ok(notebook.notes))
    }
}

#[actix::main]
async fn main() {
    let events = from_environment("EVENTS", 20_000);
    let rounds = from_environment("ROUNDS", 5);
    let directory = tempfile::tempdir_in(".").unwrap();
    let on_disk = Persistence::sqlite(directory.path().join("bench.db"))
        .await
        .unwrap();
    let disk = on_disk.start(|| Notebook::named("disk")).unwrap();
    let in_memory = Persistence::memory().await.unwrap();

    let mut rates = [(); 4].map(|()| Vec::new());
    for round in 1..=rounds {
        rates[0].push(asked(&disk, Note::Persist, events / 10).await);
        rates[1].push(asked(&disk, Note::PersistAsync, events).await);
        // A log of its own each time, so that a round does not pay for the ones before.
        let memory = in_memory
            .start(move || Notebook::named(format!("memory {round}")))
            .unwrap();
        rates[2].push(queued(&memory, events / TIMES).await);
        rates[3].push(queued(&memory, events).await);
        eprintln!("round {round} of {rounds} done");
    }
    report(rates, events);
}

fn report(rates: [Vec<f64>; 4], events: usize) {
    let [persist, persist_async, short, long] = rates.map(median);
    println!("one actor, events of {PAYLOAD} bytes, medians:");
    println!("  persist, SQLite                {persist:>9.0} events/s");
    println!("  persist_async, SQLite          {persist_async:>9.0} events/s");
    println!(
        "  a queue of {:>7} in memory   {short:>9.0} events/s",
        events / TIMES
    );
    println!("  a queue of {events:>7} in memory   {long:>9.0} events/s");
    let (to_persist, to_short) = (persist_async / persist, long / short);
    println!(
        "ratio of persist_async to persist:   {to_persist:.2} (at least {AT_LEAST_TO_PERSIST})"
    );
    println!("ratio of the long queue to the short: {to_short:.2} (at least {AT_LEAST_TO_SHORT})");
    if to_persist < AT_LEAST_TO_PERSIST || to_short < AT_LEAST_TO_SHORT {
        println!("MISSED");
        std::process::exit(1);
    }
}

/// From the first ask to the last answer: events per second.
async fn asked(notebook: &Addr<Notebook>, note: Note, events: usize) -> f64 {
    let start = Instant::now();
    let answers = join_all((0..events).map(|_| notebook.send(note))).await;
    let took = start.elapsed();
    assert!(answers.into_iter().all(|answer| answer.unwrap().is_ok()));
    rate(events, took)
}

/// All events of one turn, until the last of them is handled: events per second.
async fn queued(notebook: &Addr<Notebook>, events: usize) -> f64 {
    let start = Instant::now();
    notebook.send(Queue(events)).await.unwrap().unwrap();
    rate(events, start.elapsed())
}
