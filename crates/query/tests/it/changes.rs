//! Streams of changes that end.

use actix_persistence_query::{Changed, QueryError, QuerySettings};
use actix_persistence_storage_api::{
    Payload, StateDelete, StateStore, StateUpdate, StorageErrorKind,
};
use futures_util::{StreamExt, TryStreamExt};

use crate::fixture::{Fixture, ends_with_error, id, seen, take, title, update};

#[test]
fn every_state_comes_once_with_deletes_and_the_stream_ends() {
    for page_size in [1, 3, 100] {
        let fixture = Fixture::with(QuerySettings::default().with_page_size(page_size));
        fixture.run(async {
            for (number, revisions) in [(0, 1), (1, 3), (2, 2)] {
                for revision in 1..=revisions {
                    fixture.post(&id(number), revision).await;
                }
            }
            fixture
                .handle
                .delete(StateDelete::new(id(0), 2))
                .await
                .unwrap();
            let changes: Vec<_> = fixture.all_changes().try_collect().await.unwrap();
            let found: Vec<_> = changes.iter().map(seen).collect();
            assert_eq!(found, [(id(1), 3), (id(2), 2), (id(0), 2)]);
            let Changed::Updated(updated) = &changes[0] else {
                panic!("{changes:?}")
            };
            assert_eq!(updated.state, title(3));
            let stored = fixture.store.get(&id(1)).await.unwrap().state.unwrap();
            assert_eq!(updated.timestamp, stored.timestamp);
            assert!(matches!(&changes[2], Changed::Deleted(_)), "{changes:?}");
            let behind = fixture
                .queries
                .current_changes_by_slices::<crate::fixture::Post>(
                    "Post",
                    0..=1023,
                    changes[1].offset().clone(),
                );
            let rest: Vec<_> = behind.try_collect().await.unwrap();
            assert_eq!(rest, changes[2..]);
        });
    }
}

#[test]
fn a_state_of_another_type_ends_the_stream_and_is_named() {
    let fixture = Fixture::new();
    fixture.run(async {
        fixture.post(&id(0), 1).await;
        let foreign = Payload::new(2, "test.other:v1", b"{}".to_vec());
        let foreign = StateUpdate::new(id(1), 1, foreign);
        fixture.store.upsert(foreign).await.unwrap();
        fixture.store.upsert(update(&id(2), 1)).await.unwrap();
        for mut stream in [fixture.all_changes(), fixture.live_changes()] {
            assert_eq!(take(&mut stream, 1).await, [(id(0), 1)]);
            let error = ends_with_error(&mut stream).await;
            assert!(matches!(error, QueryError::DecodeState { .. }), "{error:?}");
            assert_eq!(
                error.to_string(),
                "the state of \"Post|001\" at revision 1 cannot be decoded \
                 (serializer 2, manifest \"test.other:v1\")"
            );
        }
    });
}

#[test]
fn a_query_goes_on_after_a_state_that_cannot_be_decoded() {
    let fixture = Fixture::new();
    fixture.run(async {
        let foreign = Payload::new(2, "test.other:v1", b"{}".to_vec());
        let foreign = StateUpdate::new(id(0), 1, foreign);
        fixture.store.upsert(foreign).await.unwrap();
        fixture.post(&id(1), 1).await;
        for mut stream in [fixture.all_changes(), fixture.live_changes()] {
            let QueryError::DecodeState { offset, .. } = ends_with_error(&mut stream).await else {
                panic!("another error")
            };
            let rest = fixture
                .queries
                .current_changes_by_slices::<crate::fixture::Post>("Post", 0..=1023, *offset);
            let rest: Vec<_> = rest.try_collect().await.unwrap();
            assert_eq!(rest.iter().map(seen).collect::<Vec<_>>(), [(id(1), 1)]);
        }
    });
}

#[test]
fn the_stores_are_called_on_their_own_threads() {
    let fixture = Fixture::new();
    fixture.run(async {
        fixture.post(&id(0), 1).await;
        assert_eq!(fixture.all_changes().count().await, 1);
        assert_eq!(fixture.queries.current_persistence_ids().count().await, 1);
    });
    let threads = fixture.store.threads.lock().unwrap().clone();
    assert_eq!(threads, ["stores", "stores"]);
}

#[test]
fn trouble_ends_a_stream_that_is_not_live() {
    let fixture = Fixture::new();
    fixture.run(async {
        let errors = &fixture.store.errors;
        errors
            .lock()
            .unwrap()
            .push_back(StorageErrorKind::Unavailable);
        let error = ends_with_error(&mut fixture.all_changes()).await;
        assert!(matches!(error, QueryError::Store(_)), "{error:?}");
    });
}
