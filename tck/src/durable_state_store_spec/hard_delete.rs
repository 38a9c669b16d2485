//! Removing every trace of an id.

use actix_persistence_storage_api::{StateDelete, StateStore};

use crate::case::{Case, case};
use crate::failure::{CaseResult, expect_eq};
use crate::state_steps::{expect_nothing, expect_state, state, store_up_to};
use crate::subject::Subject;
use crate::writer::fresh_id;

pub(super) const CASES: &[Case<dyn StateStore>] = &[
    case!(start_again_at_revision_1_after_a_hard_delete, ["D-HARD-1"]),
    case!(tell_whether_there_was_something_to_remove, ["D-HARD-2"]),
    case!(remove_one_id_only, ["D-HARD-3"]),
];

async fn start_again_at_revision_1_after_a_hard_delete(
    subject: Subject<dyn StateStore>,
) -> CaseResult {
    let (live, deleted) = (fresh_id(), fresh_id());
    store_up_to(subject.store(), &live, 5).await?;
    subject
        .store()
        .delete(StateDelete::new(deleted.clone(), 1))
        .await?;
    for id in [&live, &deleted] {
        subject.store().hard_delete(id).await?;
        expect_nothing(subject.store(), id, 0).await?;
    }
    let subject = subject.restart().await?;
    for id in [&live, &deleted] {
        expect_nothing(subject.store(), id, 0).await?;
        store_up_to(subject.store(), id, 2).await?;
        expect_state(subject.store(), &state(id, 2)).await?;
    }
    Ok(())
}

async fn tell_whether_there_was_something_to_remove(
    subject: Subject<dyn StateStore>,
) -> CaseResult {
    let (live, deleted) = (fresh_id(), fresh_id());
    store_up_to(subject.store(), &live, 1).await?;
    subject
        .store()
        .delete(StateDelete::new(deleted.clone(), 1))
        .await?;
    for id in [&live, &deleted] {
        expect_eq("the first", subject.store().hard_delete(id).await?, true)?;
        expect_eq("the second", subject.store().hard_delete(id).await?, false)?;
    }
    Ok(())
}

async fn remove_one_id_only(subject: Subject<dyn StateStore>) -> CaseResult {
    let (id, other) = (fresh_id(), fresh_id());
    store_up_to(subject.store(), &id, 1).await?;
    store_up_to(subject.store(), &other, 2).await?;
    subject.store().hard_delete(&id).await?;
    expect_state(subject.store(), &state(&other, 2)).await
}
