#![doc = include_str!("../README.md")]

mod query_error;
mod query_settings;
mod slice_ranges;
mod state_query;

mod changed;
mod changes;
mod ids;
mod live;
mod page_size;
mod pages;

pub use changed::{Changed, Deleted, Updated};
pub use query_error::{NoQueries, QueryError};
pub use query_settings::QuerySettings;
pub use slice_ranges::{InvalidSliceRanges, slice_ranges};
pub use state_query::{ChangesStream, PersistenceIdsStream, StateQuery};
