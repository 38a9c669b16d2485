//! The error that ends a query.

use std::time::Duration;

use actix_persistence_persistent_actor::DecodeError;
use actix_persistence_storage_api::{
    EventOffset, PersistenceId, Revision, SequenceNr, StateOffset, StorageError,
};

/// The reason why a stream ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// The store cannot be read; of a live query, not even later.
    #[error(transparent)]
    Store(#[from] StorageError),
    /// A state is none of this type; see [`State::upcasters`](actix_persistence_persistent_actor::State::upcasters).
    ///
    /// The same query from the same offset fails there again, unless the error [is transient](Self::is_transient). One that begins at `offset` goes on after this state, which
    /// is then missing in what is made of the changes until it is stored again.
    #[error(
        "the state of {persistence_id:?} at revision {revision} cannot be decoded \
         (serializer {serializer_id}, manifest {manifest:?})"
    )]
    DecodeState {
        /// The persistence id of the state.
        persistence_id: PersistenceId,
        /// The revision of the state.
        revision: Revision,
        /// The serializer that encoded it.
        serializer_id: u32,
        /// The manifest with which it was stored.
        manifest: String,
        /// The offset after this state.
        offset: Box<StateOffset>,
        /// The error of decoding it.
        source: DecodeError,
    },
    /// An event is none of this type; see [`Event::upcasters`](actix_persistence_persistent_actor::Event::upcasters).
    ///
    /// The same query from the same offset fails there again, unless the error [is transient](Self::is_transient). One that
    /// begins after the event goes on without it, and
    /// [`with_undecodable`](crate::EventStream::with_undecodable) hands such events out as they are stored.
    #[error(
        "event {sequence_nr} of {persistence_id:?} cannot be decoded \
         (serializer {serializer_id}, manifest {manifest:?})"
    )]
    DecodeEvent {
        /// The persistence id of the event.
        persistence_id: PersistenceId,
        /// The number of the event.
        sequence_nr: SequenceNr,
        /// The serializer that encoded it.
        serializer_id: u32,
        /// The manifest with which it was stored.
        manifest: String,
        /// The offset after this event; `None` in a stream of one id, where its number is the offset.
        offset: Option<Box<EventOffset>>,
        /// The error of decoding it.
        source: DecodeError,
    },
    /// Events that were confirmed before the query began cannot be read yet, because a transaction under way holds them
    /// back. The same query from the same offset may succeed later.
    #[error(
        "events that are stored could not be read within {waited:?}, because a transaction under way in the database \
         holds them back"
    )]
    HeldBack {
        /// The time for which the query waited, without reading on.
        waited: Duration,
    },
    /// The id was purged while its events were read, so its numbers start again at 1: a stream that went on would never
    /// give those that are stored now. Begin at the start.
    #[error(
        "the numbers of {persistence_id:?} start again: event {sequence_nr} was there, and {highest_sequence_nr} is the \
         highest number now"
    )]
    NumbersStartAgain {
        /// The persistence id of the events.
        persistence_id: PersistenceId,
        /// The highest number that was stored before.
        sequence_nr: SequenceNr,
        /// The highest number that is stored now.
        highest_sequence_nr: SequenceNr,
    },
}

impl QueryError {
    /// Returns whether the same query from the same offset may succeed later: the store, or the key store of what is
    /// encrypted, has failed for the moment. A live query does not end with such an error, but waits.
    pub fn is_transient(&self) -> bool {
        match self {
            QueryError::Store(error) => error.kind().is_transient(),
            QueryError::DecodeState { source, .. } | QueryError::DecodeEvent { source, .. } => {
                source.is_transient()
            }
            QueryError::HeldBack { .. } => true,
            QueryError::NumbersStartAgain { .. } => false,
        }
    }

    /// Returns the offset from which another query over the events of many ids goes on without the event that ended this one,
    /// because it is damaged or cannot be decoded; `None` after any other error.
    ///
    /// A read model that is made of them then lacks that event.
    pub fn offset_after(&self) -> Option<&EventOffset> {
        match self {
            QueryError::Store(error) => error.offset_after(),
            QueryError::DecodeEvent { offset, .. } => offset.as_deref(),
            _ => None,
        }
    }
}

/// The store cannot be queried.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the {store} {plugin_id:?} has no queries; use a plugin that has them")]
pub struct NoQueries {
    /// The kind of the store: `journal` or `state store`.
    pub store: &'static str,
    /// The plugin id of the store.
    pub plugin_id: String,
}
