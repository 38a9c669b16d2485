#![doc = include_str!("../README.md")]

mod answer;
mod checks;
mod event_stream;
mod gathered;
mod history;
mod operation;
mod record;
mod rising;
mod row;
mod selected;
mod state_stream;
mod timeline;
mod uid;
mod violation;

pub use answer::{Answer, Done, Listed, Recovered};
pub use checks::check;
pub use history::{History, ReadError};
pub use operation::Operation;
pub use record::{Entry, Page, ProcessEvent, Record, What};
pub use row::{Row, Table};
pub use uid::{Incarnation, Uid, fold};
pub use violation::{Invariant, Violation};
