//! The promises of the plugin beyond the conformance kit.
//!
//! Every test has a database of its own on the server that `cargo xtask test` starts, or the environment names.
#![allow(clippy::unwrap_used)]

mod altered_tables;
mod announcements;
mod base;
mod bound_holders;
mod cancellation;
mod commit_order;
mod damage;
mod database;
mod deletes;
#[cfg(feature = "sqlx-0_9")]
mod driver;
mod encryption;
mod event_queries;
mod event_reader;
mod extensions;
mod groups;
mod late_writes;
mod migrations;
mod opening;
mod outage;
mod pages;
mod place;
mod plugin;
#[cfg(feature = "sqlx-0_9")]
mod pools;
mod push;
mod refusals;
mod rows;
mod schema_steps;
mod schema_versions;
mod shared_reads;
mod state_order;
mod states;
mod tables;
mod trouble;
mod two_writers;
