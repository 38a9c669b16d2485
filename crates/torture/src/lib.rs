#![doc = include_str!("../README.md")]

mod backend;
mod chronicle;
mod clock;
mod driver;
mod interrupt;
pub mod kinds;
mod last_look;
mod last_write;
mod line;
mod long_runs;
mod place;
mod progress;
mod run;
mod summary;
mod worker;
pub mod workers;
mod writers;

pub use backend::Backend;
pub use chronicle::Chronicle;
pub use driver::{Job, Settings, run};
pub use interrupt::{end_on_interrupt, is_interrupted};
pub use kinds::sim::SimStores;
pub use kinds::{KINDS, Kind};
pub use last_look::last_look;
pub use line::Line;
pub use long_runs::LongRuns;
pub use place::{Place, block_on, open};
pub use run::Run;
pub use summary::Summary;
pub use worker::{Worker, WorkerBuilder};
pub use workers::cancel::dropped_futures;
pub use workers::stream::Retaining;
pub use writers::{Scene, Writers};
