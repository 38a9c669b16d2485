//! Events that record changes of states, in the journal of the same database.

use std::sync::Arc;

use actix_persistence_storage_api::{
    ChangeEvent, Journal, PageLimit, Payload, PurgeProgress, ReplayPage, ReplayRange, StateDelete,
    StorageError, StorageErrorKind, WriterId,
};
use actix_persistence_tck::TakeOverOne;

use super::{assert_conflict, id, revision_of, state, store};
use crate::Tables;

fn event(text: &str) -> ChangeEvent {
    let payload = Payload::new(2, "test.changed:v1", format!("{text:?}"));
    ChangeEvent::new(payload, WriterId::NIL)
        .with_tags(["changed", "changed", text])
        .with_metadata(metadata(text))
}

fn metadata(text: &str) -> Payload {
    Payload::new(1, "test.metadata:v1", format!("beside {text}"))
}

async fn events_of(journal: &dyn Journal, name: &str) -> ReplayPage {
    let page = journal
        .replay_messages(&id(name), ReplayRange::ALL, PageLimit::events(100))
        .await;
    page.expect("the events can be read")
}

fn assert_refused(result: Result<(), StorageError>) {
    let error = result.expect_err("the id belongs to others");
    assert_eq!(error.kind(), StorageErrorKind::Unsupported, "{error}");
    assert!(error.is_not_stored(), "{error:?}");
}

/// Checks that each change leaves its event, under its revision, and a change that is refused leaves none.
pub async fn changes_leave_their_events(tables: &dyn Tables) {
    let (states, journal) = tables.open_with_change_events().await;
    assert!(states.capabilities().change_events);
    for revision in 1..=3 {
        let update = state("a", revision).with_change_event(event(&format!("to {revision}")));
        store(&*states, update).await;
    }
    let late = state("a", 3).with_change_event(event("late"));
    assert_conflict(states.upsert(late).await, 2, 3);
    let delete = StateDelete::new(id("a"), 4).with_change_event(event("gone"));
    let deleted = states.delete(delete).await;
    deleted.expect("the state can be deleted");

    let found = events_of(&*journal, "a").await;
    let numbers: Vec<_> = found.events.iter().map(|event| event.sequence_nr).collect();
    assert_eq!(numbers, [1, 2, 3, 4]);
    assert_eq!(&found.events[1].payload.bytes[..], b"\"to 2\"");
    assert_eq!(&found.events[3].payload.bytes[..], b"\"gone\"");
    let mut tags = found.events[3].tags.clone();
    tags.sort_unstable();
    assert_eq!(tags, [Arc::from("changed"), Arc::from("gone")]);
    for (at, text) in [(1, "to 2"), (3, "gone")] {
        assert_eq!(found.events[at].metadata, Some(metadata(text)));
    }
    let highest = journal.read_highest_sequence_nr(&id("a")).await;
    assert_eq!(highest.expect("it can be read"), 4);
    assert_eq!(revision_of(&*states, "a").await, 4);
}

/// Changes without an event leave the journal alone; a first event may come late.
pub async fn changes_without_events_leave_the_journal_alone(tables: &dyn Tables) {
    let (states, journal) = tables.open_with_change_events().await;
    store(&*states, state("b", 1)).await;
    store(&*states, state("b", 2)).await;
    let highest = journal.read_highest_sequence_nr(&id("b")).await;
    assert_eq!(highest.expect("it can be read"), 0);
    store(&*states, state("b", 3).with_change_event(event("at last"))).await;
    store(&*states, state("b", 4)).await;
    store(&*states, state("b", 5).with_change_event(event("again"))).await;
    let found = events_of(&*journal, "b").await;
    let numbers: Vec<_> = found.events.iter().map(|event| event.sequence_nr).collect();
    // Numbers before the first event are as if they had been deleted.
    assert_eq!((found.deleted_to, &*numbers), (2, &[3, 5][..]));
}

/// An id is either event-sourced or a durable state.
pub async fn an_id_of_the_other_kind_is_refused(tables: &dyn Tables) {
    let (states, journal) = tables.open_with_change_events().await;
    let taken = journal
        .take_over_one(&id("events"), WriterId::random())
        .await;
    assert_eq!(taken.expect("nobody had it").epoch, 1);
    assert_refused(
        states
            .get(&id("events"))
            .await
            .map(drop)
            .map_err(StorageError::not_stored),
    );
    let update = state("events", 1).with_change_event(event("no"));
    assert_refused(states.upsert(update).await);
    let rows = "SELECT count(*) FROM durable_state";
    assert_eq!(tables.number(rows).await, 0);

    store(&*states, state("state", 1).with_change_event(event("one"))).await;
    for _ in 0..2 {
        let taken = journal
            .take_over_one(&id("state"), WriterId::random())
            .await;
        let error = taken.expect_err("it belongs to a durable state");
        assert_eq!(error.kind(), StorageErrorKind::Unsupported, "{error}");
        let message = error.message().unwrap_or_default();
        assert!(message.contains("durable state"), "{message}");
    }
    store(&*states, state("state", 2).with_change_event(event("two"))).await;
    assert_eq!(events_of(&*journal, "state").await.events.len(), 2);
    // Others are taken over as ever.
    let again = journal
        .take_over_one(&id("events"), WriterId::random())
        .await;
    assert_eq!(again.expect("it is event-sourced").epoch, 2);
}

/// An event that the journal cannot take stores no state either.
pub async fn an_event_that_is_too_large_stores_nothing(tables: &dyn Tables) {
    let (states, journal) = tables.open_with_change_events().await;
    let bytes = format!("{:?}", "x".repeat(1024 * 1024));
    let (mut large, mut beside) = (event("large"), event("large beside"));
    large.payload.bytes = bytes.clone().into();
    beside.metadata = Some(Payload::new(1, "test.metadata:v1", bytes));
    for large in [large, beside] {
        let error = states.upsert(state("c", 1).with_change_event(large));
        let error = error
            .await
            .expect_err("it is larger than 'max-event-bytes'");
        assert_eq!(error.kind(), StorageErrorKind::TooLarge, "{error}");
        assert!(error.is_not_stored(), "{error:?}");
    }
    assert_eq!(revision_of(&*states, "c").await, 0);
    assert!(events_of(&*journal, "c").await.events.is_empty());
}

/// A state that is removed starts again with its events, once those are purged, too; and stays a durable state.
pub async fn states_and_their_events_start_again_after_purges(tables: &dyn Tables) {
    let (states, journal) = tables.open_with_change_events().await;
    for revision in 1..=3 {
        store(
            &*states,
            state("d", revision).with_change_event(event("old")),
        )
        .await;
    }
    let there = states.hard_delete(&id("d")).await;
    assert!(there.expect("the state can be removed"));
    assert_refused(
        states
            .upsert(state("d", 1).with_change_event(event("early")))
            .await,
    );
    for _ in 0..2 {
        let purged = journal.purge(&id("d")).await;
        assert_eq!(
            purged.expect("the events can be purged"),
            PurgeProgress::Done
        );
    }
    let taken = journal.take_over_one(&id("d"), WriterId::random()).await;
    taken.expect_err("it belongs to a durable state");
    for revision in 1..=2 {
        store(
            &*states,
            state("d", revision).with_change_event(event("new")),
        )
        .await;
    }
    let found = events_of(&*journal, "d").await;
    let numbers: Vec<_> = found.events.iter().map(|event| event.sequence_nr).collect();
    assert_eq!((found.deleted_to, &*numbers), (0, &[1, 2][..]));
}
