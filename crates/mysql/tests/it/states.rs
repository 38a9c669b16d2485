//! Durable states: what the plugin promises beyond the conformance kit.

use std::sync::Arc;
use std::time::Duration;

use actix_persistence_mysql::{MysqlOptions, MysqlStateStore, PayloadColumn};
use actix_persistence_sql_tests::{Tables, states};
use actix_persistence_storage_api::{
    ChangeEvent, Journal, Payload, ResetProgress, StateStore, StateUpdate, StorageErrorKind,
    WriterId,
};

use crate::database::{execute, users};
use crate::place::{Place, assert_error, id};

/// Written by the first version, and never again: what it holds must be readable for ever.
const VERSION_1: &str = include_str!("fixtures/state_store_version_1.sql");

actix_persistence_sql_tests::test_states!(Place::new().await);

fn state(name: &str, revision: u64) -> StateUpdate {
    StateUpdate::new(id(name), revision, Payload::new(1, "m", "1"))
}

#[tokio::test]
async fn a_table_of_version_1_opens_and_goes_on() {
    let place = Place::new().await;
    place.run(VERSION_1).await;
    let options = place
        .options()
        .with_store(|store| store.with_auto_initialize(false));
    states::states_of_version_1_are_read_and_go_on(&place.state_store_with(options).await).await;
    // Above every number of the partition that was given before, also to rows that are gone.
    let newest = "SELECT ordering FROM durable_state WHERE persistence_id = 'Test|kept'";
    assert!(place.number(newest).await > 100);
}

#[tokio::test]
async fn the_printed_statements_make_the_tables_that_a_store_expects() {
    let place = Place::new().await;
    let options = place
        .options()
        .with_store(|store| store.with_auto_initialize(false));
    let sql = MysqlStateStore::new(options.clone())
        .unwrap()
        .schema_sql(None);
    place.run(sql.unwrap()).await;
    let store = place.state_store_with(options).await;
    store.upsert(state("a", 1)).await.unwrap();
}

#[tokio::test]
async fn a_state_above_the_limit_is_refused_and_says_which_key() {
    let place = Place::new().await;
    let options = place
        .options()
        .with_store(|store| store.with_max_state_bytes(10));
    let store = place.state_store_with(options).await;
    let of_bytes = |bytes: usize| {
        let payload = Payload::new(1, "m", vec![1; bytes]);
        StateUpdate::new(id("a"), 1, payload)
    };
    let error = store.upsert(of_bytes(11)).await.unwrap_err();
    assert_error(&error, StorageErrorKind::TooLarge, "'max-state-bytes'");
    let error = store
        .upsert(of_bytes(6).with_tags(["red", "bl"]))
        .await
        .unwrap_err();
    assert_error(&error, StorageErrorKind::TooLarge, "with its tags");
    store
        .upsert(of_bytes(6).with_tags(["red", "b"]))
        .await
        .unwrap();
    let again = of_bytes(10);
    let again = StateUpdate::new(again.persistence_id, 2, again.payload);
    store.upsert(again).await.unwrap();
}

#[tokio::test]
async fn a_column_of_json_keeps_json_as_it_was_written_and_refuses_the_rest() {
    let place = Place::new().await;
    let options = place.options().with_payload_column(PayloadColumn::Json);
    let store = place.state_store_with(options).await;
    let of_text = |revision, text: &str| {
        let payload = Payload::new(2, "m", text.as_bytes().to_vec());
        StateUpdate::new(id("a"), revision, payload)
    };
    let written = " {\"b\": 1, \"a\" : [1.0, \"\u{1f980}\"]}\n";
    store.upsert(of_text(1, written)).await.unwrap();
    let state = store.get(&id("a")).await.unwrap().state.unwrap();
    assert_eq!(&*state.payload.bytes, written.as_bytes());
    let error = store.upsert(of_text(2, "{")).await.unwrap_err();
    assert_error(&error, StorageErrorKind::Unsupported, "'payload-column");
    store.delete(&id("a"), 2).await.unwrap();
    store.upsert(of_text(3, "null")).await.unwrap();

    let bytes = MysqlStateStore::new(place.options()).unwrap();
    let error = bytes.initialize().await.unwrap_err();
    assert_error(&error, StorageErrorKind::SchemaMismatch, "'payload-column'");
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
    let store = place.state_store_with(place.options()).await;
    place.run("DELETE FROM durable_state_ordering").await;
    let error = store.upsert(state("a", 1)).await.unwrap_err();
    assert_error(&error, StorageErrorKind::Corrupt, "lacks a row");
    assert!(error.is_not_stored());
    assert_eq!(store.get(&id("a")).await.unwrap().revision, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_say_what_is_certain_when_the_server_ends_sessions() {
    let place = Place::new().await;
    states::errors_say_what_is_certain_when_connections_end(&place, || async {
        let mut connection = place.connection().await;
        let sessions = "SELECT CAST(id AS SIGNED) FROM information_schema.processlist \
            WHERE db = DATABASE() AND id <> CONNECTION_ID()";
        let sessions: Vec<i64> = sqlx::query_scalar(sessions)
            .fetch_all(&mut connection)
            .await
            .unwrap();
        for session in sessions {
            // It may be gone by itself.
            place.try_run(&format!("KILL {session}")).await.ok();
        }
    })
    .await;
}

/// Waits until this many transactions of this database wait for locks.
async fn until_waiting(place: &Place, count: i64) {
    let waiting = "SELECT COUNT(*) FROM information_schema.innodb_trx t
        JOIN information_schema.processlist p ON p.id = t.trx_mysql_thread_id
        WHERE p.db = DATABASE() AND t.trx_state = 'LOCK WAIT'";
    // The server makes that table anew only if it was not read for a tenth of a second.
    while place.number(waiting).await < count {
        tokio::time::sleep(Duration::from_millis(150)).await;
    }
}

/// The actor of a state that was removed writes its first revision again while somebody resets the numbers of its events:
/// the check of those must not undo the state and then find that they fit.
#[tokio::test(flavor = "multi_thread")]
async fn a_reset_between_a_state_and_its_event_leaves_both_or_neither() {
    let place = Place::new().await;
    let options = place.options().with_server(|mut server| {
        server.statement_timeout = Duration::from_secs(40);
        server.lock_timeout = Duration::from_secs(30);
        server
    });
    let journal = place.journal_with(options.clone()).await;
    let states = MysqlStateStore::new(options.clone()).unwrap();
    let states = Arc::new(states.with_change_event_journal(options).unwrap());
    states.initialize().await.unwrap();
    let with_event = |revision| {
        let event = ChangeEvent::new(Payload::new(1, "e", "1"), WriterId::NIL);
        state("a", revision).with_change_event(event)
    };
    for revision in 1..=3 {
        states.upsert(with_event(revision)).await.unwrap();
    }
    assert!(states.hard_delete(&id("a")).await.unwrap());

    let mut holder = place.connection().await;
    let hold = "START TRANSACTION; SELECT * FROM journal_metadata WHERE persistence_id = 'Test|a' FOR UPDATE";
    sqlx::raw_sql(hold).execute(&mut holder).await.unwrap();
    let write = {
        let (states, first) = (Arc::clone(&states), with_event(1));
        tokio::spawn(async move { states.upsert(first).await })
    };
    until_waiting(&place, 1).await;
    let reset = tokio::spawn(async move { journal.reset(&id("a")).await });
    until_waiting(&place, 2).await;
    sqlx::raw_sql("COMMIT").execute(&mut holder).await.unwrap();

    let written = write.await.unwrap();
    let reset = reset.await.unwrap().unwrap();
    assert_eq!(reset, ResetProgress::Done);
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
async fn a_held_row_fails_its_own_change_and_no_other_of_the_group() {
    let place = Place::new().await;
    let hold = async || {
        let mut other = place.connection().await;
        let sql = "START TRANSACTION; SELECT * FROM durable_state WHERE persistence_id = 'Test|c' FOR UPDATE";
        execute(&mut other, sql).await;
        other
    };
    states::the_neighbours_of_a_held_row_are_stored(&place, hold).await;
}

#[tokio::test]
async fn a_group_has_no_more_changes_than_the_server_can_be_asked_for_in_time() {
    let place = Place::new().await;
    for (setting, changes) in [(1_000, 64), (5, 5)] {
        let options = place.options();
        let options = options.with_store(|store| store.with_max_group(setting, 1_000_000));
        let store = place.state_store_with(options).await;
        assert_eq!(store.capabilities().max_group_changes, changes);
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

#[tokio::test]
async fn a_full_pool_is_no_trouble_of_the_store() {
    let place = Place::new().await;
    let options = place.options().with_server(|mut server| {
        server.writers = 1;
        server.acquire_timeout = Duration::from_secs(3);
        server
    });
    // A fifth of a second for each of twenty.
    let slow = ["CREATE TRIGGER slow BEFORE INSERT ON durable_state FOR EACH ROW DO SLEEP(0.2)"];
    let store = place.state_store_with(options).await;
    states::a_full_pool_is_no_trouble_of_the_store(&place, &store, &slow).await;
}
