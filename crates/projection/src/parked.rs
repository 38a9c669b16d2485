//! Items that wait because a handler failed, and requests about them.

use actix_persistence_storage_api::{
    ParkedId, ParkedItem, ParkedRequest, PersistenceId, ProjectionChange, StorageError,
};

use crate::StoredProjection;
use crate::places::ALL_SLICES;

/// The items that wait because the handler failed for them, or for one before them.
///
/// Requests are rows of the offset store, which the process that has the share of the id carries out: this one at once, others
/// at their next look, after a quarter of their lease at most. A request replaces an earlier one for the same id. No process
/// has a share that is halted, or one of a projection that is paused: there requests wait until somebody
/// [resumes](Self::resume) it.
///
/// A process that retries hands over ten items at most, then what its share has read meanwhile, then ten more; so other ids
/// go on.
impl StoredProjection {
    /// Returns the parked ids that come after this one in the order of their bytes, or the first ones; at most `limit` of them.
    ///
    /// # Errors
    /// The errors of the offset store.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    pub async fn parked(
        &self,
        after: Option<&PersistenceId>,
        limit: usize,
    ) -> Result<Vec<ParkedId>, StorageError> {
        self.store.parked(&self.key, ALL_SLICES, after, limit).await
    }

    /// Returns the first items of a parked id, in the order in which they wait, at most `limit` of them.
    ///
    /// # Errors
    /// The errors of the offset store.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    pub async fn parked_items(
        &self,
        persistence_id: &PersistenceId,
        limit: usize,
    ) -> Result<Vec<ParkedItem>, StorageError> {
        self.store
            .parked_items(&self.key, persistence_id, limit)
            .await
    }

    /// Asks for the items of a parked id to be handed to the handler again, in their order, each once. If one is refused, it
    /// and those after it stay parked, with the new reason. Without an id, asks it for all that are parked.
    ///
    /// A process that ends within the retry leaves what is left parked, and the next one does not repeat the request.
    ///
    /// # Errors
    /// The errors of the offset store; [`Unsupported`](actix_persistence_storage_api::StorageErrorKind::Unsupported) if the id
    /// is not parked.
    ///
    /// # Cancel safety
    /// Dropped, it is asked for or not.
    pub async fn retry<'i>(
        &self,
        persistence_id: impl Into<Option<&'i PersistenceId>>,
    ) -> Result<(), StorageError> {
        self.ask(persistence_id.into(), ParkedRequest::Retry).await
    }

    /// Asks for the first item of a parked id to be skipped, and the others to be handed to the handler. Without an id, asks it
    /// for all that are parked.
    ///
    /// It is the item that is the first now: if it is handled before that, it is not skipped, and nothing else is.
    ///
    /// # Errors
    /// As [`retry`](Self::retry).
    ///
    /// # Cancel safety
    /// Dropped, it is asked for or not.
    pub async fn drop_first<'i>(
        &self,
        persistence_id: impl Into<Option<&'i PersistenceId>>,
    ) -> Result<(), StorageError> {
        self.ask(persistence_id.into(), ParkedRequest::DropFirst)
            .await
    }

    /// Asks for all items of a parked id to be skipped that wait when it is done; later ones go to the handler. Without an id,
    /// asks it for all that are parked.
    ///
    /// # Errors
    /// As [`retry`](Self::retry).
    ///
    /// # Cancel safety
    /// Dropped, it is asked for or not.
    pub async fn drop_all<'i>(
        &self,
        persistence_id: impl Into<Option<&'i PersistenceId>>,
    ) -> Result<(), StorageError> {
        self.ask(persistence_id.into(), ParkedRequest::DropAll)
            .await
    }

    async fn ask(
        &self,
        persistence_id: Option<&PersistenceId>,
        request: ParkedRequest,
    ) -> Result<(), StorageError> {
        let persistence_id = persistence_id.cloned();
        let change = ProjectionChange::RequestParked {
            persistence_id,
            request,
        };
        self.change(change).await?;
        self.requests.send_replace(());
        Ok(())
    }
}
