//! A thousand durable states that change again and again.

use std::time::{Duration, Instant};

use actix_persistence::Persistence;

use crate::bare::Bare;
use crate::database::{Database, SqlConnection};
use crate::group_commit::GroupCommit;
use crate::notebook::persisted;
use crate::paper::{COUNT, COUNTS, Counting, Paper};
use crate::row::{Row, Table};
use crate::series::{END, Series, rate};

const ACTORS: usize = 1_000;

pub(crate) async fn run<D: Database<Connection: SqlConnection>>(series: &Series) {
    let database = D::make().await;
    let mut bare = Bare::open(&database).await;
    bare.first().run(COUNTS).await;
    let builder = Persistence::builder().change_handler("counting", Counting);
    let persistence = database.open(&["state"], builder).await;
    let plain = Paper::start_many(&persistence, "Plain", ACTORS);
    let counted = Paper::start_many(&persistence, "Counted", ACTORS);
    // Every actor has recovered and has a row before the clock starts.
    for papers in [&plain, &counted] {
        persisted(papers, Duration::ZERO).await;
    }
    let group_commit = GroupCommit::start::<D::Connection>(&database.url(), Table::States, 1);
    group_commit.rate(ACTORS, Duration::ZERO).await;
    series
        .measure(async |side| match side {
            "actors" => persisted(&plain, series.time).await,
            "counted-actors" => persisted(&counted, series.time).await,
            "group-commit" => group_commit.rate(ACTORS, series.time).await,
            "upserts" => bare.on_one(Table::States, 1, series.time).await,
            "counted-upserts" => counted_upserts(bare.first(), series.time).await,
            other => series.has_no(other),
        })
        .await;
    drop((plain, counted));
    persistence.stop(END).await;
    database.close().await;
}

/// A transaction for each state, in which it is counted: states per second.
async fn counted_upserts(connection: &mut impl SqlConnection, time: Duration) -> f64 {
    let start = Instant::now();
    let mut count = 0;
    while count == 0 || start.elapsed() < time {
        connection.run("BEGIN").await;
        connection
            .write(Table::States, vec![Row::next(count % ACTORS)])
            .await;
        connection.run(COUNT).await;
        connection.run("COMMIT").await;
        count += 1;
    }
    rate(count, start.elapsed())
}
