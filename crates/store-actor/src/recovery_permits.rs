//! Limits how many actors recover at once.

use std::sync::Arc;
use std::time::Duration;

use actix_persistence_storage_api::{Operation, StorageError, StorageErrorKind};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Given out in the order in which they were asked for; clones share them.
#[derive(Clone, Debug)]
pub struct RecoveryPermits {
    operation: Operation,
    permits: Arc<Semaphore>,
    timeout: Duration,
}

/// The turn to recover; the next actor gets it when this is dropped.
#[derive(Debug)]
#[must_use = "dropping the permit ends the turn"]
pub struct RecoveryPermit {
    _permit: OwnedSemaphorePermit,
}

impl RecoveryPermits {
    /// Makes `permits` permits, 0 counting as 1, each waited for at most `timeout`; an error names the operation they
    /// are for.
    pub fn new(operation: Operation, permits: usize, timeout: Duration) -> Self {
        let permits = permits.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            operation,
            permits: Arc::new(Semaphore::new(permits)),
            timeout,
        }
    }

    /// Waits for a turn.
    ///
    /// The future needs a tokio timer where it is polled.
    ///
    /// # Errors
    /// [`StorageErrorKind::Timeout`] when none came in time.
    ///
    /// # Cancel safety
    /// Whoever stops waiting leaves the queue, and a permit it had just been given goes on.
    pub async fn acquire(self) -> Result<RecoveryPermit, StorageError> {
        match tokio::time::timeout(self.timeout, self.permits.acquire_owned()).await {
            Ok(Ok(permit)) => Ok(RecoveryPermit { _permit: permit }),
            Ok(Err(_)) => unreachable!("nobody closes the semaphore"),
            Err(_) => Err(too_late(self.operation, self.timeout)),
        }
    }
}

fn too_late(operation: Operation, timeout: Duration) -> StorageError {
    let message = format!(
        "no turn to recover came within {timeout:?}; raise max-concurrent-recoveries or start fewer actors at once"
    );
    let error = StorageError::new(StorageErrorKind::Timeout, operation).with_message(message);
    if operation.writes() {
        error.not_stored()
    } else {
        error
    }
}
