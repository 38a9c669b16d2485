//! Durable states: a thousand actors against the bare driver, in one run on one file.
//!
//! A state is one transaction here and there, so what is measured is what we add: two actors, the revision,
//! the place in the order of commits. With a change handler both sides count in a table of the application.
//! `WRITES` sets the number of writes per round, `ROUNDS` the number of rounds.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod rates;

use std::path::Path;
use std::time::Instant;

use actix::prelude::*;
use actix_persistence::Config;
use actix_persistence::prelude::*;
use actix_persistence::storage_api::{
    ChangeHandler, ExtensionError, Session, SessionWork, StateChange,
};
use async_trait::async_trait;
use futures_util::future::join_all;
use serde::{Deserialize, Serialize};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{Connection, SqliteConnection};

use rates::{from_environment, median, rate};

const ACTORS: usize = 1_000;
const PAYLOAD: usize = 200;
/// The ratio that the bench must reach.
const AT_LEAST_TO_BARE: f64 = 0.6;
const AT_LEAST_TO_BARE_WITH_HANDLER: f64 = 0.6;

#[derive(Clone, Serialize, Deserialize)]
struct Page(String);

impl State for Page {
    const MANIFEST: &'static str = "bench.page";
    const VERSION: u32 = 1;
}

struct Paper {
    entity_type: &'static str,
    name: String,
}

impl Actor for Paper {
    type Context = PersistentContext<Self>;
}

impl DurableState for Paper {
    type State = Page;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of(self.entity_type, &self.name)
    }

    fn on_state(&mut self, _: Option<&Page>) {}
}

#[derive(Message)]
#[rtype(result = "Result<u64, PersistError>")]
struct Rewrite;

impl Handler<Rewrite> for Paper {
    type Result = Reply<Rewrite>;

    fn handle(&mut self, _: Rewrite, ctx: &mut Self::Context) -> Reply<Rewrite> {
        let revision = ctx.revision() + 1;
        let page = Page("x".repeat(PAYLOAD));
        ctx.persist(page).reply(move |_| Ok(revision))
    }
}

/// Counts every change.
struct Counting;

#[async_trait]
impl ChangeHandler for Counting {
    async fn process(
        &self,
        session: &mut dyn Session,
        _: &StateChange<'_>,
    ) -> Result<(), ExtensionError> {
        session.execute(COUNT, []).await?;
        Ok(())
    }
}

const COUNT: &str = "UPDATE counts SET n = n + 1 WHERE name = 'all'";

const CONFIG: &str = r#"
[persistence.state]
plugin = "sqlite"
[persistence.state.sqlite.change-handler]
Counted = "counting"
"#;

#[actix::main]
async fn main() {
    let writes = from_environment("WRITES", 4_000);
    let rounds = from_environment("ROUNDS", 5);
    let directory = tempfile::tempdir_in(".").unwrap();
    let file = directory.path().join("bench.db");
    let persistence = open(&file).await;
    let mut papers = Vec::new();
    for entity_type in ["Plain", "Counted"] {
        let of_type = (0..ACTORS).map(|n| {
            let name = n.to_string();
            let make = move || Paper {
                entity_type,
                name: name.clone(),
            };
            persistence.start(make).unwrap()
        });
        papers.push(of_type.collect::<Vec<_>>());
    }
    // Every actor has recovered and has a row before the clock starts.
    for papers in &papers {
        join_all(papers.iter().map(|paper| paper.send(Rewrite))).await;
    }
    let mut bare = Bare::open(&file).await;
    let mut rates = [(); 4].map(|()| Vec::new());
    for round in 1..=rounds {
        rates[0].push(bare.writes(writes, false).await);
        rates[1].push(through_actors(&papers[0], writes).await);
        rates[2].push(bare.writes(writes, true).await);
        rates[3].push(through_actors(&papers[1], writes).await);
        eprintln!("round {round} of {rounds} done");
    }
    report(rates);
}

async fn open(file: &Path) -> Persistence {
    let config = Config::from_toml(CONFIG, "bench.toml").unwrap();
    let config = config.with("persistence.state.sqlite.url", file.to_str().unwrap());
    let builder = Persistence::builder().change_handler("counting", Counting);
    let persistence = builder.config(config).open().await.unwrap();
    persistence.ready().await.unwrap();
    let tables = SessionWork::new(|session| {
        Box::pin(async move {
            for sql in [
                "CREATE TABLE counts (name TEXT PRIMARY KEY, n INTEGER NOT NULL)",
                "INSERT INTO counts VALUES ('all', 0)",
            ] {
                session.execute(sql, []).await?;
            }
            Ok(())
        })
    });
    persistence.transact(None, tables).await.unwrap();
    persistence
}

fn report(rates: [Vec<f64>; 4]) {
    let [bare, actors, bare_counting, counting] = rates.map(median);
    println!("on one SQLite file with synchronous=FULL, medians:");
    println!("  bare sqlx, an upsert each             {bare:>8.0} states/s");
    println!("  {ACTORS} actors                           {actors:>8.0} states/s");
    println!("  bare sqlx, upsert and count           {bare_counting:>8.0} states/s");
    println!("  {ACTORS} actors with a change handler     {counting:>8.0} states/s");
    let (plain, handled) = (actors / bare, counting / bare_counting);
    println!("ratio to bare upserts:                {plain:.2} (at least {AT_LEAST_TO_BARE})");
    println!(
        "ratio to bare upserts that count:     {handled:.2} (at least {AT_LEAST_TO_BARE_WITH_HANDLER})"
    );
    if plain < AT_LEAST_TO_BARE || handled < AT_LEAST_TO_BARE_WITH_HANDLER {
        println!("MISSED");
        std::process::exit(1);
    }
}

/// Every actor stores its next state when the one before is stored: states per second.
async fn through_actors(papers: &[Addr<Paper>], writes: usize) -> f64 {
    let each = writes / papers.len();
    let start = Instant::now();
    join_all(papers.iter().map(|paper| async move {
        for _ in 0..each {
            paper.send(Rewrite).await.unwrap().unwrap();
        }
    }))
    .await;
    rate(each * papers.len(), start.elapsed())
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
        let table = "CREATE TABLE bare_state (
            persistence_id TEXT NOT NULL PRIMARY KEY, revision INTEGER NOT NULL, timestamp INTEGER NOT NULL,
            tags TEXT NOT NULL, serializer_id INTEGER NOT NULL, manifest TEXT NOT NULL, payload BLOB NOT NULL) STRICT";
        sqlx::query(table).execute(&mut connection).await.unwrap();
        Self {
            connection,
            next: 0,
        }
    }

    async fn writes(&mut self, writes: usize, counting: bool) -> f64 {
        let start = Instant::now();
        for _ in 0..writes {
            let mut transaction = self.connection.begin().await.unwrap();
            let (id, revision) = (self.next % ACTORS as i64, self.next / ACTORS as i64);
            self.next += 1;
            let upsert = sqlx::query(UPSERT)
                .bind(format!("Plain|{id}"))
                .bind(revision)
                .bind(1_700_000_000_000_000_i64)
                .bind("[]")
                .bind(1_i64)
                .bind("bench.page:v1")
                .bind(vec![b'x'; PAYLOAD + 4]);
            upsert.execute(&mut *transaction).await.unwrap();
            if counting {
                sqlx::query(COUNT).execute(&mut *transaction).await.unwrap();
            }
            transaction.commit().await.unwrap();
        }
        rate(writes, start.elapsed())
    }
}

const UPSERT: &str = "INSERT INTO bare_state (persistence_id, revision, timestamp, tags, serializer_id, manifest, payload)
    VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (persistence_id) DO UPDATE SET revision = excluded.revision, timestamp = excluded.timestamp,
    tags = excluded.tags, serializer_id = excluded.serializer_id, manifest = excluded.manifest, payload = excluded.payload";
