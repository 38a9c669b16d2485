//! Current streams over a store that cannot read yet what was confirmed.

use std::sync::atomic::Ordering;
use std::time::Duration;

use actix_persistence_query::{QueryError, QuerySettings};
use actix_persistence_storage_api::{EventDeletion, EventOffset, EventSelection, Journal};

use super::fixture::{Fixture, all, id, take};

async fn newest(fixture: &Fixture) -> EventOffset {
    let queries = fixture.journal.event_queries().unwrap();
    queries.newest_offset(&EventSelection::all()).await.unwrap()
}

#[test]
fn a_current_stream_waits_for_what_was_confirmed_before_it() {
    let fixture = Fixture::new();
    fixture.run(async {
        fixture.say(&id("a"), 1, "read").await;
        let bound = newest(&fixture).await;
        fixture.say(&id("b"), 1, "held back").await;
        *fixture.journal.held_back.lock().unwrap() = Some((bound, 3));
        assert_eq!(all(fixture.current()).await.len(), 2);
        assert_eq!(fixture.journal.pages.load(Ordering::Acquire), 4);
    });
}

#[test]
fn a_current_stream_that_is_held_back_too_long_says_so() {
    let limit = Duration::from_millis(50);
    let fixture = Fixture::with(QuerySettings::default().with_held_back_timeout(limit));
    fixture.run(async {
        fixture.say(&id("a"), 1, "read").await;
        let bound = newest(&fixture).await;
        fixture.say(&id("b"), 1, "held back").await;
        *fixture.journal.held_back.lock().unwrap() = Some((bound.clone(), usize::MAX));
        let mut stream = fixture.current();
        assert_eq!(take(&mut stream, 1).await.len(), 1);
        let error = super::fixture::ends_with_error(&mut stream).await;
        assert!(
            matches!(error, QueryError::HeldBack { waited } if waited >= limit),
            "{error:?}"
        );
        assert!(error.is_transient());
        assert_eq!(*stream.offset(), bound);
    });
}

#[test]
fn a_target_that_goes_back_ends_the_wait_for_it() {
    let fixture = Fixture::new();
    fixture.run(async {
        fixture.say(&id("a"), 1, "read").await;
        let bound = newest(&fixture).await;
        fixture.say(&id("b"), 1, "soon gone").await;
        // The store never gets to the place after the second event, as if that had been deleted.
        *fixture.journal.held_back.lock().unwrap() = Some((bound.clone(), usize::MAX));
        let mut stream = fixture.current();
        assert_eq!(take(&mut stream, 1).await.len(), 1);
        let deletion = EventDeletion::from(1);
        let deleted = fixture.handle.delete_messages_to(id("b"), deletion);
        deleted.await.unwrap();
        *fixture.journal.newest.lock().unwrap() = Some(bound);
        assert_eq!(all(stream).await, []);
    });
}
