//! Durable states: what the plugin promises beyond the conformance kit.

use std::sync::Arc;

use actix_persistence_mysql::{MysqlOptions, MysqlStateStore};
use actix_persistence_sql_tests::{OnServer, Tables, states};
use actix_persistence_storage_api::{
    ChangeEvent, Payload, PurgeProgress, StateStore, StateUpdate, StorageErrorKind, WriterId,
};

use crate::database::users;
use crate::place::{Place, assert_error, id};

/// Written by the first version, and never again: what it holds must be readable for ever.
const VERSION_1: &str = include_str!("fixtures/state_store_version_1.sql");

actix_persistence_sql_tests::test_states!(server Place::new().await);

fn state(name: &str, revision: u64) -> StateUpdate {
    StateUpdate::new(id(name), revision, Payload::new(1, "m", "1"))
}

#[tokio::test]
async fn a_table_of_version_1_opens_and_goes_on() {
    let place = Place::new().await;
    states::states_of_version_1_are_read_and_go_on(&place, VERSION_1).await;
    // Above every number of the partition that was given before, also to rows that are gone.
    let newest = "SELECT ordering FROM durable_state WHERE persistence_id = 'Test|kept'";
    assert!(place.number(newest).await > 100);
}

#[tokio::test]
async fn a_missing_privilege_is_found_at_the_start() {
    let place = Place::new().await;
    place.state_store_with(place.options()).await;
    place.database.grant_all().await;
    let options = MysqlOptions::new(place.database.application_url());
    place.state_store_with(options.clone()).await;
    let name = place.database.name();
    for user in users(name) {
        let sql = format!("REVOKE UPDATE ON {name}.durable_state_ordering FROM {user}");
        place.run(sql).await;
    }
    let error = MysqlStateStore::new(options).unwrap();
    let error = error.initialize().await.unwrap_err();
    assert_error(&error, StorageErrorKind::AccessDenied, "lacks a privilege");
}

#[tokio::test]
async fn a_counter_that_is_gone_is_an_error_and_nothing_is_stored() {
    let place = Place::new().await;
    states::a_counter_that_is_gone_is_an_error_and_nothing_is_stored(&place).await;
}

/// The actor of a state that was removed writes its first revision again while somebody purges its events:
/// the check of those must not undo the state and then find that they fit.
#[tokio::test(flavor = "multi_thread")]
async fn a_purge_between_a_state_and_its_event_leaves_both_or_neither() {
    let place = Place::new().await;
    let (states, journal) = place.open_with_change_events().await;
    let with_event = |revision| {
        let event = ChangeEvent::new(Payload::new(1, "e", "1"), WriterId::NIL);
        state("a", revision).with_change_event(event)
    };
    for revision in 1..=3 {
        states.upsert(with_event(revision)).await.unwrap();
    }
    assert!(states.hard_delete(&id("a")).await.unwrap());

    let held = place.hold("journal_metadata", "Test|a").await;
    let write = {
        let (states, first) = (Arc::clone(&states), with_event(1));
        tokio::spawn(async move { states.upsert(first).await })
    };
    place.until_waiting(1).await;
    let purge = tokio::spawn(async move { journal.purge(&id("a")).await });
    place.until_waiting(2).await;
    drop(held);

    let written = write.await.unwrap();
    let purged = purge.await.unwrap().unwrap();
    assert_eq!(purged, PurgeProgress::Done);
    let stored = states.get(&id("a")).await.unwrap().revision;
    let events = "SELECT COUNT(*) FROM event_journal WHERE persistence_id = 'Test|a'";
    let events = place.number(events).await;
    match written {
        Ok(()) => assert_eq!((stored, events), (1, 1)),
        Err(error) => {
            assert_error(
                &error,
                StorageErrorKind::Unsupported,
                "beyond this revision",
            );
            assert!(error.is_not_stored(), "{error:?}");
            assert_eq!((stored, events), (0, 0));
        }
    }
}

#[tokio::test]
async fn each_change_of_a_group_has_a_number_of_its_own() {
    let place = Place::new().await;
    let store = place.state_store_with(place.options()).await;
    let names: Vec<String> = (0..300).map(|number| number.to_string()).collect();
    for revision in 1..=2 {
        // The last change is the second one of its id.
        let changes = names.iter().map(|name| state(name, revision).into());
        let more = state("0", revision + 1).into();
        let outcomes = store.write_group(changes.chain([more]).collect()).await;
        let outcomes = outcomes.unwrap();
        let lost = outcomes.iter().filter(|outcome| outcome.is_err()).count();
        // In the second group, that of the id which is further on.
        assert_eq!(lost as u64, revision - 1);
        let count =
            "SELECT COUNT(DISTINCT partition_nr, ordering) FROM durable_state WHERE ordering > 0";
        assert_eq!(place.number(count).await, 300);
        // Without gaps, up to the counter.
        let wrong = "SELECT COUNT(*) FROM durable_state_ordering AS o JOIN (SELECT partition_nr, MAX(ordering) AS newest, \
             MIN(ordering) AS oldest, COUNT(*) AS rows_of FROM durable_state GROUP BY partition_nr) AS s \
             ON s.partition_nr = o.partition_nr WHERE s.newest <> o.newest OR s.newest - s.oldest + 1 <> s.rows_of";
        assert_eq!(place.number(wrong).await, 0);
    }
}
