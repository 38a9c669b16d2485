//! The time that an actor waits for its stores.
//!
//! A store answers in time by itself. But its timers run where its calls do, and a plugin that blocks those threads
//! stops them, too; so the actor that waits has a clock of its own. It is somewhat slower, because the store knows more
//! about why it took so long.

use std::time::Duration;

use actix_persistence_journal_actor::JournalHandle;
use actix_persistence_snapshot_actor::SnapshotHandle;
use actix_persistence_state_actor::StateHandle;
use actix_persistence_storage_api::{Operation, PersistenceId, StorageError, StorageErrorKind};

const MARGIN: Duration = Duration::from_secs(1);

/// Returns the answer of a store, or a time-out with an unknown outcome if there is none within `limit`.
pub(crate) async fn in_time<T>(
    operation: Operation,
    persistence_id: PersistenceId,
    limit: Duration,
    answer: impl Future<Output = Result<T, StorageError>>,
) -> Result<T, StorageError> {
    match tokio::time::timeout(limit, answer).await {
        Ok(answer) => answer,
        Err(_) => Err(no_answer(operation, persistence_id, limit)),
    }
}

/// Returns the error of a store that did not answer in time: a time-out with an unknown outcome.
pub(crate) fn no_answer(
    operation: Operation,
    persistence_id: PersistenceId,
    limit: Duration,
) -> StorageError {
    StorageError::new(StorageErrorKind::Timeout, operation)
        .with_persistence_id(persistence_id)
        .with_message(format!("the store did not answer within {limit:?}"))
}

/// Returns the time for a request of a recovery to a journal.
pub(crate) fn for_reading(journal: &JournalHandle) -> Duration {
    journal
        .settings()
        .recovery_event_timeout
        .saturating_add(MARGIN)
}

/// Returns the time for a delete of events: it waits for its turn, and is then called.
pub(crate) fn for_deleting(journal: &JournalHandle) -> Duration {
    let settings = journal.settings();
    called(
        settings.write_timeout,
        settings.circuit_breaker.call_timeout,
    )
}

pub(crate) fn for_loading(store: &SnapshotHandle) -> Duration {
    let settings = store.settings();
    called(settings.load_timeout, settings.circuit_breaker.call_timeout)
}

/// Returns the time for saving and deleting snapshots.
pub(crate) fn for_saving(store: &SnapshotHandle) -> Duration {
    let settings = store.settings();
    called(settings.save_timeout, settings.circuit_breaker.call_timeout)
}

pub(crate) fn for_state(store: &StateHandle) -> Duration {
    store.settings().recovery_timeout.saturating_add(MARGIN)
}

/// Returns the time for storing and deleting a state.
pub(crate) fn for_change(store: &StateHandle) -> Duration {
    let settings = store.settings();
    called(
        settings.write_timeout,
        settings.circuit_breaker.call_timeout,
    )
}

fn called(waits: Duration, call: Duration) -> Duration {
    waits.saturating_add(call).saturating_add(MARGIN)
}
