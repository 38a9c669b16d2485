//! Says that writers get into each other's way, and not more often than anybody wants to read.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use actix_persistence_storage_api::PersistenceId;
use tokio::time::Instant;

use crate::PersistError;
use crate::error_chain::ErrorChain;

/// Between two warnings of the actors of one environment.
const PERIOD: Duration = Duration::from_secs(10);

/// Conflicts since the last warning.
#[derive(Debug, Default)]
pub(crate) struct ConflictLog(Mutex<Option<Since>>);

#[derive(Debug)]
struct Since {
    warned: Instant,
    unsaid: u64,
}

impl ConflictLog {
    /// Notes a conflict, and warns of it unless somebody has just been warned.
    pub(crate) fn note(&self, persistence_id: &PersistenceId, error: &PersistError) {
        let Some(unsaid) = self.due() else {
            tracing::debug!(%persistence_id, error = %ErrorChain(error), "another writer was there first");
            return;
        };
        tracing::warn!(
            %persistence_id,
            more_conflicts = unsaid,
            error = %ErrorChain(error),
            "another writer was there first; the actor is recovered onto what is stored. \
             Let each id be written by one process at a time to avoid it"
        );
    }

    /// How many conflicts were not warned of since the last warning, if one is due.
    fn due(&self) -> Option<u64> {
        let now = Instant::now();
        let mut since = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *since {
            Some(since) if now < since.warned + PERIOD => {
                since.unsaid += 1;
                None
            }
            since => {
                let last = since.replace(Since {
                    warned: now,
                    unsaid: 0,
                });
                Some(last.map_or(0, |last| last.unsaid))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn one_warning_stands_for_all_conflicts_of_a_period() {
        let log = ConflictLog::default();
        assert_eq!(log.due(), Some(0));
        assert_eq!((log.due(), log.due()), (None, None));
        tokio::time::advance(PERIOD).await;
        assert_eq!(log.due(), Some(2));
        tokio::time::advance(PERIOD).await;
        assert_eq!(log.due(), Some(0));
    }
}
