//! The things of which projections are made.

mod changes;
mod events;
mod kept_event;

use std::fmt;
use std::ops::RangeInclusive;

use actix_persistence_query::{EventQueryHealth, QueryError};
use actix_persistence_storage_api::{Offset, ParkedItem, PersistenceId, Position, Timestamp};
use bytes::Bytes;

pub use changes::ChangeSource;
pub use events::EventSource;

/// The events or the changes that a projection reads.
///
/// Implemented by [`EventSource`] and [`ChangeSource`] only.
pub trait Source: sealed::Reads {}

pub(crate) mod sealed {
    use super::{
        Bytes, EventQueryHealth, Offset, ParkedItem, PersistenceId, Position, QueryError,
        RangeInclusive, Timestamp, fmt,
    };

    /// The reading of a source.
    pub trait Reads: Send + Sync + Sized + 'static {
        /// The thing that a handler gets.
        type Item: Send + Sync + 'static;
        type Position: Position + Send + Sync + Unpin + 'static;
        type Stream: Send;

        /// Returns the live stream of what these slices have after an offset.
        fn stream(
            &self,
            slices: RangeInclusive<u16>,
            after: Offset<Self::Position>,
        ) -> Self::Stream;

        /// Returns the next thing of a stream, which goes on after one that cannot be decoded; a live stream never ends without an
        /// error, after which nothing comes any more.
        ///
        /// # Cancel safety
        /// Nothing is lost.
        fn next(
            stream: &mut Self::Stream,
        ) -> impl Future<Output = Result<super::Given<Self::Item, Self::Position>, QueryError>> + Send;

        /// Returns the offset after all that a stream has given or passed over.
        fn reached(stream: &Self::Stream) -> &Offset<Self::Position>;

        /// Returns the offset after an event, or after the last change of an id that has this revision or a later one; `None`
        /// if it is not there.
        fn offset_of(
            &self,
            persistence_id: &PersistenceId,
            number: u64,
        ) -> impl Future<Output = Result<Option<Offset<Self::Position>>, QueryError>> + Send;

        /// Returns the health of the queries that read it; `None` if its stores do not tell.
        fn health(
            &self,
        ) -> impl Future<Output = Result<Option<EventQueryHealth>, QueryError>> + Send;

        /// Returns what is handled in the place of an item that was parked.
        fn revive(
            &self,
            parked: &ParkedItem,
        ) -> impl Future<Output = super::Revived<Self::Item>> + Send;

        /// Returns the offset after an item.
        fn offset(item: &Self::Item) -> &Offset<Self::Position>;

        fn persistence_id(item: &Self::Item) -> &PersistenceId;

        /// Returns the number of an event, or the revision of a state.
        fn number(item: &Self::Item) -> u64;

        /// Returns the time at which an item was written.
        fn timestamp(item: &Self::Item) -> Timestamp;

        /// Encodes an item, so that [`revive`](Self::revive) finds it again.
        fn record(item: &Self::Item) -> Bytes;

        /// Writes what an item is, for a person.
        fn describe(item: &Self::Item, f: &mut fmt::Formatter<'_>) -> fmt::Result;
    }
}

/// The next thing that a stream gives.
#[derive(Debug)]
pub enum Given<T, P: Position> {
    /// An item for the handler.
    Item(T),
    /// A thing that is none of the type of the handler.
    Undecodable(Undecodable<P>),
}

/// A thing that cannot be decoded.
#[derive(Debug)]
pub struct Undecodable<P: Position> {
    /// The persistence id.
    pub(crate) persistence_id: PersistenceId,
    /// The number of the event, or the revision of the state.
    pub(crate) number: u64,
    /// The text for a person.
    pub(crate) item: String,
    /// The error of decoding it.
    pub(crate) reason: String,
    /// The offset after it.
    pub(crate) after: Offset<P>,
    /// The time at which it was written, if it is known.
    pub(crate) timestamp: Option<Timestamp>,
    /// The record as for an item.
    pub(crate) record: Bytes,
}

/// The thing that is handled in the place of a parked item.
#[derive(Debug)]
pub enum Revived<T> {
    /// This item.
    Item(T),
    /// Nothing: it stands for nothing today, or something later comes in its place.
    Nothing,
    /// It cannot be handled, for this reason.
    Refused(String),
    /// It cannot be read now, for this reason; waiting may help.
    NotNow(String),
}

impl<P: Position> Undecodable<P> {
    /// Returns it as an item that waits.
    pub(crate) fn parked(&self) -> ParkedItem {
        ParkedItem::new(
            self.persistence_id.clone(),
            self.number,
            self.item.clone(),
            self.after.to_string(),
            self.record.clone(),
            Timestamp::now(),
        )
    }
}

/// Returns an item as one that waits.
pub(crate) fn parked<S: Source>(item: &S::Item) -> ParkedItem {
    ParkedItem::new(
        S::persistence_id(item).clone(),
        S::number(item),
        Described::<S>(item).to_string(),
        S::offset(item).to_string(),
        S::record(item),
        Timestamp::now(),
    )
}

/// Shows an item for a person.
pub(crate) struct Described<'i, S: Source>(pub(crate) &'i S::Item);

impl<S: Source> fmt::Display for Described<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        S::describe(self.0, f)
    }
}
