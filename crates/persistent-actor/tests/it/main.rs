//! What a persistent actor guarantees, on the memory plugin behind the real store actors.
#![allow(clippy::unwrap_used)]

mod failures;
mod foreign_journal;
mod lifecycle;
mod logging;
mod model;
mod persisting;
mod read_only;
mod recovery;
mod replay_filter;
mod scripted_journal;
mod snapshots;
mod tally;
mod world;
