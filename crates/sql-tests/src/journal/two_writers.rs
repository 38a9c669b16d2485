//! Tests of two owners of one database, as two processes would be.

use std::sync::Arc;

use actix_persistence_storage_api::{
    EventDeletion, Fence, Journal, PersistenceId, StorageErrorKind, WriterId,
};
use actix_persistence_tck::TakeOverOne;

use crate::Tables;
use crate::steps::{failure, id, numbers, replay_all, store, write};

/// A writer goes on after another has taken its id over.
pub async fn the_first_of_two_writers_is_fenced_and_both_are_named(place: &dyn Tables) {
    let (here, there) = (place.journal().await, place.journal().await);
    let (first, second) = (WriterId::random(), WriterId::random());
    let id = id("a");
    let before = here.take_over_one(&id, first).await.unwrap().epoch;
    here.write_messages(vec![write(&id, before, first, 1..=2)])
        .await
        .unwrap();
    let after = there.take_over_one(&id, second).await.unwrap();
    assert_eq!((after.highest_sequence_nr, after.epoch), (2, before + 1));

    // The number is free, and yet it is too late.
    let late = vec![write(&id, before, first, 3..=3)];
    let outcomes = here.write_messages(late).await.unwrap();
    let error = failure(&outcomes[0]);
    assert_eq!(error.kind(), StorageErrorKind::SequenceConflict);
    assert!(error.is_not_stored());
    let conflict = error.sequence_conflict().unwrap();
    assert_eq!(
        (conflict.refused.writer, conflict.refused.epoch),
        (first, before)
    );
    assert_eq!(conflict.refused.sequence_nr, 3);
    assert_eq!(
        (conflict.stored.writer, conflict.stored.epoch),
        (second, before + 1)
    );
    assert_eq!(conflict.stored.sequence_nr, 2);

    let outcomes = there
        .write_messages(vec![write(&id, after.epoch, second, 3..=3)])
        .await
        .unwrap();
    assert!(outcomes[0].is_stored());
    assert_eq!(numbers(&*here, &id).await, [1, 2, 3]);
}

/// Takes over and writes again and again; returns what was confirmed.
async fn contend(
    journal: Arc<dyn Journal>,
    id: PersistenceId,
    rounds: usize,
) -> Vec<(u64, WriterId)> {
    let mut confirmed = Vec::new();
    for _ in 0..rounds {
        let writer = WriterId::random();
        let taken = journal.take_over_one(&id, writer).await.unwrap();
        for number in taken.highest_sequence_nr + 1..taken.highest_sequence_nr + 6 {
            let write = write(&id, taken.epoch, writer, number..=number);
            let outcomes = journal.write_messages(vec![write]).await.unwrap();
            if !outcomes[0].is_stored() {
                assert_eq!(
                    failure(&outcomes[0]).kind(),
                    StorageErrorKind::SequenceConflict
                );
                break;
            }
            confirmed.push((number, writer));
        }
    }
    confirmed
}

/// Four owners that take an id over from each other.
pub async fn contending_writers_leave_one_gap_free_stream_of_what_was_confirmed(
    place: &dyn Tables,
) {
    let id = id("contended");
    let mut contenders = Vec::new();
    for _ in 0..4 {
        let journal = place.journal().await;
        contenders.push(tokio::spawn(contend(journal, id.clone(), 25)));
    }
    let mut confirmed = Vec::new();
    for contender in contenders {
        confirmed.extend(contender.await.unwrap());
    }
    confirmed.sort_by_key(|(number, _)| *number);
    let page = replay_all(&*place.journal().await, &id).await;
    let stored = page
        .events
        .iter()
        .map(|event| (event.sequence_nr, event.writer));
    assert_eq!(stored.collect::<Vec<_>>(), confirmed);
    let expected: Vec<u64> = (1..=confirmed.len() as u64).collect();
    let numbers: Vec<u64> = confirmed.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, expected);
}

/// An epoch that no call returned.
pub async fn an_unknown_epoch_may_not_write_beside_events_of_another_tool(place: &dyn Tables) {
    let journal = place.journal().await;
    place
        .run(&place.event_of_another_tool("Test|imported", 1))
        .await;
    let id = id("imported");
    // Makes the row of an id that was never taken over.
    journal
        .delete_messages_to(&id, EventDeletion::up_to(1))
        .await
        .unwrap();
    let writes = vec![write(&id, 0, WriterId::random(), 2..=2)];
    let outcomes = journal.write_messages(writes).await.unwrap();
    let error = failure(&outcomes[0]);
    assert_eq!(error.kind(), StorageErrorKind::SequenceConflict);
    assert_eq!(numbers(&*journal, &id).await, [0; 0]);
}

/// Makes claims with a wrong number or a wrong epoch.
pub async fn a_write_that_does_not_take_over_leaves_no_row(place: &dyn Tables) {
    let journal = place.journal().await;
    let claim = |name: &str, from, number| {
        let fence = Fence::TakesOver { from };
        write(&id(name), fence, WriterId::random(), number..=number)
    };
    let rows = "SELECT COUNT(*) FROM journal_metadata";
    for wrong in [claim("a", 0, 2), claim("a", 1, 1)] {
        let outcomes = journal.write_messages(vec![wrong]).await.unwrap();
        failure(&outcomes[0]);
        assert_eq!(place.number(rows).await, 0);
    }
    // Nor beside one that does.
    let writes = vec![claim("a", 0, 2), claim("b", 0, 1), claim("c", 3, 1)];
    let outcomes = journal.write_messages(writes).await.unwrap();
    assert!(outcomes[1].is_stored());
    assert_eq!(place.number(rows).await, 1);
}

/// Events that no journal has written.
pub async fn taking_over_an_id_counts_the_events_of_another_tool(place: &dyn Tables) {
    let journal = place.journal().await;
    for (id, ordering) in [("Test|a", 1_000_001), ("Test|b", 1_000_002)] {
        place.run(&place.event_of_another_tool(id, ordering)).await;
    }
    // One of them has a row that knows of its events, and that has no writer.
    let nothing = EventDeletion::up_to(0).at_epoch(0);
    journal.delete_messages_to(&id("b"), nothing).await.unwrap();
    for name in ["a", "b"] {
        let id = id(name);
        let head = journal.read_head(&id).await.unwrap();
        assert_eq!((head.highest_sequence_nr, head.epoch), (1, 0));
        let claim = |number| {
            let fence = Fence::TakesOver { from: 0 };
            write(&id, fence, WriterId::random(), number..=number)
        };
        let outcomes = journal.write_messages(vec![claim(1)]).await.unwrap();
        failure(&outcomes[0]);
        let outcomes = journal.write_messages(vec![claim(2)]).await.unwrap();
        assert!(outcomes[0].is_stored(), "{outcomes:?}");
        assert_eq!(numbers(&*journal, &id).await, [1, 2]);
        let head = journal.read_head(&id).await.unwrap();
        assert_eq!((head.highest_sequence_nr, head.epoch), (2, 1));
    }
}

/// An event that no journal has written, in the place of the next one. For servers, which find it when they store theirs.
pub async fn an_event_of_another_tool_is_kept_and_counts_at_the_next_take_over(place: &dyn Tables) {
    let journal = place.journal().await;
    let (id, writer) = (id("a"), WriterId::random());
    let epoch = journal.take_over_one(&id, writer).await.unwrap().epoch;
    place.run(&place.event_of_another_tool("Test|a", 1)).await;
    let write = write(&id, epoch, writer, 1..=1);
    let error = journal.write_messages(vec![write]).await.unwrap_err();
    assert_eq!(error.kind(), StorageErrorKind::Corrupt);
    assert!(error.is_not_stored());
    let taken = journal.take_over_one(&id, writer).await.unwrap();
    assert_eq!(taken.highest_sequence_nr, 1);
    store(&*journal, &id, 1).await;
    assert_eq!(numbers(&*journal, &id).await, [1, 2]);
}
