#![doc = include_str!("../README.md")]
#![allow(clippy::unwrap_used)] // these are tests

mod damage;
pub mod journal;
mod kit;
mod late_writes;
pub mod logs;
mod on_server;
mod place;
pub mod pools;
mod random_starts;
mod scale;
pub mod states;
pub mod steps;
mod tables;
mod writer;

use std::sync::Arc;

use actix_persistence_storage_api::Journal;

pub use damage::{OneOfEach, rows_that_were_swapped_are_found};
pub use kit::{KitServer, StoreKind, actors, run_journal_perf, run_kit};
pub use late_writes::late_writes_are_refused;
pub use on_server::OnServer;
pub use place::{after_the_runtime, url_of};
pub use random_starts::stores_that_start_at_random_moments_lose_nothing;
pub use tables::{Tables, until_number};

/// Opens a journal on the database at this URL, with connections of its own; the caller initialises it.
pub type OpenJournal = dyn Fn(&str) -> Arc<dyn Journal>;
