//! The rates of the journal on MySQL or MariaDB, directly and through the actor in front of it; on the server that the environment
//! names, as for the tests.
#![allow(clippy::unwrap_used)]

#[path = "../tests/it/database.rs"]
mod database;
#[path = "../tests/places/tables.rs"]
mod tables;

use std::process::ExitCode;

use actix_persistence_sql_tests::run_journal_perf;

use database::TestDatabase;
use tables::Tables;

fn main() -> ExitCode {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    run_journal_perf(Tables(runtime.block_on(TestDatabase::create())))
}
