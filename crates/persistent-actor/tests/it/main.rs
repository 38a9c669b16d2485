//! What a persistent actor guarantees, on the memory plugin behind the real store actors.
#![allow(clippy::unwrap_used)]

mod failures;
mod foreign_journal;
mod lifecycle;
mod logging;
mod model;
mod persist_async;
mod persisting;
mod read_only;
mod recovery;
mod replay_filter;
mod replying;
mod scripted_journal;
mod snapshots;
mod stashing;
mod tally;
mod world;
