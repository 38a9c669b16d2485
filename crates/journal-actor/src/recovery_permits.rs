//! Limits how many actors recover at once.

use std::sync::Arc;
use std::time::Duration;

use actix_persistence_storage_api::{Operation, StorageError, StorageErrorKind};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Given out in the order in which they were asked for.
#[derive(Clone)]
pub(crate) struct RecoveryPermits {
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
    pub(crate) fn new(permits: usize, timeout: Duration) -> Self {
        let permits = permits.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            permits: Arc::new(Semaphore::new(permits)),
            timeout,
        }
    }

    /// Waits for a turn. Whoever stops waiting leaves the queue, and a permit it had just been given goes on.
    pub(crate) async fn acquire(self) -> Result<RecoveryPermit, StorageError> {
        match tokio::time::timeout(self.timeout, self.permits.acquire_owned()).await {
            Ok(Ok(permit)) => Ok(RecoveryPermit { _permit: permit }),
            Ok(Err(_)) => unreachable!("nobody closes the semaphore"),
            Err(_) => Err(
                StorageError::new(StorageErrorKind::Timeout, Operation::Recover)
                    .not_stored()
                    .with_message(format!(
                        "no turn to recover came within {:?}; raise max-concurrent-recoveries or start fewer actors at once",
                        self.timeout
                    )),
            ),
        }
    }
}
