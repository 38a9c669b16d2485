//! Changes of durable states as a source.

use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeInclusive;
use std::sync::Arc;

use actix_persistence_persistent_actor::State;
use actix_persistence_query::{Changed, ChangesStream, DurableStateQuery, QueryError};
use actix_persistence_storage_api::{PersistenceId, StateOffset, StatePosition};

use super::{Source, Undecodable, sealed};

/// The changes of the durable states of an entity type: each id with the state that it has when it is read.
#[derive(Debug)]
pub struct ChangeSource<S> {
    queries: DurableStateQuery,
    entity_type: Arc<str>,
    states: PhantomData<fn() -> S>,
}

impl<S: State> ChangeSource<S> {
    /// Makes a source of the changes of an entity type.
    pub fn new(queries: DurableStateQuery, entity_type: impl Into<Arc<str>>) -> Self {
        Self {
            queries,
            entity_type: entity_type.into(),
            states: PhantomData,
        }
    }
}

impl<S: State> Source for ChangeSource<S> {}

impl<S: State> sealed::Reads for ChangeSource<S> {
    type Item = Changed<S>;
    type Position = StatePosition;
    type Stream = ChangesStream<S>;

    fn stream(&self, slices: RangeInclusive<u16>, after: StateOffset) -> ChangesStream<S> {
        let queries = &self.queries;
        queries.changes_by_slices(&self.entity_type, slices, after)
    }

    fn reached(stream: &ChangesStream<S>) -> &StateOffset {
        stream.offset()
    }

    fn offset(item: &Changed<S>) -> &StateOffset {
        item.offset()
    }

    fn persistence_id(item: &Changed<S>) -> &PersistenceId {
        item.persistence_id()
    }

    fn describe(item: &Changed<S>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (revision, id) = (item.revision(), item.persistence_id());
        write!(f, "revision {revision} of {id:?}")
    }

    fn undecodable(error: &QueryError) -> Option<Undecodable<StatePosition>> {
        let QueryError::DecodeState {
            persistence_id,
            revision,
            offset,
            ..
        } = error
        else {
            return None;
        };
        Some(Undecodable {
            persistence_id: persistence_id.clone(),
            item: format!("revision {revision} of {persistence_id:?}"),
            after: StateOffset::clone(offset),
        })
    }
}
