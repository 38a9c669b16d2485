//! The warnings that writers get into each other's way, at a limited rate.

use std::time::Duration;

use actix_persistence_storage_api::PersistenceId;
use actix_persistence_store_actor::LogLimiter;

use crate::PersistError;
use crate::error::error_chain::ErrorChain;

/// The time between two warnings of the actors of one environment.
const PERIOD: Duration = Duration::from_secs(10);

/// Logs warnings of conflicts, at a limited rate.
#[derive(Debug)]
pub(crate) struct ConflictLog(LogLimiter);

impl Default for ConflictLog {
    fn default() -> Self {
        Self(LogLimiter::new(PERIOD))
    }
}

impl ConflictLog {
    /// Notes a conflict, and logs a warning unless another one was logged just before.
    pub(crate) fn note(&self, persistence_id: &PersistenceId, error: &PersistError) {
        let Some(unsaid) = self.0.due() else {
            tracing::debug!(%persistence_id, error = %ErrorChain(error), "another writer was there first");
            return;
        };
        tracing::warn!(
            %persistence_id,
            more_conflicts = unsaid,
            error = %ErrorChain(error),
            "another writer was there first; the actor is recovered onto what is stored, or ends if it is to stop on a \
             conflict. Let each id be written by one process at a time to avoid it"
        );
    }
}
