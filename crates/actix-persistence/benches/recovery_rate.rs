//! The rate at which actors recover, beside the bare driver that reads the same rows in pages, in one run.
//!
//! Prints ratios, because absolute numbers say more about the machine than about the code.
//! `EVENTS` sets the number of events of the long log, `IDS` the number of logs of 100 events, `ROUNDS` the number of
//! rounds; `ONLY` names one database. A server without a URL in its variable is left out, loudly.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod notebook;
mod rates;
mod recovery {
    pub(crate) mod bare;
    pub(crate) mod mysql;
    pub(crate) mod postgres;
    pub(crate) mod sqlite;
}

use std::time::Instant;

use actix::prelude::*;
use actix_persistence::Config;
use actix_persistence::prelude::*;
use futures_util::future::join_all;

use notebook::{Notebook, Noted, PAYLOAD};
use rates::{from_environment, median, rate};
use recovery::bare::Bare;
use recovery::mysql::MySql;
use recovery::postgres::Postgres;
use recovery::sqlite::Sqlite;

const BATCH: usize = 1_000;
/// The events of each of many logs.
const EACH: usize = 100;
/// The factor by which the long log is longer than the short one.
const TIMES: usize = 10;
/// The ratio to a log a tenth as long that the bench must reach.
const AT_LEAST_TO_SHORT: f64 = 0.7;

/// Notes this many events in one atomic write.
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
    let mut all_reached = true;
    all_reached &= compare::<Sqlite>().await;
    all_reached &= compare::<Postgres>().await;
    all_reached &= compare::<MySql>().await;
    if !all_reached {
        println!("MISSED");
        std::process::exit(1);
    }
}

/// Measures on one database, if there is one, and returns whether the ratios are reached.
async fn compare<B: Bare>() -> bool {
    if std::env::var("ONLY").is_ok_and(|name| name != B::NAME) {
        return true;
    }
    let Some(mut bare) = B::make().await else {
        println!(
            "WARNING: {} is left out: {} is not set",
            B::NAME,
            B::VARIABLE
        );
        return true;
    };
    let events = from_environment("EVENTS", 100_000) / (TIMES * BATCH) * TIMES * BATCH;
    let ids = from_environment("IDS", 1_000);
    let rounds = from_environment("ROUNDS", 5);
    fill(bare.config(), events, ids).await;
    bare.open().await;

    let mut rates = [(); 5].map(|()| Vec::new());
    let many = (0..ids).map(|n| n.to_string()).collect::<Vec<_>>();
    let all = ids * EACH;
    for round in 1..=rounds {
        rates[0].push(replay(&mut bare, &["long".to_owned()], events).await);
        rates[1].push(recover(bare.config(), &["long".to_owned()], events).await);
        rates[2].push(recover(bare.config(), &["short".to_owned()], events / TIMES).await);
        rates[3].push(replay(&mut bare, &many, all).await);
        rates[4].push(recover(bare.config(), &many, all).await);
        eprintln!("{}: round {round} of {rounds} done", B::NAME);
    }
    bare.close().await;
    report::<B>(rates, events, ids)
}

fn report<B: Bare>(rates: [Vec<f64>; 5], events: usize, ids: usize) -> bool {
    let [bare_one, one, short, bare_many, many] = rates.map(median);
    println!("on {} with events of {PAYLOAD} bytes, medians:", B::NAME);
    println!("  bare sqlx, pages of one log  {bare_one:>9.0} events/s");
    println!("  an actor with {events:>7} events {one:>9.0} events/s");
    println!(
        "  an actor with {:>7} events {short:>9.0} events/s",
        events / TIMES
    );
    println!("  bare sqlx, a page for each id{bare_many:>9.0} events/s");
    println!("  {ids:>5} actors, {EACH} events each {many:>9.0} events/s");
    let ratios = [
        (
            "of one log to bare pages",
            one / bare_one,
            B::AT_LEAST_ONE_LOG,
        ),
        (
            "of many logs to bare pages",
            many / bare_many,
            B::AT_LEAST_MANY_LOGS,
        ),
        (
            "of the long log to the short",
            one / short,
            AT_LEAST_TO_SHORT,
        ),
    ];
    for (name, ratio, least) in ratios {
        println!("ratio {name}: {ratio:.2} (at least {least})");
    }
    ratios.iter().all(|(_, ratio, least)| ratio >= least)
}

async fn fill(config: Config, events: usize, ids: usize) {
    let persistence = Persistence::open(config).await.unwrap();
    let logs = [
        ("long".to_owned(), events),
        ("short".to_owned(), events / TIMES),
    ];
    for (name, events) in logs {
        let notebook = persistence
            .start(move || Notebook::named(name.clone()))
            .unwrap();
        for _ in 0..events / BATCH {
            notebook.send(Note(BATCH)).await.unwrap().unwrap();
        }
    }
    let notebooks: Vec<_> = (0..ids)
        .map(|n| {
            let make = move || Notebook::named(n.to_string());
            persistence.start(make).unwrap()
        })
        .collect();
    let noted = join_all(notebooks.iter().map(|notebook| notebook.send(Note(EACH)))).await;
    assert!(noted.into_iter().all(|noted| noted.unwrap().is_ok()));
    drop(notebooks);
    persistence.stop(std::time::Duration::from_secs(10)).await;
}

/// From the start of the actors to their first answers: events per second.
async fn recover(config: Config, names: &[String], events: usize) -> f64 {
    // The actors before may still hold the ids in theirs.
    let persistence = Persistence::open(config).await.unwrap();
    let start = Instant::now();
    let counts = join_all(names.iter().map(|name| {
        let name = name.clone();
        let notebook = persistence.start(move || Notebook::named(name.clone()));
        notebook.unwrap().send(Count)
    }))
    .await;
    let took = start.elapsed();
    let count: u64 = counts.into_iter().map(Result::unwrap).sum();
    assert_eq!(count, events as u64);
    persistence.stop(std::time::Duration::from_secs(10)).await;
    rate(events, took)
}

/// The driver without us: the same rows, and what an event is made of taken out of them.
async fn replay<B: Bare>(bare: &mut B, names: &[String], events: usize) -> f64 {
    let start = Instant::now();
    let mut count = 0;
    for name in names {
        let id = format!("Notebook|{name}");
        let mut last = 0;
        loop {
            let (rows, newest) = bare.page(&id, last).await;
            count += rows;
            last = newest;
            if rows < BATCH {
                break;
            }
        }
    }
    assert_eq!(count, events);
    rate(events, start.elapsed())
}
