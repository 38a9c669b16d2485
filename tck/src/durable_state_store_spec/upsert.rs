//! Storing: at the revision that follows, durably, whole.

use actix_persistence_storage_api::{
    ChangeEvent, MAX_TEXT_BYTES, Revision, StateDelete, StateStore, StorageErrorKind, Timestamp,
    WriterId,
};

use crate::bytes_like_random::bytes_like_random;
use crate::case::{Case, case};
use crate::failure::{CaseResult, Failure, expect, expect_eq};
use crate::state_steps::{
    expect_conflict, expect_nothing, expect_state, refused, state, store_up_to, with_payload,
};
use crate::subject::Subject;
use crate::writer::{fresh_id, text};

pub(super) const CASES: &[Case<dyn StateStore>] = &[
    case!(
        store_a_first_state_at_revision_1_only,
        ["D-UPSERT-1", "D-UPSERT-2"]
    )
    .of_spec("DurableStateStoreSpec"),
    case!(
        store_a_further_state_at_the_next_revision_only,
        ["D-UPSERT-1", "D-UPSERT-2"]
    )
    .of_spec("DurableStateStoreSpec"),
    case!(refuse_changes_with_events_unless_declared, ["D-EVENT-1"]),
    case!(refuse_revision_0, ["D-UPSERT-2", "D-DELETE-2"]),
    case!(keep_states_over_a_restart, ["D-UPSERT-3"]),
    case!(show_a_state_to_every_instance, ["D-UPSERT-3"]),
    case!(give_every_revision_a_later_timestamp, ["D-UPSERT-7"]),
    case!(
        store_a_state_of_any_size_whole_or_refuse_it_as_too_large,
        ["D-UPSERT-5"]
    ),
    case!(
        refuse_texts_that_not_every_state_store_can_store,
        ["D-UPSERT-9"]
    ),
];

/// The largest state that the kit makes in order to see it refused.
const LARGEST: usize = 64 * 1024 * 1024;

async fn store_a_first_state_at_revision_1_only(subject: Subject<dyn StateStore>) -> CaseResult {
    let id = fresh_id();
    for revision in [2, 3, 1_000, Revision::MAX] {
        let result = subject.store().upsert(state(&id, revision)).await;
        expect_conflict(result, revision - 1, 0)?;
        expect_nothing(subject.store(), &id, 0).await?;
    }
    store_up_to(subject.store(), &id, 1).await?;
    expect_state(subject.store(), &state(&id, 1)).await
}

async fn store_a_further_state_at_the_next_revision_only(
    subject: Subject<dyn StateStore>,
) -> CaseResult {
    let id = fresh_id();
    store_up_to(subject.store(), &id, 3).await?;
    for revision in [1, 2, 3, 5, 6, 1_000, Revision::MAX] {
        let other = with_payload(state(&id, revision), text("refused"));
        expect_conflict(subject.store().upsert(other).await, revision - 1, 3)?;
        expect_state(subject.store(), &state(&id, 3)).await?;
    }
    subject.store().upsert(state(&id, 4)).await?;
    expect_state(subject.store(), &state(&id, 4)).await
}

async fn refuse_texts_that_not_every_state_store_can_store(
    subject: Subject<dyn StateStore>,
) -> CaseResult {
    let store = subject.store();
    let has_tags = store.capabilities().tags;
    let longest = "ü".repeat(MAX_TEXT_BYTES / 2) + "x";
    for (text, is_fit) in [
        (longest.clone(), true),
        (longest + "x", false),
        ("x".repeat(5_000), false),
        ("a\0b".to_owned(), false),
    ] {
        let mut with_manifest = state(&fresh_id(), 1);
        with_manifest.payload.manifest = text.as_str().into();
        let with_tag = state(&fresh_id(), 1).with_tags(["good", text.as_str()]);
        let updates = [(with_manifest, true), (with_tag, has_tags)];
        for (update, _) in updates.into_iter().filter(|(_, kept)| *kept) {
            let stored = store.upsert(update.clone()).await;
            if is_fit {
                stored?;
                expect_state(store, &update).await?;
            } else {
                let error = refused(stored)?;
                expect_eq("kind", error.kind(), StorageErrorKind::Unsupported)?;
                expect_nothing(store, &update.persistence_id, 0).await?;
            }
        }
    }
    Ok(())
}

async fn refuse_revision_0(subject: Subject<dyn StateStore>) -> CaseResult {
    let (live, never_seen) = (fresh_id(), fresh_id());
    store_up_to(subject.store(), &live, 1).await?;
    for id in [&live, &never_seen] {
        let results = [
            subject.store().upsert(state(id, 0)).await,
            subject
                .store()
                .delete(StateDelete::new(id.clone(), 0))
                .await,
        ];
        for result in results {
            let kind = refused(result)?.kind();
            expect_eq("kind", kind, StorageErrorKind::Unsupported)?;
        }
    }
    expect_state(subject.store(), &state(&live, 1)).await?;
    expect_nothing(subject.store(), &never_seen, 0).await
}

async fn keep_states_over_a_restart(subject: Subject<dyn StateStore>) -> CaseResult {
    let id = fresh_id();
    store_up_to(subject.store(), &id, 3).await?;
    let subject = subject.restart().await?;
    expect_state(subject.store(), &state(&id, 3)).await?;
    let result = subject.store().upsert(state(&id, 3)).await;
    expect_conflict(result, 2, 3)?;
    subject.store().upsert(state(&id, 4)).await?;
    expect_state(subject.store(), &state(&id, 4)).await
}

async fn show_a_state_to_every_instance(subject: Subject<dyn StateStore>) -> CaseResult {
    let id = fresh_id();
    let stores = [subject.share(), subject.another().await?];
    for revision in 1..=10 {
        let turn = usize::from(revision % 2 == 0);
        stores[turn].upsert(state(&id, revision)).await?;
        expect_state(&*stores[1 - turn], &state(&id, revision)).await?;
    }
    Ok(())
}

async fn give_every_revision_a_later_timestamp(subject: Subject<dyn StateStore>) -> CaseResult {
    let id = fresh_id();
    let mut last = Timestamp::MIN;
    for revision in 1..=50 {
        let deletes = revision % 10 == 0;
        if deletes {
            subject
                .store()
                .delete(StateDelete::new(id.clone(), revision))
                .await?;
            continue;
        }
        subject.store().upsert(state(&id, revision)).await?;
        let found = subject.store().get(&id).await?.state;
        let found = found.ok_or_else(|| Failure::new("expected a state"))?;
        expect(
            found.timestamp > last,
            format!("a timestamp after {last:?}, found {:?}", found.timestamp),
        )?;
        last = found.timestamp;
    }
    Ok(())
}

async fn store_a_state_of_any_size_whole_or_refuse_it_as_too_large(
    subject: Subject<dyn StateStore>,
) -> CaseResult {
    let declared = subject.store().capabilities().max_state_bytes;
    let limit = declared.unwrap_or(LARGEST).min(LARGEST);
    for size in [0, 1, 65_535, 65_536, 1_000_000, limit] {
        let id = fresh_id();
        let mut update = state(&id, 1);
        update.payload.bytes = bytes_like_random(size.min(limit)).into();
        subject.store().upsert(update.clone()).await?;
        expect_state(subject.store(), &update).await?;
    }
    let Some(limit) = declared else {
        return Ok(());
    };
    let id = fresh_id();
    store_up_to(subject.store(), &id, 1).await?;
    let mut update = state(&id, 2);
    update.payload.bytes = bytes_like_random(limit + 1).into();
    let error = refused(subject.store().upsert(update).await)?;
    expect_eq("kind", error.kind(), StorageErrorKind::TooLarge)?;
    expect_state(subject.store(), &state(&id, 1)).await
}

async fn refuse_changes_with_events_unless_declared(
    subject: Subject<dyn StateStore>,
) -> CaseResult {
    if subject.store().capabilities().change_events {
        return Ok(());
    }
    let id = fresh_id();
    store_up_to(subject.store(), &id, 1).await?;
    let event = ChangeEvent::new(text("changed"), WriterId::random());
    let update = state(&id, 2).with_change_event(event.clone());
    let delete = StateDelete::new(id.clone(), 2).with_change_event(event);
    for result in [
        subject.store().upsert(update).await,
        subject.store().delete(delete).await,
    ] {
        let error = refused(result)?;
        expect_eq("kind", error.kind(), StorageErrorKind::Unsupported)?;
    }
    expect_state(subject.store(), &state(&id, 1)).await
}
