//! Events of many ids.

use std::sync::atomic::Ordering;
use std::time::Duration;

use actix_persistence_query::QuerySettings;
use actix_persistence_storage_api::{
    EventDeletion, EventOffset, EventSelection, Journal, PersistenceIdsQuery, StorageErrorKind,
};
use futures_util::{FutureExt, StreamExt, TryStreamExt};
use tokio::runtime::Builder;
use tokio::sync::mpsc::unbounded_channel;
use tokio::task::yield_now;

use super::fixture::{Fixture, Said, all, ends_with_error, id, said, stored_as, take};

#[test]
fn current_events_come_in_order_and_end_whatever_the_pages() {
    for page_size in [1, 2, 100] {
        let fixture = Fixture::with(QuerySettings::default().with_page_size(page_size));
        fixture.run(async {
            let (a, b) = (id("a"), id("b"));
            fixture.say(&a, 1, "hello").await;
            fixture.say(&b, 1, "hi").await;
            fixture.say(&a, 2, "bye").await;
            let mut stream = fixture.current();
            let first = stream.next().await.unwrap().unwrap();
            assert_eq!(first.events.as_slice(), [Said::of("hello")]);
            assert_eq!((first.serializer_id, &*first.manifest), (2, "test.said:v1"));
            // Stored since it began, so it is not given.
            fixture.say(&b, 2, "later").await;
            let rest = [(b.clone(), 1, "hi".to_owned()), (a, 2, "bye".to_owned())];
            assert_eq!(take(&mut stream, 2).await, rest);
            assert!(stream.next().await.is_none());
            let from = stream.offset().clone();
            let later = fixture.queries.current_events(EventSelection::all(), from);
            assert_eq!(all(later).await, [(b, 2, "later".to_owned())]);
            let from_first = fixture
                .queries
                .current_events::<Said>(EventSelection::all(), first.offset);
            assert_eq!(from_first.count().await, 3);
        });
    }
}

#[test]
fn tags_and_slices_select_and_the_offset_moves_over_the_others() {
    let fixture = Fixture::new();
    fixture.run(async {
        let a = id("a");
        fixture
            .store(&a, said(1, "green").with_tags(["green"]))
            .await;
        fixture.say(&a, 2, "plain").await;
        let mut stream = fixture
            .queries
            .current_events_by_tag::<Said>("green", EventOffset::start());
        let green = stream.next().await.unwrap().unwrap();
        assert_eq!(
            green.tags.iter().map(|tag| &**tag).collect::<Vec<_>>(),
            ["green"]
        );
        assert!(stream.next().await.is_none());
        let (queries, all) = (fixture.journal.event_queries(), EventSelection::all());
        let newest = queries.unwrap().newest_offset(&all);
        assert!(stream.offset().has_reached(&newest.await.unwrap()));
        let queries = &fixture.queries;
        let of_type = |name| {
            let start = EventOffset::start();
            queries.current_events_by_slices::<Said>(name, 0..=1023, start)
        };
        assert_eq!(of_type("Talker").count().await, 2);
        assert_eq!(of_type("Other").count().await, 0);
    });
}

/// The fixture looks again after an hour, and the test lasts a minute: what comes was noticed.
#[test]
fn a_live_stream_sees_a_write_of_its_process_at_once() {
    let fixture = Fixture::new();
    fixture.run(async {
        let a = id("a");
        let mut stream = fixture.live();
        assert!(stream.next().now_or_never().is_none());
        for number in 1..=20 {
            fixture.say(&a, number, "word").await;
            let word = (a.clone(), number, "word".to_owned());
            assert_eq!(take(&mut stream, 1).await, [word]);
        }
    });
}

/// A page that is read while others ask whether it is there must reach them, too: the next one may never come.
#[test]
fn streams_on_several_threads_see_each_write_at_once() {
    let fixture = Fixture::new();
    fixture.run(async {
        let mut readers: Vec<_> = (0..4)
            .map(|_| {
                let mut stream = fixture.live();
                let (sender, taken) = unbounded_channel();
                std::thread::spawn(move || {
                    let runtime = Builder::new_current_thread().build().unwrap();
                    runtime.block_on(async {
                        for number in 1..=500 {
                            assert_eq!(take(&mut stream, 1).await[0].1, number);
                            sender.send(number).unwrap();
                        }
                    });
                });
                taken
            })
            .collect();
        for number in 1..=500 {
            fixture.say(&id("a"), number, "word").await;
            for taken in &mut readers {
                assert_eq!(taken.recv().await, Some(number));
            }
        }
    });
}

#[test]
fn a_live_stream_sees_a_write_of_others_when_it_looks_again() {
    let interval = Duration::from_millis(20);
    let fixture = Fixture::with(QuerySettings::default().with_refresh_interval(interval));
    fixture.run(async {
        let a = id("a");
        let mut stream = fixture.live();
        for number in 1..=5 {
            fixture.say_elsewhere(&a, number, "word").await;
            assert_eq!(take(&mut stream, 1).await.len(), 1);
        }
    });
}

#[test]
fn the_offset_of_a_live_stream_moves_over_what_is_not_selected() {
    let fixture = Fixture::new();
    fixture.run(async {
        fixture.say(&id("a"), 1, "plain").await;
        let mut stream = fixture
            .queries
            .events_by_tag::<Said>("green", EventOffset::start());
        let (queries, all) = (fixture.journal.event_queries(), EventSelection::all());
        let newest = queries.unwrap().newest_offset(&all);
        let newest = newest.await.unwrap();
        while !stream.offset().has_reached(&newest) {
            assert!(stream.next().now_or_never().is_none());
            tokio::task::yield_now().await;
        }
    });
}

#[test]
fn a_retired_event_is_passed_over_and_a_split_one_is_one_envelope() {
    let fixture = Fixture::with(QuerySettings::default().with_page_size(1));
    fixture.run(async {
        let a = id("a");
        fixture
            .store(&a, stored_as("test.talked:v1", 1, "one two"))
            .await;
        fixture.store(&a, stored_as("test.coughed:v1", 2, "")).await;
        fixture.say(&a, 3, "three").await;
        let expected = [
            (a.clone(), 1, "one+two".to_owned()),
            (a.clone(), 3, "three".to_owned()),
        ];
        assert_eq!(all(fixture.current()).await, expected);
        assert_eq!(take(&mut fixture.live(), 2).await, expected);
    });
}

#[test]
fn one_page_is_read_ahead_while_there_is_more() {
    let fixture = Fixture::with(QuerySettings::default().with_page_size(5));
    fixture.run(async {
        for number in 1..=20 {
            fixture.say(&id("a"), number, "word").await;
        }
        let pages = || fixture.journal.pages.load(Ordering::Acquire);
        for mut stream in [fixture.current(), fixture.live()] {
            let before = pages();
            for taken in 1..=20 {
                take(&mut stream, 1).await;
                let asked_for = before + 4.min(usize::div_ceil(taken, 5) + 1);
                // The store may still be about to begin with the page that is read ahead.
                while pages() < asked_for {
                    yield_now().await;
                }
                assert_eq!(pages(), asked_for);
            }
        }
    });
}

/// The page that fails is the second one or, if that was read ahead already, the third one.
#[test]
fn a_page_that_fails_is_reported_after_all_events_before_it() {
    let fixture = Fixture::with(QuerySettings::default().with_page_size(2));
    fixture.run(async {
        for number in 1..=6 {
            fixture.say(&id("a"), number, "word").await;
        }
        let mut stream = fixture.current();
        stream.next().await.unwrap().unwrap();
        let errors = &fixture.journal.errors;
        errors
            .lock()
            .unwrap()
            .push_back(StorageErrorKind::Unavailable);
        let (mut given, mut failed) = (1, false);
        while let Some(event) = stream.next().await {
            match event {
                Ok(_) => given += 1,
                Err(_) => failed = true,
            }
        }
        assert!(
            failed && [2, 4].contains(&given),
            "{given} events, failed: {failed}"
        );
        assert_eq!(fixture.journal.errors.lock().unwrap().len(), 0);
    });
}

#[test]
fn trouble_is_waited_for_by_live_streams_and_ends_the_others() {
    let settings = QuerySettings::default().with_max_back_off(Duration::from_millis(1));
    let fixture = Fixture::with(settings);
    fixture.run(async {
        fixture.say(&id("a"), 1, "word").await;
        let fail = || {
            let mut errors = fixture.journal.errors.lock().unwrap();
            errors.extend([StorageErrorKind::Unavailable, StorageErrorKind::Unavailable]);
        };
        fail();
        assert_eq!(take(&mut fixture.live(), 1).await.len(), 1);
        fail();
        let error = ends_with_error(&mut fixture.current()).await;
        assert!(error.is_transient(), "{error:?}");
    });
}

#[test]
fn ids_have_events_and_with_tombstones_had_some() {
    let fixture = Fixture::new();
    fixture.run(async {
        for name in ["b", "a", "c"] {
            fixture.say(&id(name), 1, "word").await;
        }
        let deletion = EventDeletion::from(1);
        let deleted = fixture.handle.delete_messages_to(id("b"), deletion);
        deleted.await.unwrap();
        let queries = &fixture.queries;
        let ids = queries.current_persistence_ids().try_collect::<Vec<_>>();
        assert_eq!(ids.await.unwrap(), [id("a"), id("c")]);
        let none = queries.current_persistence_ids_of("Other");
        assert_eq!(none.count().await, 0);
        let all = PersistenceIdsQuery::new(1).with_tombstones();
        assert_eq!(queries.persistence_ids(all).count().await, 3);
    });
}
