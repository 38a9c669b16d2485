//! Getting: the last state, a tombstone, nothing.

use actix_persistence_storage_api::{CurrentState, StateDelete, StateStore};

use crate::case::{Case, case};
use crate::failure::{CaseResult, expect_eq};
use crate::state_steps::{expect_nothing, expect_state, state, store_up_to};
use crate::subject::Subject;
use crate::writer::fresh_id;

pub(super) const CASES: &[Case<dyn StateStore>] = &[
    case!(find_nothing_of_an_id_never_seen, ["D-GET-2"]).of_spec("DurableStateStoreSpec"),
    case!(leave_no_trace_of_an_id_that_was_only_read, ["D-GET-3"]),
    case!(find_the_state_that_was_stored_last, ["D-GET-1"]).of_spec("DurableStateStoreSpec"),
    case!(find_the_revision_of_a_tombstone, ["D-GET-2"]),
];

async fn find_nothing_of_an_id_never_seen(subject: Subject<dyn StateStore>) -> CaseResult {
    store_up_to(subject.store(), &fresh_id(), 1).await?;
    let found = subject.store().get(&fresh_id()).await?;
    expect_eq("current state", found, CurrentState::NEVER_SEEN)
}

async fn leave_no_trace_of_an_id_that_was_only_read(
    subject: Subject<dyn StateStore>,
) -> CaseResult {
    let id = fresh_id();
    expect_nothing(subject.store(), &id, 0).await?;
    expect_eq("trace", subject.store().hard_delete(&id).await?, false)?;
    store_up_to(subject.store(), &id, 1).await?;
    expect_state(subject.store(), &state(&id, 1)).await
}

async fn find_the_state_that_was_stored_last(subject: Subject<dyn StateStore>) -> CaseResult {
    let (id, other) = (fresh_id(), fresh_id());
    for revision in 1..=5 {
        subject.store().upsert(state(&id, revision)).await?;
        expect_state(subject.store(), &state(&id, revision)).await?;
        subject.store().upsert(state(&other, revision)).await?;
    }
    expect_state(subject.store(), &state(&id, 5)).await
}

async fn find_the_revision_of_a_tombstone(subject: Subject<dyn StateStore>) -> CaseResult {
    let id = fresh_id();
    store_up_to(subject.store(), &id, 2).await?;
    subject
        .store()
        .delete(StateDelete::new(id.clone(), 3))
        .await?;
    expect_nothing(subject.store(), &id, 3).await
}
