//! The measurements of `cargo xtask bench`: actors, and beside them the bare driver and a minimal group commit.
//!
//! The arguments are series such as `persist-100@sqlite=group-commit,actors`: a kind of work, a database, and the sides
//! to be measured in turn. Each measurement is a line of JSON on standard output. What is compared with what, and what
//! is too slow, is up to the reader: the rows are in `crates/xtask/src/bench/rows.rs`.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod album;
mod bare;
mod burst;
mod crowd;
mod database;
mod defaults;
mod fixed;
mod group_commit;
mod growth;
mod latency;
mod live;
mod notebook;
mod paper;
mod persist;
mod place;
mod plain_actors;
mod projections;
mod replay;
mod row;
mod series;
mod snapshots;
mod states;

use database::memory::Memory;
use database::mysql::MySql;
use database::postgres::Postgres;
use database::server::Server;
use database::sqlite::Sqlite;
use database::{Database, SqlConnection};
use series::Series;

/// The exit status of a shell for a program that ended by an interrupt.
const INTERRUPTED: i32 = 130;

#[actix::main]
async fn main() {
    let plan = Series::of_arguments(std::env::args().skip(1));
    if plan.is_empty() {
        println!("nothing to measure; `cargo xtask bench` says what");
    }
    let all = async {
        for series in &plan {
            run(series).await;
        }
    };
    // What is measured is dropped by an interrupt, and its files are gone; a database on a server stays.
    let interrupted = tokio::select! {
        () = all => false,
        _ = tokio::signal::ctrl_c() => true,
    };
    if interrupted {
        std::process::exit(INTERRUPTED);
    }
}

async fn run(series: &Series) {
    match series.backend.as_str() {
        "memory" => match series.work.as_str() {
            "queue" => burst::queue(series).await,
            "crowd" => crowd::run::<Memory>(series).await,
            work if work.starts_with("each-") => fixed::run(series).await,
            _ => persist::run::<Memory>(series).await,
        },
        "sqlite" => on_disk::<Sqlite>(series).await,
        "postgres" => on_disk::<Server<Postgres>>(series).await,
        "mysql" => on_disk::<Server<MySql>>(series).await,
        other => panic!("no database {other}"),
    }
}

async fn on_disk<D: Database<Connection: SqlConnection>>(series: &Series) {
    match series.work.as_str() {
        "replay-one" => replay::one::<D>(series).await,
        "replay-many" => replay::many::<D>(series).await,
        "catch-up" => replay::catch_up::<D>(series).await,
        "crowd" => crowd::run::<D>(series).await,
        "growth" => growth::run::<D>(series).await,
        "live" => live::beside::<D>(series).await,
        "live-delay" => live::delay::<D>(series).await,
        "far-delay" => live::far_delay::<D>(series).await,
        "projection" => projections::counts::<D>(series).await,
        "projection-pages" => projections::pages::<D>(series).await,
        "burst" => burst::run::<D>(series).await,
        "states-1000" => states::run::<D>(series).await,
        "persist-p99" => snapshots::run::<D>(series).await,
        work if work.starts_with(defaults::PREFIX) => defaults::run::<D>(series).await,
        work if work.starts_with("latency-") => latency::run::<D>(series).await,
        _ => persist::run::<D>(series).await,
    }
}
