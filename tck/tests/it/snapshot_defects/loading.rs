//! Defects of loading.

use std::sync::{Arc, Mutex};

use actix_persistence_memory::MemorySnapshotStore;
use actix_persistence_storage_api::{
    Operation, Payload, PersistenceId, SnapshotCriteria, SnapshotMetadata, SnapshotRecord,
    SnapshotStore, StorageError, StorageErrorKind, Timestamp,
};
use async_trait::async_trait;
use tokio::task::yield_now;

use super::defect;
use super::without_lower_bounds;
use crate::broken_snapshot_store::SnapshotDefect;

defect! {
    /// Loads without looking at the lower bounds.
    LoadIgnoresLowerBounds,
    load(inner, id, criteria) {
        inner.load(id, without_lower_bounds(criteria)).await
    }
}

defect! {
    /// Takes the upper bounds as exclusive.
    LoadsExclusively,
    load(inner, id, criteria) {
        let max_sequence_nr = match criteria.max_sequence_nr {
            u64::MAX => u64::MAX,
            bound => bound.saturating_sub(1),
        };
        inner.load(id, SnapshotCriteria { max_sequence_nr, ..criteria }).await
    }
}

defect! {
    /// Knows nothing of timestamps when it loads.
    LoadIgnoresTimestamps,
    load(inner, id, criteria) {
        let criteria = SnapshotCriteria {
            min_timestamp: Timestamp::MIN,
            max_timestamp: Timestamp::MAX,
            ..criteria
        };
        inner.load(id, criteria).await
    }
}

defect! {
    /// Takes 0 as the highest number for "any", as an old memory store of the field did.
    ZeroMeansAny,
    load(inner, id, criteria) {
        let any = criteria.max_sequence_nr == 0;
        let max_sequence_nr = if any { u64::MAX } else { criteria.max_sequence_nr };
        inner.load(id, SnapshotCriteria { max_sequence_nr, ..criteria }).await
    }
}

defect! {
    /// Puts the lower bound into a signed column, where large numbers are negative.
    CastsBoundsToSigned,
    load(inner, id, criteria) {
        let min_sequence_nr = u64::try_from(criteria.min_sequence_nr as i64).unwrap_or(0);
        inner.load(id, SnapshotCriteria { min_sequence_nr, ..criteria }).await
    }
}

defect! {
    /// Gives the snapshot with the latest timestamp.
    LoadsByTimestamp,
    load(inner, id, criteria) {
        let mut latest: Option<SnapshotRecord> = None;
        let mut below = criteria;
        while let Some(found) = inner.load(id, below).await? {
            let number = found.metadata.sequence_nr;
            if latest.as_ref().is_none_or(|it| it.metadata.timestamp < found.metadata.timestamp) {
                latest = Some(found);
            }
            match number.checked_sub(1) {
                Some(number) => below.max_sequence_nr = number,
                None => break,
            }
        }
        Ok(latest)
    }
}

defect! {
    /// Sorts the wrong way round.
    GivesTheOldest,
    load(inner, id, criteria) {
        let mut oldest = None;
        let mut below = criteria;
        while let Some(found) = inner.load(id, below).await? {
            let number = found.metadata.sequence_nr;
            oldest = Some(found);
            match number.checked_sub(1) {
                Some(number) => below.max_sequence_nr = number,
                None => break,
            }
        }
        Ok(oldest)
    }
}

defect! {
    /// Gives the latest snapshot when none is selected.
    GivesTheLatestInstead,
    load(inner, id, criteria) {
        match inner.load(id, criteria).await? {
            Some(found) => Ok(Some(found)),
            None => inner.load(id, SnapshotCriteria::LATEST).await,
        }
    }
}

defect! {
    /// Gives an empty snapshot for an id never seen.
    GivesAnEmptySnapshot,
    load(inner, id, criteria) {
        let found = inner.load(id, criteria).await?;
        let metadata = SnapshotMetadata::new(id.clone(), 0, Timestamp::UNSET);
        let empty = SnapshotRecord::new(metadata, Payload::new(0, "", ""));
        Ok(Some(found.unwrap_or(empty)))
    }
}

/// A dropped load never gives its connection back, and there are eight.
#[derive(Clone)]
pub(crate) struct LeaksConnections {
    free: Arc<Mutex<u32>>,
}

impl Default for LeaksConnections {
    fn default() -> Self {
        Self {
            free: Arc::new(Mutex::new(8)),
        }
    }
}

#[async_trait]
impl SnapshotDefect for LeaksConnections {
    async fn load(
        &self,
        inner: &MemorySnapshotStore,
        id: &PersistenceId,
        criteria: SnapshotCriteria,
    ) -> Result<Option<SnapshotRecord>, StorageError> {
        {
            let mut free = self.free.lock().unwrap();
            let Some(left) = free.checked_sub(1) else {
                let kind = StorageErrorKind::Unavailable;
                return Err(StorageError::new(kind, Operation::LoadSnapshot));
            };
            *free = left;
        }
        yield_now().await;
        let found = inner.load(id, criteria).await;
        *self.free.lock().unwrap() += 1;
        found
    }
}
