#![doc = include_str!("../README.md")]

mod answer;
mod history;
mod operation;
mod record;
mod row;
mod uid;

pub use answer::{Answer, Done, Listed, Recovered};
pub use history::{History, ReadError};
pub use operation::Operation;
pub use record::{Entry, Page, ProcessEvent, Record, What};
pub use row::{Row, Table};
pub use uid::{Incarnation, Uid, fold};
