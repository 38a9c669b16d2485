//! The torture in short, and what several processes on the same ids cost and may do.
#![allow(clippy::unwrap_used)]
#![allow(clippy::print_stderr, reason = "the numbers are worth reading")]

mod balancer;
mod book;
#[macro_use]
mod database;
mod driver;
mod dropped_futures;
mod kinds;
mod last_look;
mod ledger;
mod lost_snapshots;
mod round_robin;
mod scale;
mod tables;
