//! Events of one id.

use std::time::Duration;

use actix_persistence_query::{QueryError, QuerySettings};
use actix_persistence_storage_api::{EventDeletion, PurgeProgress, ReplayRange};
use futures_util::{FutureExt, StreamExt};

use super::fixture::{Fixture, Said, all, ends_with_error, id, take};

async fn say_three(fixture: &Fixture) {
    for number in 1..=3 {
        fixture.say(&id("a"), number, "word").await;
    }
}

async fn numbers(fixture: &Fixture, from: u64, to: u64) -> Vec<u64> {
    let range = ReplayRange::new(from, to);
    let stream = fixture.queries.current_events_of::<Said>(&id("a"), range);
    all(stream)
        .await
        .into_iter()
        .map(|(_, number, _)| number)
        .collect()
}

#[test]
fn the_current_events_of_an_id_are_those_of_the_range_not_deleted() {
    for page_size in [1, 2, 100] {
        let fixture = Fixture::with(QuerySettings::default().with_page_size(page_size));
        fixture.run(async {
            assert_eq!(numbers(&fixture, 0, u64::MAX).await, [0; 0]);
            say_three(&fixture).await;
            assert_eq!(numbers(&fixture, 0, u64::MAX).await, [1, 2, 3]);
            assert_eq!(numbers(&fixture, 0, 2).await, [1, 2]);
            assert_eq!(numbers(&fixture, 2, 2).await, [2]);
            assert_eq!(numbers(&fixture, 0, 0).await, [0; 0]);
            assert_eq!(numbers(&fixture, 4, 3).await, [0; 0]);
            assert_eq!(numbers(&fixture, 5, 9).await, [0; 0]);
            for (deleted_to, left) in [(2, &[3][..]), (3, &[])] {
                let deletion = EventDeletion::from(deleted_to);
                let deleted = fixture.handle.delete_messages_to(id("a"), deletion);
                deleted.await.unwrap();
                assert_eq!(numbers(&fixture, 0, u64::MAX).await, left);
            }
        });
    }
}

#[test]
fn a_current_stream_of_an_id_does_not_give_what_is_stored_later() {
    let fixture = Fixture::with(QuerySettings::default().with_page_size(1));
    fixture.run(async {
        say_three(&fixture).await;
        let all = ReplayRange::ALL;
        let mut stream = fixture.queries.current_events_of::<Said>(&id("a"), all);
        take(&mut stream, 1).await;
        fixture.say(&id("a"), 4, "later").await;
        assert_eq!(take(&mut stream, 2).await[1].1, 3);
        assert!(stream.next().await.is_none());
        assert_eq!(*stream.offset(), 3);
    });
}

#[test]
fn a_live_stream_of_an_id_goes_on_and_ends_with_its_range() {
    let fixture = Fixture::new();
    fixture.run(async {
        let range = ReplayRange::new(1, 5);
        let mut stream = fixture.queries.events_of::<Said>(&id("a"), range);
        assert!(stream.next().now_or_never().is_none());
        for number in 1..=5 {
            fixture.say(&id("a"), number, "word").await;
            assert_eq!(take(&mut stream, 1).await[0].1, number);
        }
        assert!(stream.next().await.is_none());
    });
}

#[test]
fn a_live_stream_of_an_id_passes_over_what_is_deleted_meanwhile() {
    let fixture = Fixture::with(QuerySettings::default().with_page_size(1));
    fixture.run(async {
        say_three(&fixture).await;
        let mut stream = fixture
            .queries
            .events_of::<Said>(&id("a"), ReplayRange::ALL);
        assert_eq!(take(&mut stream, 1).await[0].1, 1);
        let deletion = EventDeletion::from(3);
        let deleted = fixture.handle.delete_messages_to(id("a"), deletion);
        deleted.await.unwrap();
        fixture.say(&id("a"), 4, "word").await;
        assert_eq!(take(&mut stream, 1).await[0].1, 4);
    });
}

#[test]
fn a_live_stream_of_an_id_that_is_purged_says_so() {
    let interval = Duration::from_millis(20);
    let fixture = Fixture::with(QuerySettings::default().with_refresh_interval(interval));
    fixture.run(async {
        say_three(&fixture).await;
        let mut stream = fixture
            .queries
            .events_of::<Said>(&id("a"), ReplayRange::ALL);
        take(&mut stream, 3).await;
        while fixture.handle.purge(id("a")).await.unwrap() != PurgeProgress::Done {}
        fixture.say(&id("a"), 1, "again").await;
        let error = ends_with_error(&mut stream).await;
        let QueryError::NumbersStartAgain {
            sequence_nr,
            highest_sequence_nr,
            ..
        } = error
        else {
            panic!("{error:?}")
        };
        assert_eq!((sequence_nr, highest_sequence_nr), (3, 1));
    });
}
