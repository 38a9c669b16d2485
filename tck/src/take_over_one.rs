//! Taking over a single id, for tests.

use actix_persistence_storage_api::{
    Journal, PersistenceId, StorageError, TakeOverRequest, TakenOver, WriterId,
};
use async_trait::async_trait;

/// Takes over a single id of a journal, where [`Journal::take_over`] takes several; for tests.
#[async_trait]
pub trait TakeOverOne {
    /// Takes over this id for this writer.
    ///
    /// # Errors
    /// As for [`Journal::take_over`].
    ///
    /// # Cancel safety
    /// As for [`Journal::take_over`].
    ///
    /// # Panics
    /// Panics if the journal answers one request with another number of answers.
    async fn take_over_one(
        &self,
        persistence_id: &PersistenceId,
        writer: WriterId,
    ) -> Result<TakenOver, StorageError>;
}

#[async_trait]
impl<J: Journal + ?Sized> TakeOverOne for J {
    async fn take_over_one(
        &self,
        persistence_id: &PersistenceId,
        writer: WriterId,
    ) -> Result<TakenOver, StorageError> {
        let request = TakeOverRequest::new(persistence_id.clone(), writer);
        let taken = self.take_over(&[request]).await?;
        assert_eq!(taken.len(), 1, "answers to one request to take over an id");
        Ok(taken[0])
    }
}
