//! Places after which a projection reads on, whatever became of the events there.

use std::sync::Arc;

use actix_persistence_storage_api::{
    EventOffset, EventQueries, EventSelection, Operation, PersistenceId,
};
use actix_persistence_testkit::JournalCall;

use crate::fixture::{Fixture, Heard, LONG, id_in, until};

/// A window in which numbers are compared takes events for duplicates after a purge (akka-projection#1346).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_id_whose_numbers_start_again_is_handled_again() {
    let fixture = Fixture::new();
    let id = id_in(0);
    let heard = Heard::new();
    let projection = fixture.start(fixture.offset_store(), Arc::clone(&heard), |_| {});
    for (number, word) in [(1, "one"), (2, "two"), (3, "three")] {
        fixture.say(&id, number, word).await;
    }
    projection.applied_event(&id, 3, LONG).await.unwrap();
    fixture.purge(&id).await;
    fixture.say(&id, 1, "again").await;
    projection.applied_event(&id, 1, LONG).await.unwrap();
    assert_eq!(heard.words(), ["one", "two", "three", "again"]);
    projection.stop().await;
}

/// A checkpoint behind scavenged events stops the subscription (kurrent#3449).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_projection_goes_on_from_a_place_whose_events_are_deleted() {
    let fixture = Fixture::new();
    let (id, other) = (id_in(0), id_in(1));
    let heard = Heard::new();
    let projection = fixture.start(fixture.offset_store(), Arc::clone(&heard), |_| {});
    for (number, word) in [(1, "one"), (2, "two")] {
        fixture.say(&id, number, word).await;
    }
    projection.applied_event(&id, 2, LONG).await.unwrap();
    projection.stop().await;
    // Its place is in the middle of what is deleted.
    fixture.say(&id, 3, "never heard").await;
    fixture.say(&other, 1, "other").await;
    fixture.delete(&id, 3).await;
    fixture.say(&id, 4, "four").await;

    let projection = fixture.start(fixture.offset_store(), Arc::clone(&heard), |_| {});
    projection.applied_event(&id, 4, LONG).await.unwrap();
    projection.applied_event(&other, 1, LONG).await.unwrap();
    assert_eq!(heard.words(), ["one", "two", "other", "four"]);
    projection.stop().await;
}

/// A reader that filters reads all that it leaves out once more in each poll (akka-persistence-jdbc#149).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn progress_moves_over_events_that_are_not_selected() {
    let fixture = Fixture::new();
    let heard = Heard::new();
    let talkers = EventSelection::all().of_entity_type("Talker");
    let start = || {
        fixture.start_of(
            talkers.clone(),
            fixture.offset_store(),
            Arc::clone(&heard),
            |_| {},
        )
    };
    let projection = start();
    let other = PersistenceId::of("Other", "1");
    for number in 1..=50 {
        fixture.say(&other, number, "not for us").await;
    }
    projection.applied_event(&other, 50, LONG).await.unwrap();
    projection.stop().await;

    let read = fixture.journal_rules().on(Operation::QueryEvents).record();
    let projection = start();
    fixture.say(&id_in(0), 1, "for us").await;
    projection.applied_event(&id_in(0), 1, LONG).await.unwrap();
    projection.stop().await;
    assert_eq!(heard.words(), ["for us"]);
    let passed = fixture.storage.journal().offset_of(&other, 50).await;
    let passed: EventOffset = passed.unwrap().unwrap();
    let mut pages = 0;
    for call in read.calls() {
        if let JournalCall::Events { query } = call {
            assert!(query.after.has_reached(&passed), "{query:?}");
            pages += 1;
        }
    }
    assert!(pages > 0);
    until(async || fixture.record().await.unwrap().shares[0].lease.is_none()).await;
}
