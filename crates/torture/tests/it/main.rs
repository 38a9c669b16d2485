//! Several processes on the same ids of one database: what each may do, what it costs, and that nothing is ever lost.
#![allow(clippy::unwrap_used)]
#![allow(clippy::print_stderr, reason = "the numbers are worth reading")]

mod balancer;
#[macro_use]
mod database;
mod fight;
mod fighter;
mod handlers;
mod lost_snapshots;
mod round_robin;
mod scale;
mod tables;
