#![doc = include_str!("../README.md")]

mod backend;
mod book;
mod chronicle;
mod clock;
mod driver;
mod interrupt;
pub mod kinds;
mod ledger;
mod line;
mod long_runs;
mod place;
mod progress;
mod run;
mod summary;
mod worker;
pub mod workers;

pub use backend::Backend;
pub use book::{Book, Client};
pub use chronicle::Chronicle;
pub use driver::{Job, Settings, run};
pub use interrupt::{end_on_interrupt, is_interrupted};
pub use kinds::{KINDS, Kind};
pub use ledger::{Enter, Entered, Ledger, Look, Retaining, Trouble};
pub use line::Line;
pub use long_runs::LongRuns;
pub use place::{Place, block_on, open};
pub use run::Run;
pub use summary::Summary;
pub use worker::Worker;
