//! The promises of the plugin beyond the conformance kit.
//!
//! Every test has a database of its own on the server that `cargo xtask test` starts, or the environment names.
#![allow(clippy::unwrap_used)]

mod bound_holders;
mod cancellation;
mod commit_order;
mod counters;
mod crashes;
mod damage;
mod database;
mod deletes;
#[cfg(feature = "sqlx-0_9")]
mod driver;
mod encryption;
mod event_queries;
mod extensions;
mod groups;
mod late_numbers;
mod late_numbers_at_random;
mod late_writes;
mod migrations;
mod opening;
mod pages;
mod partitions;
mod place;
mod plans;
#[cfg(feature = "sqlx-0_9")]
mod pools;
mod prepared;
mod refusals;
mod rows;
mod schema_steps;
mod schema_versions;
mod snapshot_isolation;
mod state_order;
mod states;
mod tables;
mod trouble;
mod two_writers;
