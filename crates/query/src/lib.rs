#![doc = include_str!("../README.md")]

mod events;
mod states;

mod ids;
mod query_error;
mod query_settings;
mod slice_ranges;

mod attempts;
mod live;
mod offset_at;
mod page_size;
mod pages;
mod reading;
mod store;

pub use events::{
    EventEnvelope, EventPlace, EventQuery, EventQueryHealth, EventStream,
    EventStreamWithUndecodable, EventTail, RecordEnvelope, RecordStream, Undecodable,
};
pub use ids::PersistenceIdsStream;
pub use query_error::{NoQueries, QueryError};
pub use query_settings::QuerySettings;
pub use slice_ranges::{InvalidSliceRanges, slice_ranges};
pub use states::{Changed, ChangesStream, Deleted, DurableStateQuery, Updated};
