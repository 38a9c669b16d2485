//! A live query while the database does not answer.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use actix_persistence_memory::MemoryStateStore;
use actix_persistence_query::{DurableStateQuery, NoQueries, QueryError, QuerySettings};
use actix_persistence_state_actor::{StateHandle, StateSettings};
use actix_persistence_storage_api::StorageErrorKind;
use actix_persistence_store_actor::StoreThread;
use actix_persistence_testkit::Intercepted;
use futures_util::StreamExt;
use tokio::runtime::Handle;

use crate::fixture::{Fixture, ends_with_error, id, take};

#[test]
fn trouble_that_waiting_cures_is_waited_for_and_nothing_is_lost() {
    let settings = QuerySettings::default().with_max_back_off(Duration::from_millis(1));
    let fixture = Fixture::with(settings.with_page_size(1));
    fixture.run(async {
        let mut stream = fixture.live_changes();
        for number in 0..5 {
            fixture.post(&id(number), 1).await;
            let errors = [StorageErrorKind::Unavailable, StorageErrorKind::Timeout];
            fixture.store.errors.lock().unwrap().extend(errors);
            assert_eq!(take(&mut stream, 1).await, [(id(number), 1)]);
        }
        assert!(fixture.store.errors.lock().unwrap().is_empty());
    });
}

#[test]
fn a_page_that_takes_too_long_is_read_in_smaller_ones() {
    let settings = QuerySettings::default()
        .with_page_size(100)
        .with_max_back_off(Duration::from_millis(1));
    let fixture = Fixture::with(settings);
    fixture.run(async {
        for number in 0..30 {
            fixture.post(&id(number), 1).await;
        }
        fixture.store.most_in_time.store(3, Ordering::Release);
        // First a query that ends, which fails at once where a live one would try for ever.
        assert_eq!(take(&mut fixture.all_changes(), 30).await.len(), 30);
        assert_eq!(take(&mut fixture.live_changes(), 30).await.len(), 30);
        // If one change takes too long, that is an error.
        fixture
            .store
            .errors
            .lock()
            .unwrap()
            .extend([StorageErrorKind::Timeout; 5]);
        match ends_with_error(&mut fixture.all_changes()).await {
            QueryError::Store(error) => assert_eq!(error.kind(), StorageErrorKind::Timeout),
            other => panic!("{other:?}"),
        }
    });
}

#[test]
fn a_page_that_never_comes_is_an_error() {
    let mut of_actor = StateSettings::new("tests");
    of_actor.circuit_breaker.call_timeout = Duration::from_millis(50);
    let fixture = Fixture::with_actor(QuerySettings::default(), of_actor);
    fixture.run_within(Duration::from_secs(10), async {
        let gate = fixture.store.gate.write().await;
        match ends_with_error(&mut fixture.all_changes()).await {
            QueryError::Store(error) => assert_eq!(error.kind(), StorageErrorKind::Timeout),
            other => panic!("{other:?}"),
        }
        let mut ids = fixture.queries.current_persistence_ids();
        assert!(ids.next().await.unwrap().is_err());
        drop(gate);
    });
}

/// Were the delays to grow from one outage to the next, those of this test would be half a minute.
#[test]
fn each_outage_is_waited_for_as_shortly_as_the_first() {
    let fixture = Fixture::new();
    fixture.run_within(Duration::from_secs(10), async {
        let mut stream = fixture.live_changes();
        for number in 0..8 {
            let errors = &fixture.store.errors;
            errors
                .lock()
                .unwrap()
                .push_back(StorageErrorKind::Unavailable);
            fixture.post(&id(number), 1).await;
            assert_eq!(take(&mut stream, 1).await, [(id(number), 1)]);
        }
    });
}

#[test]
fn what_waiting_does_not_cure_ends_a_live_query() {
    for kind in [StorageErrorKind::Corrupt, StorageErrorKind::AccessDenied] {
        let fixture = Fixture::new();
        fixture.run(async {
            fixture.store.errors.lock().unwrap().push_back(kind);
            match ends_with_error(&mut fixture.live_changes()).await {
                QueryError::Store(error) => assert_eq!(error.kind(), kind),
                other => panic!("{other:?}"),
            }
        });
    }
}

#[tokio::test]
async fn a_store_without_queries_is_refused_when_they_are_asked_for() {
    let thread = StoreThread::start("plain").unwrap();
    let settings = StateSettings::new("plain");
    let plain = Intercepted::state_store(MemoryStateStore::new()).without_queries();
    let handle = StateHandle::start(Arc::new(plain), settings, Handle::current(), &thread);
    let refused = DurableStateQuery::new(handle, Handle::current(), (), QuerySettings::default());
    let plugin_id = "plain".to_owned();
    let store = "state store";
    assert_eq!(refused.err(), Some(NoQueries { store, plugin_id }));
}
