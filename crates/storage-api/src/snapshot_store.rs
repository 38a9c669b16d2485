//! The contract of a snapshot store.

use std::any::Any;

use async_trait::async_trait;

use crate::{
    Payload, PersistenceId, SnapshotCapabilities, SnapshotCriteria, SnapshotMetadata,
    SnapshotRecord, StorageError,
};

/// Stores whole states by persistence id and sequence number, to shorten recovery.
///
/// Calls come as for [`Journal`](crate::Journal); saves and deletes of one id come one after the other.
#[async_trait]
pub trait SnapshotStore: Any + Send + Sync {
    /// Makes the store ready: opens it, creates or checks its schema.
    ///
    /// # Contract
    /// - **S-INIT-1**: may be called again, also on a store in use, and then changes nothing that is stored.
    /// - **S-INIT-2**: when several instances initialise the same store at once, all of them succeed.
    ///
    /// # Errors
    /// As for [`Journal::initialize`](crate::Journal::initialize).
    ///
    /// # Cancel safety
    /// When dropped, the store is as before or ready; calling again finishes the work.
    async fn initialize(&self) -> Result<(), StorageError>;

    /// Gives the youngest snapshot that the criteria select.
    ///
    /// # Contract
    /// - **S-LOAD-1**: of the selected snapshots gives the one with the highest sequence number; all bounds inclusive.
    /// - **S-LOAD-2**: gives `None` if none is selected, and for an id never seen.
    ///
    /// # Errors
    /// [`Corrupt`](crate::StorageErrorKind::Corrupt) if the selected snapshot exists but cannot be read; never `None` then.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    async fn load(
        &self,
        persistence_id: &PersistenceId,
        criteria: SnapshotCriteria,
    ) -> Result<Option<SnapshotRecord>, StorageError>;

    /// Stores a snapshot.
    ///
    /// # Contract
    /// - **S-SAVE-1**: from its return on the snapshot is durable, and seen by every load that starts afterwards.
    /// - **S-SAVE-2**: replaces a snapshot of the same id and sequence number; of two saves the later one stays.
    /// - **S-SAVE-3**: every field comes back unchanged; metadata only where the capability is declared.
    /// - **S-SAVE-4**: a snapshot of any size is stored whole, or refused as too large.
    /// - **S-SAVE-5**: ids are compared byte by byte; other ids are not affected.
    /// - **S-SAVE-6**: a snapshot with a manifest (its own, that of the metadata) of more than
    ///   [`MAX_TEXT_BYTES`](crate::MAX_TEXT_BYTES), or with NUL in one, is refused as unsupported and not stored, as
    ///   [`SnapshotMetadata::refusal`] says; any other is stored.
    ///
    /// # Errors
    /// With effect `Unknown` the snapshot may be there, whole; never half of it.
    ///
    /// # Cancel safety
    /// As for an error of unknown effect.
    async fn save(&self, metadata: SnapshotMetadata, payload: Payload) -> Result<(), StorageError>;

    /// Deletes one snapshot.
    ///
    /// # Contract
    /// - **S-DELETE-1**: deletes the snapshot of this id and number if the timestamp is
    ///   [`UNSET`](crate::Timestamp::UNSET) or equal to the stored one; otherwise nothing.
    /// - **S-DELETE-2**: succeeds if there was nothing to delete.
    ///
    /// # Errors
    /// With effect `Unknown` the delete may have happened; repeating it is safe.
    ///
    /// # Cancel safety
    /// As for an error of unknown effect.
    async fn delete(&self, metadata: &SnapshotMetadata) -> Result<(), StorageError>;

    /// Deletes every snapshot of the id that the criteria select.
    ///
    /// # Contract
    /// - **S-DELETE-3**: deletes what all four bounds select, inclusive, and nothing else.
    ///
    /// # Errors
    /// As for [`delete`](Self::delete).
    ///
    /// # Cancel safety
    /// As for [`delete`](Self::delete).
    async fn delete_matching(
        &self,
        persistence_id: &PersistenceId,
        criteria: SnapshotCriteria,
    ) -> Result<(), StorageError>;

    /// Tells whether the store works again: called now and then after calls have failed, until it gives `Ok`.
    ///
    /// Waiting actors go on as soon as it does. The default looks for a snapshot of an id that nobody uses, so a plugin
    /// need not implement it; one that can ask its database for less may. It must really ask: an answer from memory sends
    /// waiting actors to a database that is away. It changes nothing, no circuit breaker counts it, and it may be called
    /// beside calls that hang.
    ///
    /// # Errors
    /// Any kind that [counts as a failure of the store](crate::StorageErrorKind::counts_as_store_failure) means: not yet.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    async fn ping(&self) -> Result<(), StorageError> {
        self.load(&PersistenceId::nobodys(), SnapshotCriteria::LATEST)
            .await
            .map(drop)
    }

    /// Closes what is open: connections, files. Called when an application stops, after everything else was answered.
    ///
    /// Changes nothing that is stored. The store can be used on, which opens it again; a call that is under way is waited
    /// for, or is not disturbed. A store in files leaves them as a copy of them should find them.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    async fn close(&self) {}

    /// What this store can do; constant over its life. The default declares nothing optional.
    fn capabilities(&self) -> SnapshotCapabilities {
        SnapshotCapabilities::default()
    }
}

/// Fails to compile when [`SnapshotStore`] is no longer object safe.
const _: Option<&dyn SnapshotStore> = None;
