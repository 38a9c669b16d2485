//! Group commit at work: a thousand actors against the bare driver, in one run on one file.
//!
//! Prints ratios, because absolute numbers say more about the disk than about the code.
//! `EVENTS` sets the number of events per round, `ROUNDS` the number of rounds.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod notebook;
mod rates;

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

use actix::prelude::*;
use actix_persistence::prelude::*;
use futures_util::future::join_all;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{Connection, SqliteConnection};

use notebook::{Notebook, Noted, PAYLOAD};
use rates::{from_environment, median, rate};

const ACTORS: usize = 1_000;
const BATCH: usize = 100;
/// The ratio that the bench must reach.
const AT_LEAST_TO_SINGLE: f64 = 2.0;
const AT_LEAST_TO_BATCHES: f64 = 0.45;

#[derive(Message)]
#[rtype(result = "Result<u64, PersistError>")]
struct Note;

impl Handler<Note> for Notebook {
    type Result = Reply<Note>;

    fn handle(&mut self, _: Note, ctx: &mut Self::Context) -> Reply<Note> {
        ctx.persist(Noted::new())
            .reply(|notebook| Ok(notebook.notes))
    }
}

#[actix::main]
async fn main() {
    let events = from_environment("EVENTS", 30_000);
    let rounds = from_environment("ROUNDS", 5);
    let directory = tempfile::tempdir_in(".").unwrap();
    let file = directory.path().join("bench.db");

    let persistence = Persistence::sqlite(&file).await.unwrap();
    let notebooks: Vec<_> = (0..ACTORS)
        .map(|n| {
            let make = move || Notebook::named(n.to_string());
            persistence.start(make).unwrap()
        })
        .collect();
    // Every actor has recovered before the clock starts.
    join_all(notebooks.iter().map(|notebook| notebook.send(Note))).await;
    let mut bare = Bare::open(&file).await;

    let mut rates = [(); 4].map(|()| Vec::new());
    for round in 1..=rounds {
        rates[0].push(fsyncs(&directory.path().join("fsync"), 2_000));
        rates[1].push(bare.singles(events / 10).await);
        rates[2].push(bare.batches(events).await);
        rates[3].push(through_actors(&notebooks, events).await);
        eprintln!("round {round} of {rounds} done");
    }
    report(rates);
}

fn report(rates: [Vec<f64>; 4]) {
    let [fsync, single, batches, actors] = rates.map(median);
    println!("on one SQLite file with synchronous=FULL, medians:");
    println!("  4 KiB append + fdatasync            {fsync:>9.0} /s");
    println!("  bare sqlx, one transaction an event {single:>9.0} events/s");
    println!("  bare sqlx, batches of {BATCH}           {batches:>9.0} events/s");
    println!("  {ACTORS} actors, group commit         {actors:>9.0} events/s");
    let (to_single, to_batches) = (actors / single, actors / batches);
    println!("ratio to one transaction an event: {to_single:.2} (at least {AT_LEAST_TO_SINGLE})");
    println!(
        "ratio to bare batches of {BATCH}:      {to_batches:.2} (at least {AT_LEAST_TO_BATCHES})"
    );
    if to_single < AT_LEAST_TO_SINGLE || to_batches < AT_LEAST_TO_BATCHES {
        println!("MISSED");
        std::process::exit(1);
    }
}

/// Every actor asks for its next event when the one before is stored: events per second.
async fn through_actors(notebooks: &[Addr<Notebook>], events: usize) -> f64 {
    let each = events / notebooks.len();
    let start = Instant::now();
    join_all(notebooks.iter().map(|notebook| async move {
        for _ in 0..each {
            notebook.send(Note).await.unwrap().unwrap();
        }
    }))
    .await;
    rate(each * notebooks.len(), start.elapsed())
}

/// The driver without us: the same columns, the same file.
struct Bare {
    connection: SqliteConnection,
    next: i64,
}

impl Bare {
    async fn open(file: &Path) -> Self {
        let options = SqliteConnectOptions::new()
            .filename(file)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full);
        let mut connection = SqliteConnection::connect_with(&options).await.unwrap();
        let table = "CREATE TABLE bare_event (
            ordering INTEGER PRIMARY KEY, persistence_id TEXT NOT NULL, sequence_nr INTEGER NOT NULL,
            timestamp INTEGER NOT NULL, serializer_id INTEGER NOT NULL, manifest TEXT NOT NULL,
            writer_uuid BLOB NOT NULL, payload BLOB NOT NULL, UNIQUE (persistence_id, sequence_nr)) STRICT";
        sqlx::query(table).execute(&mut connection).await.unwrap();
        Self {
            connection,
            next: 0,
        }
    }

    async fn singles(&mut self, events: usize) -> f64 {
        let start = Instant::now();
        for _ in 0..events {
            self.insert(1).await;
        }
        rate(events, start.elapsed())
    }

    async fn batches(&mut self, events: usize) -> f64 {
        let start = Instant::now();
        for _ in 0..events / BATCH {
            self.insert(BATCH).await;
        }
        rate(events / BATCH * BATCH, start.elapsed())
    }

    async fn insert(&mut self, rows: usize) {
        const HEAD: &str = "INSERT INTO bare_event (persistence_id, sequence_nr, timestamp, serializer_id, manifest, writer_uuid, payload) VALUES ";
        const ROW: &str = "(?, ?, ?, ?, ?, ?, ?)";
        let text = format!("{HEAD}{}", vec![ROW; rows].join(", "));
        let mut query = sqlx::query(sqlx::AssertSqlSafe(text));
        for _ in 0..rows {
            let (id, nr) = (self.next % ACTORS as i64, self.next / ACTORS as i64);
            self.next += 1;
            query = query
                .bind(format!("Notebook|{id}"))
                .bind(nr)
                .bind(1_700_000_000_000_000_i64)
                .bind(1_i64)
                .bind("bench.noted:v1")
                .bind(vec![7_u8; 16])
                .bind(vec![b'x'; PAYLOAD + 12]);
        }
        let done = query.execute(&mut self.connection).await.unwrap();
        assert_eq!(done.rows_affected(), rows as u64);
    }
}

fn fsyncs(path: &Path, count: usize) -> f64 {
    let mut file = File::create(path).unwrap();
    let page = [7_u8; 4_096];
    let start = Instant::now();
    for _ in 0..count {
        file.write_all(&page).unwrap();
        file.sync_data().unwrap();
    }
    rate(count, start.elapsed())
}
