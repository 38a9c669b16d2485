//! Deleting: a tombstone that keeps the revision.

use actix_persistence_storage_api::{Revision, StateDelete, StateStore};

use crate::capability::Capability;
use crate::case::{Case, case};
use crate::failure::CaseResult;
use crate::state_steps::{expect_conflict, expect_nothing, expect_state, state, store_up_to};
use crate::subject::Subject;
use crate::writer::fresh_id;

pub(super) const CASES: &[Case<dyn StateStore>] = &[
    case!(
        replace_a_state_by_a_tombstone_at_the_next_revision,
        ["D-DELETE-1"]
    )
    .of_spec("DurableStateStoreSpec"),
    case!(refuse_to_delete_at_any_other_revision, ["D-DELETE-2"]),
    case!(
        leave_a_tombstone_of_an_id_never_seen_at_revision_1_only,
        ["D-DELETE-1", "D-DELETE-2"]
    ),
    case!(
        delete_what_is_deleted_at_the_next_revision,
        ["D-DELETE-1", "D-DELETE-2"]
    ),
    case!(
        create_again_after_a_tombstone_and_never_at_revision_1,
        ["D-DELETE-4", "D-UPSERT-1", "D-UPSERT-2"]
    ),
    case!(keep_tombstones_over_a_restart, ["D-DELETE-4"]),
    case!(leave_no_tags_behind, ["D-DELETE-3"]).needing(Capability::Tags),
];

async fn replace_a_state_by_a_tombstone_at_the_next_revision(
    subject: Subject<dyn StateStore>,
) -> CaseResult {
    let (id, other) = (fresh_id(), fresh_id());
    store_up_to(subject.store(), &id, 2).await?;
    store_up_to(subject.store(), &other, 2).await?;
    subject
        .store()
        .delete(StateDelete::new(id.clone(), 3))
        .await?;
    expect_nothing(subject.store(), &id, 3).await?;
    expect_state(subject.store(), &state(&other, 2)).await
}

async fn refuse_to_delete_at_any_other_revision(subject: Subject<dyn StateStore>) -> CaseResult {
    let id = fresh_id();
    store_up_to(subject.store(), &id, 3).await?;
    for revision in [1, 2, 3, 5, 1_000, Revision::MAX] {
        let result = subject
            .store()
            .delete(StateDelete::new(id.clone(), revision))
            .await;
        expect_conflict(result, revision - 1, 3)?;
        expect_state(subject.store(), &state(&id, 3)).await?;
    }
    Ok(())
}

async fn leave_a_tombstone_of_an_id_never_seen_at_revision_1_only(
    subject: Subject<dyn StateStore>,
) -> CaseResult {
    let id = fresh_id();
    for revision in [2, 7] {
        let result = subject
            .store()
            .delete(StateDelete::new(id.clone(), revision))
            .await;
        expect_conflict(result, revision - 1, 0)?;
        expect_nothing(subject.store(), &id, 0).await?;
    }
    subject
        .store()
        .delete(StateDelete::new(id.clone(), 1))
        .await?;
    expect_nothing(subject.store(), &id, 1).await
}

async fn delete_what_is_deleted_at_the_next_revision(
    subject: Subject<dyn StateStore>,
) -> CaseResult {
    let id = fresh_id();
    store_up_to(subject.store(), &id, 1).await?;
    for revision in 2..=5 {
        subject
            .store()
            .delete(StateDelete::new(id.clone(), revision))
            .await?;
        expect_nothing(subject.store(), &id, revision).await?;
        let again = subject
            .store()
            .delete(StateDelete::new(id.clone(), revision))
            .await;
        expect_conflict(again, revision - 1, revision)?;
    }
    Ok(())
}

async fn create_again_after_a_tombstone_and_never_at_revision_1(
    subject: Subject<dyn StateStore>,
) -> CaseResult {
    let id = fresh_id();
    store_up_to(subject.store(), &id, 1).await?;
    subject
        .store()
        .delete(StateDelete::new(id.clone(), 2))
        .await?;
    for revision in [1, 2, 4] {
        let result = subject.store().upsert(state(&id, revision)).await;
        expect_conflict(result, revision - 1, 2)?;
    }
    expect_nothing(subject.store(), &id, 2).await?;
    subject.store().upsert(state(&id, 3)).await?;
    expect_state(subject.store(), &state(&id, 3)).await
}

async fn keep_tombstones_over_a_restart(subject: Subject<dyn StateStore>) -> CaseResult {
    let id = fresh_id();
    store_up_to(subject.store(), &id, 1).await?;
    subject
        .store()
        .delete(StateDelete::new(id.clone(), 2))
        .await?;
    let subject = subject.restart().await?;
    expect_nothing(subject.store(), &id, 2).await?;
    let result = subject.store().upsert(state(&id, 1)).await;
    expect_conflict(result, 0, 2)?;
    subject.store().upsert(state(&id, 3)).await?;
    expect_state(subject.store(), &state(&id, 3)).await
}

async fn leave_no_tags_behind(subject: Subject<dyn StateStore>) -> CaseResult {
    let id = fresh_id();
    let tagged = state(&id, 1).with_tags(["red", "blue"]);
    subject.store().upsert(tagged.clone()).await?;
    expect_state(subject.store(), &tagged).await?;
    subject
        .store()
        .delete(StateDelete::new(id.clone(), 2))
        .await?;
    subject.store().upsert(state(&id, 3)).await?;
    expect_state(subject.store(), &state(&id, 3)).await
}
