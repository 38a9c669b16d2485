//! The steps of which the cases for state stores are made.

use actix_persistence_storage_api::{
    CurrentState, Payload, PersistenceId, Revision, RevisionConflict, StateStore, StateUpdate,
    StorageError, StorageErrorKind,
};

use crate::failure::{CaseResult, Failure, expect, expect_eq};
use crate::writer::text;

/// Returns the state `s-<revision>`; the same whenever it is asked for.
pub(crate) fn state(id: &PersistenceId, revision: Revision) -> StateUpdate {
    StateUpdate::new(id.clone(), revision, text(format!("s-{revision}")))
}

/// Stores the states up to a revision, one after the other.
pub(crate) async fn store_up_to(
    store: &dyn StateStore,
    id: &PersistenceId,
    revision: Revision,
) -> CaseResult {
    for revision in 1..=revision {
        store.upsert(state(id, revision)).await?;
    }
    Ok(())
}

/// Gets, and expects this payload at this revision, without tags.
pub(crate) async fn expect_state(store: &dyn StateStore, update: &StateUpdate) -> CaseResult {
    let found = store.get(&update.persistence_id).await?;
    expect_eq("revision", found.revision, update.revision)?;
    let state = found
        .state
        .ok_or_else(|| Failure::new("expected a state, found none"))?;
    expect_eq("payload", &state.payload, &update.payload)?;
    let (mut found, mut expected) = (state.tags, update.tags.clone());
    found.sort();
    expected.sort();
    expect_eq("tags", found, expected)
}

/// Gets, and expects a revision without a state.
pub(crate) async fn expect_nothing(
    store: &dyn StateStore,
    id: &PersistenceId,
    revision: Revision,
) -> CaseResult {
    let found = store.get(id).await?;
    expect_eq("current state", found, CurrentState::tombstone(revision))
}

/// Expects that a call was refused because of these revisions, and certainly changed nothing.
pub(crate) fn expect_conflict(
    result: Result<(), StorageError>,
    expected: Revision,
    found: Revision,
) -> CaseResult {
    let error = refused(result)?;
    expect_eq("kind", error.kind(), StorageErrorKind::RevisionConflict)?;
    let conflict = RevisionConflict { expected, found };
    expect_eq("conflict", error.revision_conflict(), Some(&conflict))
}

/// Expects that a call was refused, and certainly changed nothing.
pub(crate) fn refused(result: Result<(), StorageError>) -> Result<StorageError, Failure> {
    let Err(error) = result else {
        return Err(Failure::new("expected a refusal, found success"));
    };
    expect(
        error.is_not_stored(),
        format!("certainty that nothing is stored, found {error:?}"),
    )?;
    Ok(error)
}

/// The same update with another payload.
pub(crate) fn with_payload(mut update: StateUpdate, payload: Payload) -> StateUpdate {
    update.payload = payload;
    update
}
