//! Changes of durable states as a source.

use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeInclusive;
use std::sync::Arc;

use actix_persistence_persistent_actor::State;
use actix_persistence_query::{
    Changed, ChangesStream, DurableStateQuery, EventQueryHealth, QueryError,
};
use actix_persistence_storage_api::{
    ParkedItem, PersistenceId, StateOffset, StatePosition, Timestamp,
};
use bytes::Bytes;
use futures_util::StreamExt;

use super::{Given, Revived, Source, Undecodable, sealed};
use crate::chain_of::chain_of;

/// The changes of the durable states of an entity type: each id with the state that it has when it is read.
#[derive(Debug)]
pub struct ChangeSource<S> {
    queries: DurableStateQuery,
    entity_type: Arc<str>,
    states: PhantomData<fn() -> S>,
}

/// A stream of changes that goes on after a state that cannot be decoded.
#[derive(Debug)]
pub struct Changes<S> {
    queries: DurableStateQuery,
    entity_type: Arc<str>,
    slices: RangeInclusive<u16>,
    stream: ChangesStream<S>,
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

impl<S: State> Changes<S> {
    /// Reads on after an offset.
    fn go_on(&mut self, after: StateOffset) {
        let slices = self.slices.clone();
        self.stream = self
            .queries
            .changes_by_slices(&self.entity_type, slices, after);
    }
}

impl<S: State> Source for ChangeSource<S> {}

impl<S: State> sealed::Reads for ChangeSource<S> {
    type Item = Changed<S>;
    type Position = StatePosition;
    type Stream = Changes<S>;

    fn stream(&self, slices: RangeInclusive<u16>, after: StateOffset) -> Changes<S> {
        let queries = self.queries.clone();
        let stream = queries.changes_by_slices(&self.entity_type, slices.clone(), after);
        Changes {
            queries,
            entity_type: Arc::clone(&self.entity_type),
            slices,
            stream,
        }
    }

    async fn next(
        changes: &mut Changes<S>,
    ) -> Result<Given<Changed<S>, StatePosition>, QueryError> {
        match changes.stream.next().await {
            Some(Ok(item)) => Ok(Given::Item(item)),
            Some(Err(error)) => match Undecodable::of(&error) {
                Some(undecodable) => {
                    changes.go_on(undecodable.after.clone());
                    Ok(Given::Undecodable(undecodable))
                }
                None => Err(error),
            },
            None => std::future::pending().await,
        }
    }

    fn reached(changes: &Changes<S>) -> &StateOffset {
        changes.stream.offset()
    }

    async fn offset_of(
        &self,
        persistence_id: &PersistenceId,
        number: u64,
    ) -> Result<Option<StateOffset>, QueryError> {
        let last = self.queries.last_change(persistence_id).await?;
        let last = last.filter(|last| last.revision >= number);
        Ok(last.map(|last| last.offset))
    }

    async fn health(&self) -> Result<Option<EventQueryHealth>, QueryError> {
        Ok(None)
    }

    /// Reads the state as it is now. If it has changed since it was parked, the change waits after this one, or still comes: the
    /// handler gets it in its turn, and nothing in the place of this one.
    async fn revive(&self, parked: &ParkedItem) -> Revived<Changed<S>> {
        let Ok(at) = parked.offset.parse::<StateOffset>() else {
            return Revived::Refused("its offset is none of this source".to_owned());
        };
        match self.queries.current_change(&parked.persistence_id).await {
            Ok(Some(change)) if at.has_reached(change.offset()) => Revived::Item(change),
            Ok(_) => Revived::Nothing,
            Err(QueryError::DecodeState { offset, .. }) if !at.has_reached(&offset) => {
                Revived::Nothing
            }
            Err(error) if error.is_transient() => Revived::NotNow(chain_of(&error)),
            Err(error) => Revived::Refused(chain_of(&error)),
        }
    }

    fn offset(item: &Changed<S>) -> &StateOffset {
        item.offset()
    }

    fn persistence_id(item: &Changed<S>) -> &PersistenceId {
        item.persistence_id()
    }

    fn number(item: &Changed<S>) -> u64 {
        item.revision()
    }

    fn timestamp(item: &Changed<S>) -> Timestamp {
        item.timestamp()
    }

    /// The id says it: the state is read again.
    fn record(_: &Changed<S>) -> Bytes {
        Bytes::new()
    }

    fn describe(item: &Changed<S>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (revision, id) = (item.revision(), item.persistence_id());
        write!(f, "revision {revision} of {id:?}")
    }
}

impl Undecodable<StatePosition> {
    /// Returns the state that cannot be decoded, if that is the error.
    fn of(error: &QueryError) -> Option<Self> {
        let QueryError::DecodeState {
            persistence_id,
            revision,
            offset,
            source,
            ..
        } = error
        else {
            return None;
        };
        Some(Self {
            persistence_id: persistence_id.clone(),
            number: *revision,
            item: format!("revision {revision} of {persistence_id:?}"),
            reason: chain_of(source),
            after: StateOffset::clone(offset),
            timestamp: None,
            record: Bytes::new(),
        })
    }
}
