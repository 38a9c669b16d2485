//! The outcome of one atomic write.

use crate::StorageError;

/// The fate of one [`AtomicWrite`](crate::AtomicWrite) of a call.
///
/// The outcome says whether the events are stored, never whose fault it was:
/// trouble with the database is never a rejection, because an actor goes on after one.
#[derive(Clone, Debug)]
pub enum WriteOutcome {
    /// The write is durable, and visible to every replay that starts from now on.
    Stored,
    /// The write is certainly not stored, decided before storing (too large, unsupported); the actor goes on.
    Rejected(StorageError),
    /// The write is not stored, or perhaps stored: [`StorageError::effect`] says which. The actor stops and recovers.
    Failed(StorageError),
    /// The write was not tried, because an earlier write of the same id in the call was not stored.
    Skipped,
}

impl WriteOutcome {
    /// Returns whether the events are durable.
    pub fn is_stored(&self) -> bool {
        matches!(self, WriteOutcome::Stored)
    }
}
