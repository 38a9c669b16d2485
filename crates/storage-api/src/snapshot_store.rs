//! The contract of a snapshot store.

mod snapshot_record;

use std::any::Any;

use async_trait::async_trait;

pub use snapshot_record::{SnapshotCriteria, SnapshotMetadata, SnapshotRecord};

use crate::{Payload, PersistenceId, SnapshotCapabilities, StorageError};

/// Stores whole states by persistence id and sequence number, to shorten recovery.
///
/// Calls come as described at [`Journal`](crate::Journal); saves and deletes of one id come one after the other.
#[async_trait]
pub trait SnapshotStore: Any + Send + Sync {
    /// Makes the store ready: opens it, creates or checks its schema.
    ///
    /// # Contract
    /// - **S-INIT-1**: The call may be repeated, even on a store that is in use; a repeated call changes nothing that
    ///   is stored.
    /// - **S-INIT-2**: If several instances initialise the same store at the same time, all of them succeed.
    ///
    /// # Errors
    /// As for [`Journal::initialize`](crate::Journal::initialize).
    ///
    /// # Cancel safety
    /// Dropped, it leaves the store as before or ready; calling again finishes the work.
    async fn initialize(&self) -> Result<(), StorageError>;

    /// Returns the youngest snapshot that the criteria select.
    ///
    /// # Contract
    /// - **S-LOAD-1**: The call returns, of the selected snapshots, the one with the highest sequence number; all
    ///   bounds of the criteria are inclusive.
    /// - **S-LOAD-2**: The call returns `None` if the criteria select no snapshot, and for an id never seen.
    ///
    /// # Errors
    /// [`Corrupt`](crate::StorageErrorKind::Corrupt) if the selected snapshot exists but cannot be read; the call does
    /// not return `None` then.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    async fn load(
        &self,
        persistence_id: &PersistenceId,
        criteria: SnapshotCriteria,
    ) -> Result<Option<SnapshotRecord>, StorageError>;

    /// Stores a snapshot of an id.
    ///
    /// # Contract
    /// - **S-SAVE-1**: After the call has returned, the snapshot is durable, and every load that starts afterwards sees
    ///   it.
    /// - **S-SAVE-2**: The call replaces a snapshot of the same id and sequence number; of two saves, the later one
    ///   stays.
    /// - **S-SAVE-3**: A load returns every field unchanged; metadata only if the store declares the capability for it.
    /// - **S-SAVE-4**: A snapshot of any size is either stored whole, or refused as too large.
    /// - **S-SAVE-5**: The store compares ids byte by byte; the call does not affect other ids.
    /// - **S-SAVE-6**: The store refuses a snapshot as unsupported, and does not store it, if a manifest of it (of the
    ///   snapshot, of the metadata) is longer than [`MAX_TEXT_BYTES`](crate::MAX_TEXT_BYTES) or contains NUL;
    ///   [`SnapshotMetadata::refusal`] is this check. No other manifest makes the store refuse a snapshot.
    ///
    /// # Errors
    /// With effect `Unknown` the snapshot may be there, whole; never half of it.
    ///
    /// # Cancel safety
    /// As for an error of unknown effect.
    async fn save(&self, metadata: SnapshotMetadata, payload: Payload) -> Result<(), StorageError>;

    /// Deletes one snapshot of an id.
    ///
    /// # Contract
    /// - **S-DELETE-1**: The call deletes the snapshot of this id and sequence number if `timestamp` is
    ///   [`UNSET`](crate::Timestamp::UNSET) or equals the stored timestamp; otherwise it deletes nothing.
    /// - **S-DELETE-2**: The call succeeds even if there was nothing to delete.
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
    /// - **S-DELETE-3**: The call deletes every snapshot that all four bounds select, and no other; the bounds are
    ///   inclusive.
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

    /// Checks whether the store works again; called now and then after calls have failed, until it returns `Ok`.
    ///
    /// Waiting actors go on as soon as it does. The default looks for a snapshot of an id that is never used, so a
    /// plugin need not implement it; one that can ask its database for less may. It must really ask: an answer from
    /// memory sends waiting actors to a database that is away. It changes nothing, no circuit breaker counts it, and it
    /// may be called beside calls that hang.
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

    /// Returns what this store can do, the same for its whole life. The default declares nothing optional.
    fn capabilities(&self) -> SnapshotCapabilities {
        SnapshotCapabilities::default()
    }
}

/// Fails to compile when [`SnapshotStore`] is no longer object safe.
const _: Option<&dyn SnapshotStore> = None;
