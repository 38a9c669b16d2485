//! The things of which projections are made.

mod changes;
mod events;

use std::fmt;
use std::ops::RangeInclusive;

use actix_persistence_query::QueryError;
use actix_persistence_storage_api::{Offset, PersistenceId, Position};
use futures_util::Stream;

pub use changes::ChangeSource;
pub use events::EventSource;

/// The events or the changes that a projection reads.
///
/// Implemented by [`EventSource`] and [`ChangeSource`] only.
pub trait Source: sealed::Reads {}

pub(crate) mod sealed {
    use super::{Offset, PersistenceId, Position, QueryError, RangeInclusive, Stream, fmt};

    /// The reading of a source.
    pub trait Reads: Send + Sync + Sized + 'static {
        /// The thing that a handler gets.
        type Item: Send + Sync + 'static;
        type Position: Position + Send + Sync + Unpin + 'static;
        type Stream: Stream<Item = Result<Self::Item, QueryError>> + Unpin + Send;

        /// Returns the live stream of what these slices have after an offset.
        fn stream(
            &self,
            slices: RangeInclusive<u16>,
            after: Offset<Self::Position>,
        ) -> Self::Stream;

        /// Returns the offset after all that a stream has given or passed over.
        fn reached(stream: &Self::Stream) -> &Offset<Self::Position>;

        /// Returns the offset after an item.
        fn offset(item: &Self::Item) -> &Offset<Self::Position>;

        fn persistence_id(item: &Self::Item) -> &PersistenceId;

        /// Writes what an item is, for a person.
        fn describe(item: &Self::Item, f: &mut fmt::Formatter<'_>) -> fmt::Result;

        /// Returns the thing that cannot be decoded, if that is the error.
        fn undecodable(error: &QueryError) -> Option<super::Undecodable<Self::Position>>;
    }
}

/// A thing that cannot be decoded.
#[derive(Debug)]
pub struct Undecodable<P: Position> {
    pub(crate) persistence_id: PersistenceId,
    /// The text for a person.
    pub(crate) item: String,
    /// The offset after it.
    pub(crate) after: Offset<P>,
}

/// Shows an item for a person.
pub(crate) struct Described<'i, S: Source>(pub(crate) &'i S::Item);

impl<S: Source> fmt::Display for Described<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        S::describe(self.0, f)
    }
}
