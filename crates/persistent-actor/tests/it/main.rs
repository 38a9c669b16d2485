//! What a persistent actor guarantees, on the memory plugin behind the real store actors.
#![allow(clippy::unwrap_used)]

mod failures;
mod lifecycle;
mod logging;
mod model;
mod persisting;
mod read_only;
mod recovery;
mod scripted_journal;
mod snapshots;
mod tally;
mod world;
