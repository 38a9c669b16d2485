//! Events that are none of the type that is asked for.

use actix_persistence_query::QueryError;
use actix_persistence_storage_api::{EventOffset, EventSelection, ReplayRange};
use futures_util::{StreamExt, TryStreamExt};

use super::fixture::{Fixture, Said, all, ends_with_error, id, stored_as, take};

async fn say_with_a_foreign_one(fixture: &Fixture) {
    fixture.say(&id("a"), 1, "one").await;
    fixture
        .store(&id("a"), stored_as("test.other:v1", 2, ""))
        .await;
    fixture.say(&id("a"), 3, "three").await;
}

#[test]
fn an_event_of_another_type_ends_the_stream_and_is_named() {
    let fixture = Fixture::new();
    fixture.run(async {
        say_with_a_foreign_one(&fixture).await;
        for mut stream in [fixture.current(), fixture.live()] {
            assert_eq!(take(&mut stream, 1).await.len(), 1);
            let error = ends_with_error(&mut stream).await;
            assert_eq!(
                error.to_string(),
                "event 2 of \"Talker|a\" cannot be decoded (serializer 2, manifest \"test.other:v1\")"
            );
            let QueryError::DecodeEvent {
                offset: Some(offset),
                ..
            } = error
            else {
                panic!("{error:?}")
            };
            let rest = fixture.queries.current_events(EventSelection::all(), *offset);
            assert_eq!(all(rest).await, [(id("a"), 3, "three".to_owned())]);
        }
        let of_one = ReplayRange::ALL;
        let mut stream = fixture.queries.current_events_of::<Said>(&id("a"), of_one);
        take(&mut stream, 1).await;
        let error = ends_with_error(&mut stream).await;
        assert!(matches!(error, QueryError::DecodeEvent { offset: None, .. }));
    });
}

#[test]
fn undecodable_events_are_handed_out_as_they_are_if_asked_for() {
    let fixture = Fixture::new();
    fixture.run(async {
        say_with_a_foreign_one(&fixture).await;
        let stream = fixture.current().with_undecodable();
        let events: Vec<_> = stream.try_collect().await.unwrap();
        let [Ok(one), Err(foreign), Ok(three)] = &events[..] else {
            panic!("{events:?}")
        };
        assert_eq!((one.sequence_nr, three.sequence_nr), (1, 3));
        let record = &foreign.envelope.record;
        assert_eq!(
            (record.sequence_nr, &*record.payload.manifest),
            (2, "test.other:v1")
        );
    });
}

#[test]
fn records_are_given_as_they_are_stored() {
    let fixture = Fixture::new();
    fixture.run(async {
        say_with_a_foreign_one(&fixture).await;
        let (queries, start) = (&fixture.queries, EventOffset::start);
        let current = queries.current_event_records(EventSelection::all(), start());
        let current: Vec<_> = current.try_collect().await.unwrap();
        let live = queries
            .event_records(EventSelection::all(), start())
            .take(3);
        assert_eq!(live.try_collect::<Vec<_>>().await.unwrap(), current);
        let of_one = queries.current_event_records_of(&id("a"), ReplayRange::ALL);
        let of_one: Vec<_> = of_one.try_collect().await.unwrap();
        let records = current.iter().map(|event| &event.record);
        assert!(of_one.iter().map(|event| &event.record).eq(records));
        assert!(
            of_one
                .iter()
                .all(|event| event.offset == event.record.sequence_nr)
        );
        let live = queries.event_records_of(&id("a"), ReplayRange::new(1, 3));
        assert_eq!(live.try_collect::<Vec<_>>().await.unwrap(), of_one);
    });
}
