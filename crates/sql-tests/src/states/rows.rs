//! The contents of the tables, and the rows that they refuse.

use actix_persistence_storage_api::{
    CurrentState, Payload, PersistenceId, StateDelete, StateExtensions, StateUpdate,
    StorageErrorKind, Timestamp,
};

use crate::Tables;
use crate::steps::assert_error;

use super::{assert_conflict, id, revision_of, state, store};

/// Slice and entity type stand beside each state, as other tables have them.
///
/// # Panics
/// If they do not.
pub async fn rows_say_which_slice_and_type_they_belong_to(tables: &dyn Tables) {
    let states = tables.open().await;
    store(&*states, state("a|b", 1)).await;
    let unique = PersistenceId::of_unique("user-42");
    let update = StateUpdate::new(unique.clone(), 1, Payload::new(2, "m", "1"));
    store(&*states, update).await;
    for (entity_type, id) in [("Test", id("a|b")), ("", unique)] {
        let slice = id.slice();
        let sql = format!(
            "SELECT COUNT(*) FROM durable_state WHERE entity_type = '{entity_type}' AND slice = {slice}"
        );
        assert_eq!(tables.number(&sql).await, 1);
    }
}

/// Checks that nothing is left of the state, of its tags and of what was needed to decode it.
///
/// # Panics
/// If something is.
pub async fn a_tombstone_keeps_its_revision_and_nothing_else(tables: &dyn Tables) {
    let states = tables.open().await;
    store(&*states, state("a", 1).with_tags(["red", "blue"])).await;
    states
        .delete(StateDelete::new(id("a"), 2))
        .await
        .expect("it can be deleted");
    states
        .delete(StateDelete::new(id("b"), 1))
        .await
        .expect("it can be deleted");
    let left = "SELECT COUNT(*) FROM durable_state WHERE payload IS NULL AND manifest = '' AND serializer_id = 0";
    assert_eq!(tables.number(left).await, 2);
    store(&*states, state("a", 3)).await;
    let current = states.get(&id("a")).await.expect("it can be read");
    assert!(current.state.is_some_and(|state| state.tags.is_empty()));
}

/// Whatever a tag or a manifest holds comes back.
///
/// # Panics
/// If it does not.
pub async fn texts_come_back_whatever_they_hold(tables: &dyn Tables) {
    let states = tables.open().await;
    let texts = [
        "",
        "\u{1f980}\u{10ffff}",
        "\"quoted\" \\ and 'so' on, [\"a\"]",
        "\u{1}\u{1f}\u{7f}\u{2028}\r\n",
        "$1 ? {state_table} %_",
    ];
    let long = "\u{1f980}".repeat(63);
    let tags: Vec<&str> = texts.into_iter().chain([long.as_str()]).collect();
    for (place, text) in texts.into_iter().enumerate() {
        let mut update = state("a", place as u64 + 1).with_tags(tags.iter().copied());
        update.payload.manifest = text.into();
        store(&*states, update.clone()).await;
        let found = states.get(&id("a")).await.expect("it can be read");
        let found = found.state.expect("there is a state");
        assert_eq!(found.payload, update.payload);
        assert_eq!(found.tags, update.tags);
    }
}

/// The tables refuse rows that no store writes, even from other programs.
///
/// # Panics
/// If it can.
pub async fn the_tables_refuse_what_cannot_be_read_back(tables: &dyn Tables) {
    let states = tables.open().await;
    store(&*states, state("live", 1)).await;
    states
        .delete(StateDelete::new(id("gone"), 1))
        .await
        .expect("it can be deleted");
    for sql in [
        "UPDATE durable_state SET payload = NULL WHERE payload IS NOT NULL",
        "UPDATE durable_state SET payload = '1' WHERE payload IS NULL",
        "UPDATE durable_state SET revision = NULL",
        "UPDATE durable_state SET revision = 'one'",
        "UPDATE durable_state SET timestamp = NULL",
        "UPDATE durable_state SET tags = NULL",
        "UPDATE durable_state SET manifest = NULL",
        "UPDATE durable_state SET serializer_id = NULL",
        "UPDATE durable_state SET persistence_id = 'Test|live'",
    ] {
        assert!(tables.try_run(sql).await.is_err(), "{sql}");
    }
}

/// A row that others damaged is an error that says whose it is, never a state that is not there.
///
/// # Panics
/// If it is anything else.
pub async fn a_damaged_state_is_corrupt_and_named(tables: &dyn Tables) {
    let states = tables.open().await;
    for (place, damage) in [
        "serializer_id = -1",
        "serializer_id = 5000000000",
        "tags = '{}'",
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("damaged {place}");
        store(&*states, state(&name, 1)).await;
        let whose = id(&name);
        tables
            .run(&format!(
                "UPDATE durable_state SET {damage} WHERE persistence_id = '{}'",
                whose.as_str()
            ))
            .await;
        let error = states.get(&whose).await.expect_err(damage);
        assert_eq!(
            error.kind(),
            StorageErrorKind::Corrupt,
            "{damage}: {error:?}"
        );
        let text = error.to_string();
        assert!(
            text.contains(whose.as_str()) && text.contains("revision 1"),
            "{text}"
        );
        // It can be replaced.
        store(&*states, state(&name, 2)).await;
        assert_eq!(revision_of(&*states, &name).await, 2);
    }
}

/// A column that somebody removed makes reads and writes fail; no state is taken for one that is not there.
///
/// # Panics
/// If they do not fail.
pub async fn a_lost_column_is_an_error_and_no_state(tables: &dyn Tables) {
    let states = tables.open().await;
    store(&*states, state("a", 1)).await;
    tables
        .run("ALTER TABLE durable_state DROP COLUMN manifest")
        .await;
    let read = states.get(&id("a")).await.map(drop);
    let written = states.upsert(state("a", 2)).await;
    let deleted = states.delete(StateDelete::new(id("a"), 2)).await;
    for result in [read, written, deleted] {
        let error = result.expect_err("a column is gone");
        assert_eq!(error.kind(), StorageErrorKind::SchemaMismatch, "{error:?}");
        assert!(
            error.effect().is_none() || error.is_not_stored(),
            "{error:?}"
        );
    }
    let revision = tables.number("SELECT revision FROM durable_state").await;
    assert_eq!(revision, 1);
}

/// A counter that is gone is no reason to begin again; for databases that count changes in a table.
///
/// # Panics
/// If something is stored.
pub async fn a_counter_that_is_gone_is_an_error_and_nothing_is_stored(tables: &dyn Tables) {
    let states = tables.open().await;
    tables.run("DELETE FROM durable_state_ordering").await;
    let error = states.upsert(state("a", 1)).await;
    let error = error.expect_err("there is no number for it");
    assert_error(&error, StorageErrorKind::Corrupt, "lacks a row");
    assert!(error.is_not_stored());
    assert_eq!(revision_of(&*states, "a").await, 0);
}

/// States that the first version stored are read, and go on: a state at revision 3, a tombstone at revision 5. The statements
/// make them.
///
/// # Panics
/// If it is not what that version stored.
pub async fn states_of_version_1_are_read_and_go_on(tables: &dyn Tables, version_1: &str) {
    tables.run(version_1).await;
    let section = tables.section().with("auto-initialize", false);
    let none = StateExtensions::default();
    let states = tables.state_store_with(section, &none).await;
    let current = states.get(&id("kept")).await.expect("it can be read");
    assert_eq!(current.revision, 3);
    let kept = current.state.expect("there is a state");
    assert_eq!(kept.payload, Payload::new(1, "test.state:v1", "state"));
    assert_eq!(kept.tags, ["red".into(), "gr:een".into()]);
    assert_eq!(
        kept.timestamp,
        Timestamp::from_micros(1_700_000_000_000_003)
    );
    let gone = states.get(&id("gone")).await.expect("it can be read");
    assert_eq!(gone, CurrentState::tombstone(5));
    store(&*states, state("kept", 4)).await;
    assert_conflict(states.upsert(state("gone", 1)).await, 0, 5);
    store(&*states, state("gone", 6)).await;
}
