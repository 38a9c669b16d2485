//! The conformance kit on PostgreSQL: directly, as a role that makes the tables, and through the actors in front of the
//! stores, as one that may use them but not change them.
#![allow(clippy::unwrap_used)]

#[path = "it/database.rs"]
mod database;
#[path = "places/schemas.rs"]
mod schemas;

use std::process::ExitCode;

use actix_persistence_sql_tests::run_kit;

use database::TestDatabase;
use schemas::Schemas;

fn main() -> ExitCode {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    run_kit(Schemas(runtime.block_on(TestDatabase::create())))
}
