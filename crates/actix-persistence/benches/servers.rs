//! Group commit and recovery on database servers, against the bare driver on the same server in one run.
//!
//! Prints ratios, because absolute numbers say more about the server's disk than about the code.
//! `EVENTS` sets the number of events per round, `ROUNDS` the number of rounds. A server without a URL in its variable is
//! left out, loudly.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod notebook;
mod rates;
mod servers {
    pub(crate) mod bare;
    pub(crate) mod mysql;
    pub(crate) mod postgres;
}

use std::time::Instant;

use actix::prelude::*;
use actix_persistence::Config;
use actix_persistence::prelude::*;
use futures_util::future::join_all;

use notebook::{Notebook, Noted};
use rates::{from_environment, median, rate};
use servers::bare::{BATCH, Bare};
use servers::mysql::MySql;
use servers::postgres::Postgres;

const ACTORS: usize = 1_000;
/// The ratio that the bench must reach.
const AT_LEAST_TO_SINGLE: f64 = 2.0;
const AT_LEAST_TO_BATCHES: f64 = 0.3;
const AT_LEAST_RECOVERY: f64 = 0.2;

/// Notes this many events in one atomic write.
#[derive(Message)]
#[rtype(result = "Result<u64, PersistError>")]
struct Note(usize);

impl Handler<Note> for Notebook {
    type Result = Reply<Note>;

    fn handle(&mut self, note: Note, ctx: &mut Self::Context) -> Reply<Note> {
        let events = (0..note.0).map(|_| Noted::new());
        ctx.persist_all(events).reply(|notebook| Ok(notebook.notes))
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
    all_reached &= compare::<Postgres>().await;
    all_reached &= compare::<MySql>().await;
    if !all_reached {
        println!("MISSED");
        std::process::exit(1);
    }
}

/// Measures on one server, if there is one, and returns whether the ratios are reached.
async fn compare<B: Bare>() -> bool {
    let Ok(url) = std::env::var(B::VARIABLE) else {
        println!(
            "WARNING: {} is left out: {} is not set",
            B::NAME,
            B::VARIABLE
        );
        return true;
    };
    let events = from_environment("EVENTS", 30_000);
    let rounds = from_environment("ROUNDS", 5);
    let mut bare = B::open(&url).await;
    let config = Config::new()
        .with("persistence.journal.bench.kind", B::NAME)
        .with("persistence.journal.bench.url", bare.url())
        .with("persistence.journal.bench.auto-initialize", true)
        .with("persistence.journal.plugin", "bench");
    let persistence = Persistence::open(config).await.unwrap();
    let notebooks: Vec<_> = (0..ACTORS)
        .map(|n| {
            let make = move || Notebook::named(n.to_string());
            persistence.start(make).unwrap()
        })
        .collect();
    // Every actor has recovered before the clock starts.
    join_all(notebooks.iter().map(|notebook| notebook.send(Note(1)))).await;
    store_long_log(&persistence, events).await;

    let mut rates = [(); 5].map(|()| Vec::new());
    for round in 1..=rounds {
        rates[0].push(bare.singles(events / 10).await);
        rates[1].push(bare.batches(events).await);
        rates[2].push(through_actors(&notebooks, events).await);
        rates[3].push(bare.replay("Notebook|long", events).await);
        rates[4].push(recover(&persistence, events).await);
        eprintln!("{}: round {round} of {rounds} done", B::NAME);
    }
    drop(notebooks);
    persistence.stop(std::time::Duration::from_secs(10)).await;
    bare.close().await;
    report::<B>(rates)
}

fn report<B: Bare>(rates: [Vec<f64>; 5]) -> bool {
    let [single, batches, actors, replay, recovery] = rates.map(median);
    println!("on one {} with its default durability, medians:", B::NAME);
    println!("  bare sqlx, one transaction an event {single:>9.0} events/s");
    println!("  bare sqlx, batches of {BATCH} on two connections {batches:>9.0} events/s");
    println!("  {ACTORS} actors, group commit         {actors:>9.0} events/s");
    println!("  bare sqlx, pages of one log         {replay:>9.0} events/s");
    println!("  recovery of one log                 {recovery:>9.0} events/s");
    let ratios = [
        (
            "to one transaction an event",
            actors / single,
            AT_LEAST_TO_SINGLE,
        ),
        ("to bare batches", actors / batches, AT_LEAST_TO_BATCHES),
        (
            "of recovery to bare pages",
            recovery / replay,
            AT_LEAST_RECOVERY,
        ),
    ];
    for (name, ratio, least) in ratios {
        println!("ratio {name}: {ratio:.2} (at least {least})");
    }
    ratios.iter().all(|(_, ratio, least)| ratio >= least)
}

/// Every actor asks for its next event when the one before is stored: events per second.
async fn through_actors(notebooks: &[Addr<Notebook>], events: usize) -> f64 {
    let each = events / notebooks.len();
    let start = Instant::now();
    join_all(notebooks.iter().map(|notebook| async move {
        for _ in 0..each {
            notebook.send(Note(1)).await.unwrap().unwrap();
        }
    }))
    .await;
    rate(each * notebooks.len(), start.elapsed())
}

async fn store_long_log(persistence: &Persistence, events: usize) {
    let long = persistence.start(|| Notebook::named("long")).unwrap();
    for _ in 0..events / BATCH {
        long.send(Note(BATCH)).await.unwrap().unwrap();
    }
    drop(long);
    persistence.drained().await;
}

async fn recover(persistence: &Persistence, events: usize) -> f64 {
    let start = Instant::now();
    // The one before may be on its way out for an instant.
    let long = loop {
        match persistence.start(|| Notebook::named("long")) {
            Ok(long) => break long,
            Err(StartError::AlreadyRunning(_)) => tokio::task::yield_now().await,
            Err(error) => panic!("{error}"),
        }
    };
    let count = long.send(Count).await.unwrap();
    let took = start.elapsed();
    assert_eq!(count as usize, events / BATCH * BATCH);
    rate(count as usize, took)
}
