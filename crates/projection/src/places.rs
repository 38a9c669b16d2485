//! The places of stored things in the progress of a projection, whatever its source is.

use std::ops::RangeInclusive;
use std::sync::Arc;

use actix_persistence_query::{EventQueryHealth, QueryError};
use actix_persistence_storage_api::{NUMBER_OF_SLICES, PersistenceId};
use async_trait::async_trait;

use crate::source::Source;

/// Every slice.
pub(crate) const ALL_SLICES: RangeInclusive<u16> = 0..=NUMBER_OF_SLICES - 1;

/// Knows the offsets of a source by their texts.
#[async_trait]
pub(crate) trait Places: Send + Sync {
    /// Returns the text of the offset after an event, or after the last change of an id that has this revision or a later one;
    /// `None` if it is not there.
    async fn offset_of(
        &self,
        persistence_id: &PersistenceId,
        number: u64,
    ) -> Result<Option<String>, QueryError>;

    /// Returns the health of what reads the source; `None` if its stores do not tell.
    async fn health(&self) -> Result<Option<EventQueryHealth>, QueryError>;
}

/// The places of one source.
pub(crate) struct PlacesOf<S>(pub(crate) Arc<S>);

#[async_trait]
impl<S: Source> Places for PlacesOf<S> {
    async fn offset_of(
        &self,
        persistence_id: &PersistenceId,
        number: u64,
    ) -> Result<Option<String>, QueryError> {
        let offset = self.0.offset_of(persistence_id, number).await?;
        Ok(offset.map(|offset| offset.to_string()))
    }

    async fn health(&self) -> Result<Option<EventQueryHealth>, QueryError> {
        self.0.health().await
    }
}
