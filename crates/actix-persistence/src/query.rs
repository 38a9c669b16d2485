//! Queries over durable states, live and current, from a [`Persistence`](crate::Persistence).

pub use actix_persistence_query::{
    Changed, ChangesStream, Deleted, DurableStateQuery, InvalidSliceRanges, NoQueries,
    PersistenceIdsStream, QueryError, QuerySettings, Updated, slice_ranges,
};
pub use actix_persistence_storage_api::{FindStates, PersistenceIdsQuery, StateOffset};

pub use crate::find_states::{FindStatesError, Found};
pub use crate::state_queries::DurableStateQueryError;
