//! Defects of deleting.

use std::sync::{Arc, Mutex};

use actix_persistence_memory::MemorySnapshotStore;
use actix_persistence_storage_api::{
    Operation, PersistenceId, SnapshotCriteria, SnapshotMetadata, SnapshotStore, StorageError,
    StorageErrorKind, Timestamp,
};
use async_trait::async_trait;
use tokio::task::yield_now;

use super::defect;
use super::without_lower_bounds;
use crate::broken_snapshot_store::SnapshotDefect;

defect! {
    /// Deletes by number, whatever the timestamp.
    DeleteIgnoresTimestamp,
    delete(inner, metadata) {
        let mut any_time = metadata.clone();
        any_time.timestamp = Timestamp::UNSET;
        inner.delete(&any_time).await
    }
}

defect! {
    /// Looks for the timestamp zero where none is given.
    TakesUnsetLiterally,
    delete(inner, metadata) {
        if metadata.timestamp == Timestamp::UNSET {
            return Ok(());
        }
        inner.delete(metadata).await
    }
}

defect! {
    /// Deletes up to the number instead of the number.
    DeletesUpTo,
    delete(inner, metadata) {
        let criteria = SnapshotCriteria::up_to(metadata.sequence_nr);
        inner.delete_matching(&metadata.persistence_id, criteria).await
    }
}

defect! {
    /// Fails when there is nothing to delete.
    FailsOnNothingToDelete,
    delete(inner, metadata) {
        let before = inner.load(&metadata.persistence_id, SnapshotCriteria::LATEST).await?;
        if before.is_none_or(|latest| latest.metadata.sequence_nr < metadata.sequence_nr) {
            return Err(StorageError::new(StorageErrorKind::Backend, Operation::DeleteSnapshot));
        }
        inner.delete(metadata).await
    }
}

defect! {
    /// Deletes by criteria without looking at the lower bounds.
    DeleteIgnoresLowerBounds,
    delete_matching(inner, id, criteria) {
        inner.delete_matching(id, without_lower_bounds(criteria)).await
    }
}

defect! {
    /// Deletes by criteria without looking at timestamps.
    DeleteMatchingIgnoresTimestamps,
    delete_matching(inner, id, criteria) {
        let criteria = SnapshotCriteria {
            min_timestamp: Timestamp::MIN,
            max_timestamp: Timestamp::MAX,
            ..criteria
        };
        inner.delete_matching(id, criteria).await
    }
}

/// Deletes in two steps, and a dropped call leaves a mark that makes the next one do nothing.
#[derive(Clone, Default)]
pub(crate) struct GetsStuckInDeletes {
    deleting: Arc<Mutex<bool>>,
}

#[async_trait]
impl SnapshotDefect for GetsStuckInDeletes {
    async fn delete(
        &self,
        inner: &MemorySnapshotStore,
        metadata: &SnapshotMetadata,
    ) -> Result<(), StorageError> {
        if std::mem::replace(&mut *self.deleting.lock().unwrap(), true) {
            return Ok(());
        }
        yield_now().await;
        *self.deleting.lock().unwrap() = false;
        inner.delete(metadata).await
    }
}
