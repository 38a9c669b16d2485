//! Queries over events and durable states, live and current, from a [`Persistence`](crate::Persistence).

use actix_persistence_persistent_actor::UnknownStore;

pub use actix_persistence_persistent_actor::{DecodedEvent, DecodedEvents};
pub use actix_persistence_query::{
    Changed, ChangesStream, Deleted, DurableStateQuery, EventEnvelope, EventPlace, EventQuery,
    EventQueryHealth, EventStream, EventStreamWithUndecodable, EventTail, InvalidSliceRanges,
    NoQueries, PersistenceIdsStream, QueryError, QuerySettings, RecordEnvelope, RecordStream,
    Undecodable, Updated, slice_ranges,
};
pub use actix_persistence_storage_api::{
    BoundHolder, EventOffset, EventRecord, EventSelection, FindStates, PersistenceIdsQuery,
    ReplayRange, StateOffset,
};

pub use crate::find_states::{FindStatesError, Found};

/// The reason why a store cannot be queried.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QueriesError {
    /// The config has no such store, or no default one.
    #[error(transparent)]
    UnknownStore(UnknownStore),
    /// The store has none.
    #[error(transparent)]
    NoQueries(#[from] NoQueries),
}
