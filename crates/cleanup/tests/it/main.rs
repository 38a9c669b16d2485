//! Cleaning up on every database, and batches of ids.

#![allow(clippy::unwrap_used)]

mod batches;
mod events;
mod everywhere;
mod faulty_journal;
mod interrupted;
mod own_database;
mod snapshots;
mod states;
mod world;
