//! Streams of changes that go on.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

use actix_persistence_query::QuerySettings;
use actix_persistence_storage_api::{StateDelete, StateStore};
use futures_util::{FutureExt, StreamExt};

use crate::fixture::{Fixture, id, seen, take, update};

/// The fixture looks again after an hour, and the test lasts a minute: what comes was noticed.
#[test]
fn a_write_of_this_process_is_seen_at_once() {
    let fixture = Fixture::new();
    fixture.run(async {
        let mut stream = fixture.live_changes();
        assert!(stream.next().now_or_never().is_none());
        for revision in 1..=20 {
            fixture.post(&id(0), revision).await;
            assert_eq!(take(&mut stream, 1).await, [(id(0), revision)]);
        }
        fixture
            .handle
            .delete(StateDelete::new(id(0), 21))
            .await
            .unwrap();
        assert_eq!(take(&mut stream, 1).await, [(id(0), 21)]);
    });
}

/// A write that comes after a page was read, and before the query waits, is in no page yet.
#[test]
fn a_write_while_a_page_is_read_is_seen_at_once() {
    let fixture = Fixture::new();
    fixture.run_within(Duration::from_secs(10), async {
        let mut stream = fixture.live_changes();
        let gate = fixture.store.gate.write().await;
        let read = take(&mut stream, 1);
        let write = async {
            while fixture.store.read.load(Ordering::Acquire) == 0 {
                tokio::task::yield_now().await;
            }
            fixture.post(&id(0), 1).await;
            drop(gate);
        };
        let (found, ()) = futures_util::join!(read, write);
        assert_eq!(found, [(id(0), 1)]);
    });
}

#[test]
fn a_write_of_another_process_is_seen_after_the_refresh_interval() {
    let interval = Duration::from_millis(20);
    let fixture = Fixture::with(QuerySettings::default().with_refresh_interval(interval));
    fixture.run(async {
        let mut stream = fixture.live_changes();
        for revision in 1..=5 {
            // Past the actor, as others do.
            let store = &fixture.store;
            store.upsert(update(&id(0), revision)).await.unwrap();
            assert_eq!(take(&mut stream, 1).await, [(id(0), revision)]);
        }
    });
}

#[test]
fn a_wait_that_is_dropped_loses_nothing() {
    let fixture = Fixture::with(QuerySettings::default().with_page_size(1));
    fixture.run(async {
        let mut stream = fixture.live_changes();
        let mut found = Vec::new();
        for number in 0..50 {
            fixture.post(&id(number), 1).await;
            // Polled once, and dropped.
            if let Some(change) = stream.next().now_or_never() {
                found.push(seen(&change.unwrap().unwrap()));
            }
        }
        let rest = 50 - found.len();
        found.extend(take(&mut stream, rest).await);
        assert_eq!(
            found,
            (0..50).map(|number| (id(number), 1)).collect::<Vec<_>>()
        );
    });
}

#[test]
fn nothing_is_read_before_it_is_asked_for() {
    let fixture = Fixture::with(QuerySettings::default().with_page_size(5));
    fixture.run(async {
        for number in 0..20 {
            fixture.post(&id(number), 1).await;
        }
        let mut stream = fixture.live_changes();
        let pages = || fixture.store.pages.load(Ordering::Acquire);
        assert_eq!(pages(), 0);
        for taken in 1..=20 {
            take(&mut stream, 1).await;
            assert_eq!(pages(), usize::div_ceil(taken, 5));
        }
    });
}

#[test]
fn updates_while_a_query_runs_end_in_every_last_state_in_order() {
    const IDS: usize = 20;
    const REVISIONS: u64 = 50;
    let fixture = Fixture::with(QuerySettings::default().with_page_size(7));
    fixture.run(async {
        let mut stream = fixture.live_changes();
        let write = async {
            for revision in 1..=REVISIONS {
                for number in 0..IDS {
                    fixture.post(&id(number), revision).await;
                }
            }
        };
        let read = async {
            let mut last = BTreeMap::new();
            let mut changes = 0;
            while last.len() < IDS || last.values().any(|revision| *revision < REVISIONS) {
                let (id, revision) = seen(&stream.next().await.unwrap().unwrap());
                let before = last.insert(id.clone(), revision);
                assert!(
                    before < Some(revision),
                    "{id:?}: {revision} after {before:?}"
                );
                changes += 1;
            }
            changes
        };
        let ((), changes) = futures_util::join!(write, read);
        assert!(changes > IDS, "it has read while they were written");
    });
}
