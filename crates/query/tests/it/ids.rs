//! Streams of ids.

use std::sync::atomic::Ordering;

use actix_persistence_query::QuerySettings;
use actix_persistence_storage_api::{
    PersistenceId, PersistenceIdsQuery, StateDelete, StorageErrorKind,
};
use futures_util::{StreamExt, TryStreamExt};

use crate::fixture::{Fixture, id};

#[test]
fn all_ids_come_page_by_page_in_the_order_of_their_bytes() {
    for page_size in [1, 4, 10, 100] {
        let fixture = Fixture::with(QuerySettings::default().with_page_size(page_size));
        fixture.run(async {
            let other = PersistenceId::of("Other", "1");
            let ids: Vec<_> = (0..10).map(id).collect();
            for id in ids.iter().rev().chain([&other]) {
                fixture.post(id, 1).await;
            }
            fixture
                .handle
                .delete(StateDelete::new(id(3), 2))
                .await
                .unwrap();
            let live: Vec<_> = ids
                .iter()
                .filter(|found| **found != id(3))
                .cloned()
                .collect();
            let all = [std::slice::from_ref(&other), &live].concat();
            let queries = &fixture.queries;
            let found: Vec<_> = queries
                .current_persistence_ids()
                .try_collect()
                .await
                .unwrap();
            assert_eq!(found, all);
            let found = queries
                .current_persistence_ids_of("Post")
                .try_collect::<Vec<_>>();
            assert_eq!(found.await.unwrap(), live);
            let query = PersistenceIdsQuery::new(3)
                .of_entity_type("Post")
                .with_tombstones();
            let found = queries.persistence_ids(query).try_collect::<Vec<_>>();
            assert_eq!(found.await.unwrap(), ids);
        });
    }
}

#[test]
fn nothing_is_read_before_it_is_asked_for() {
    let fixture = Fixture::with(QuerySettings::default().with_page_size(2));
    fixture.run(async {
        for number in 0..9 {
            fixture.post(&id(number), 1).await;
        }
        let mut stream = fixture.queries.current_persistence_ids();
        let pages = || fixture.store.pages.load(Ordering::Acquire);
        assert_eq!(pages(), 0);
        for taken in 1..=9 {
            stream.next().await.unwrap().unwrap();
            assert_eq!(pages(), usize::div_ceil(taken, 2));
        }
        assert!(stream.next().await.is_none());
    });
}

#[test]
fn an_error_is_the_last_that_is_given() {
    let fixture = Fixture::new();
    fixture.run(async {
        let errors = &fixture.store.errors;
        errors
            .lock()
            .unwrap()
            .push_back(StorageErrorKind::Unavailable);
        let mut stream = fixture.queries.current_persistence_ids();
        assert!(stream.next().await.unwrap().is_err());
        assert!(stream.next().await.is_none());
    });
}
