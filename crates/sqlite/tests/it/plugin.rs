//! Sections and the stores made of them.

use actix_persistence_sqlite::SqlitePlugin;
use actix_persistence_storage_api::{
    Origin, Payload, Plugin, Section, SnapshotMetadata, StateExtensions, Timestamp, WriterId,
};
use actix_persistence_tck::TakeOverOne;
use futures_util::future::join_all;

use crate::place::{Place, id, write};

fn section(store: &str, url: &str) -> Section {
    Section::new(format!("persistence.{store}"), Origin::file("app.toml", 3)).with("url", url)
}

#[test]
fn stores_on_one_file_share_their_connections_however_the_url_is_spelt() {
    let plugin = SqlitePlugin::new();
    let journal = plugin.journal(&section("journal.a", "sqlite://plugin.db"));
    let store = plugin.snapshot_store(&section("snapshot-store.a", "./plugin.db"));
    let states = plugin.state_store(
        &section("state.a", "sqlite:plugin.db"),
        &StateExtensions::default(),
    );
    assert_eq!(plugin.databases(), 1);
    let other = plugin.clone().journal(&section("journal.b", "other.db"));
    assert_eq!(plugin.databases(), 2);
    drop((journal, store, states, other));
    assert_eq!(plugin.databases(), 0);
}

#[test]
fn different_connections_to_one_file_are_refused_with_both_sections() {
    let plugin = SqlitePlugin::new();
    let journal = plugin.journal(&section("journal.a", "plugin.db"));
    let other = section("snapshot-store.b", "plugin.db").with("busy-timeout", "1s");
    let errors = plugin.snapshot_store(&other).err().unwrap();
    let text = errors.to_string();
    assert!(
        text.contains("'persistence.snapshot-store.b.busy-timeout' differs from"),
        "{text}"
    );
    assert!(
        text.contains("'persistence.journal.a.busy-timeout'"),
        "{text}"
    );
    // Nothing of the first one is left after it was dropped.
    drop(journal);
    assert!(plugin.snapshot_store(&other).is_ok());
}

#[test]
fn settings_of_one_store_may_differ() {
    let plugin = SqlitePlugin::new();
    let _journal = plugin.journal(&section("journal.a", "plugin.db")).unwrap();
    let other = section("journal.b", "plugin.db")
        .with("event-table", "other_events")
        .with("auto-initialize", false);
    assert!(plugin.journal(&other).is_ok());
}

#[test]
fn mistakes_are_reported_at_once_and_open_nothing() {
    let plugin = SqlitePlugin::new();
    let section = section("journal.a", "sqlite::memory:")
        .with("event-table", "a b")
        .with("event_table", "c");
    let errors = plugin.journal(&section).err().unwrap();
    assert_eq!(errors.errors().len(), 3, "{errors}");
    assert_eq!(plugin.databases(), 0);
}

#[tokio::test]
async fn events_wait_for_one_snapshot_of_the_same_file_and_not_for_all() {
    let place = Place::new();
    let plugin = SqlitePlugin::new();
    let url = place.path.to_str().unwrap();
    let journal = plugin.journal(&section("journal.a", url)).unwrap();
    let snapshots = plugin.snapshot_store(&section("snapshot-store.a", url));
    let snapshots = snapshots.unwrap();
    journal.initialize().await.unwrap();
    snapshots.initialize().await.unwrap();
    place
        .run(
            "CREATE TABLE seen (snapshots INTEGER);
             CREATE TRIGGER see AFTER INSERT ON event_journal
             BEGIN INSERT INTO seen SELECT COUNT(*) FROM snapshot; END;",
        )
        .await;
    let writer = WriterId::random();
    let epoch = journal.take_over_one(&id("a"), writer).await.unwrap().epoch;

    let saves = join_all(["a", "b", "c", "d"].map(|name| {
        let metadata = SnapshotMetadata::new(id(name), 1, Timestamp::from_micros(7));
        snapshots.save(metadata, Payload::new(1, "test.state:v1", vec![1; 1_000]))
    }));
    let append = journal.write_messages(vec![write(&id("a"), epoch, writer, 1..=1)]);
    let (saved, appended) = futures_util::join!(saves, append);
    assert!(saved.iter().all(Result::is_ok), "{saved:?}");
    assert!(appended.unwrap()[0].is_stored());
    assert!(place.number("SELECT snapshots FROM seen").await <= 1);
}
