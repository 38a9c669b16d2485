//! The program, run as an operator runs it.

#![allow(clippy::unwrap_used)]

mod bank;
mod cleanup;
mod during_a_run;
mod interrupted;
mod ledger;
mod projections;
mod schema;
mod watching;
