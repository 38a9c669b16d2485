//! The bank as a user runs it: real processes on a real database.
#![allow(clippy::unwrap_used)]

mod bad_input;
mod bank;
mod checker;
mod commands;
mod killed;
