//! The results of the calls that are made for a group.

use actix_persistence_storage_api::{StorageError, StorageErrorKind};
use actix_persistence_store_actor::GUILTY_ENOUGH;
use tokio::sync::oneshot;

use super::member::Member;

/// The results of the parts of a group.
#[derive(Default)]
pub(super) struct Tally {
    pub(super) called: bool,
    pub(super) worked: bool,
    pub(super) failed: bool,
    pub(super) late: bool,
    /// The result of a call whose askers had less time than a call may take; the breaker waits for it.
    pub(super) to_come: Option<oneshot::Receiver<Result<(), StorageError>>>,
    /// Requests that failed alone.
    pub(super) guilty: u32,
}

impl Tally {
    /// Takes in the result of a call that ended in time.
    pub(super) fn count<M: Member>(
        &mut self,
        requests: usize,
        result: &Result<Vec<M::Outcome>, StorageError>,
    ) {
        self.called = true;
        let store_failed = match result {
            Ok(outcomes) => M::store_failed(outcomes),
            // It never came to the store.
            Err(error) if error.kind() == StorageErrorKind::Busy => return,
            Err(error) => {
                self.guilty += u32::from(requests == 1);
                error.kind().counts_as_store_failure()
            }
        };
        self.failed |= store_failed;
        self.worked |= !store_failed;
    }

    /// Returns whether calls fail for a reason that is not a single request's.
    pub(super) fn is_hopeless(&self) -> bool {
        self.guilty >= GUILTY_ENOUGH && !self.worked
    }
}
