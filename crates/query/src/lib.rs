#![doc = include_str!("../README.md")]

mod durable_state_query;
mod query_error;
mod query_settings;
mod slice_ranges;

mod changed;
mod changes;
mod ids;
mod live;
mod page_size;
mod pages;

pub use changed::{Changed, Deleted, Updated};
pub use durable_state_query::{ChangesStream, DurableStateQuery, PersistenceIdsStream};
pub use query_error::{NoQueries, QueryError};
pub use query_settings::QuerySettings;
pub use slice_ranges::{InvalidSliceRanges, slice_ranges};
