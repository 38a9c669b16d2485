//! The bank as a user runs it: real processes on a real database.
#![allow(clippy::unwrap_used)]

mod backend;
mod bad_input;
mod bank;
mod checker;
mod commands;
mod import;
mod keeping;
mod killed;
mod mains;
mod old_versions;
mod read_model;
mod receipts;
mod shapes;
mod stalled;
mod taken_over;
mod workload;
