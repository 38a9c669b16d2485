//! Finding the request that fails a call for several, by calls for halves of them.

use actix_persistence_storage_api::{StorageError, StorageErrorKind};

use crate::refusal::Refusal;

/// The number of single requests that have failed, while none has worked, after which splitting stops: then the store
/// is at fault.
pub const GUILTY_ENOUGH: u32 = 8;

/// Returns whether one request may be the reason of an error, rather than the store.
pub fn may_be_one_request(error: &StorageError) -> bool {
    !matches!(
        error.kind(),
        StorageErrorKind::Unavailable
            | StorageErrorKind::Busy
            | StorageErrorKind::Timeout
            | StorageErrorKind::AccessDenied
            | StorageErrorKind::SchemaMismatch
    )
}

/// Returns the refusal of a part of a call that changed nothing, and that is not tried again.
pub fn neighbour_failed(error: &StorageError) -> Refusal {
    let message = "the store failed while it was tried which request of a group is at fault";
    Refusal::new(StorageErrorKind::Unavailable, message).with_source(error.clone())
}
