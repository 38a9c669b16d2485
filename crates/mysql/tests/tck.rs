//! The conformance kit on MySQL or MariaDB: directly, as a user who makes the tables, and through the actors in front of
//! the stores, as one that may use them but not change them.
#![allow(clippy::unwrap_used)]

#[path = "it/database.rs"]
mod database;
#[path = "places/tables.rs"]
mod tables;

use std::process::ExitCode;

use actix_persistence_sql_tests::run_kit;

use database::TestDatabase;
use tables::Tables;

fn main() -> ExitCode {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    run_kit(Tables(runtime.block_on(TestDatabase::create())))
}
