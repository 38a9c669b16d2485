//! A plugin around another one.

use actix_persistence_memory::MemoryPlugin;
use actix_persistence_sqlite::SqlitePlugin;
use actix_persistence_storage_api::{
    Journal, Operation, Origin, Plugin, Section, StateExtensions, StorageErrorKind,
};
use actix_persistence_tck::TakeOverOne;
use actix_persistence_testkit::InterceptedPlugin;

use crate::id;

#[tokio::test]
async fn every_store_that_the_plugin_makes_meets_its_rules() {
    let plugin = InterceptedPlugin::around(MemoryPlugin::new());
    assert_eq!(plugin.name(), "memory");
    let down = StorageErrorKind::Unavailable;
    let clone = plugin.clone();
    clone.journals().on_every_call().next(2).fail(down);
    clone.snapshot_stores().on_every_call().next(1).fail(down);
    clone.state_stores().on_every_call().next(1).fail(down);
    clone.offset_stores().on_every_call().next(1).fail(down);
    let section = Section::new("persistence.journal.m", Origin::code());
    let journal = plugin.journal(&section).unwrap();
    let other = plugin.journal(&section).unwrap();
    let snapshots = plugin.snapshot_store(&section).unwrap();
    let states = plugin.state_store(&section, &StateExtensions::default());
    let states = states.unwrap();
    assert!(journal.initialize().await.is_err());
    assert!(other.initialize().await.is_err());
    assert!(other.initialize().await.is_ok());
    assert!(snapshots.initialize().await.is_err());
    assert!(snapshots.initialize().await.is_ok());
    assert!(states.initialize().await.is_err());
    assert!(states.initialize().await.is_ok());
    let offsets = plugin.offset_store(&section).unwrap();
    assert!(offsets.initialize().await.is_err());
    assert!(offsets.initialize().await.is_ok());
}

#[tokio::test]
async fn what_is_wrong_with_a_section_is_still_said_and_data_stay_the_plugins() {
    let memory = MemoryPlugin::new();
    let plugin = InterceptedPlugin::around(memory.clone());
    let section = Section::new("persistence.journal.m", Origin::code());
    assert!(plugin.journal(&section.clone().with("nmae", "x")).is_err());
    let named = section.with("name", "shared");
    let journal = plugin.journal(&named).unwrap();
    let writer = actix_persistence_storage_api::WriterId::NIL;
    journal.take_over_one(&id("a"), writer).await.unwrap();
    let head = memory.storage("shared").journal().read_head(&id("a")).await;
    assert_eq!(head.unwrap().epoch, 1);
    let rule = plugin.journals().on(Operation::TakeOver).hang();
    assert_eq!(rule.met(), 0);
}

#[test]
fn the_schemas_of_the_plugin_are_given() {
    let plugin = InterceptedPlugin::around(SqlitePlugin::new());
    let section = Section::new("persistence.journal.s", Origin::code()).with("url", "a.db");
    let none = StateExtensions::default();
    assert!(plugin.journal_schema(&section, None).unwrap().is_some());
    assert!(
        plugin
            .snapshot_store_schema(&section, None)
            .unwrap()
            .is_some()
    );
    let states = plugin.state_store_schema(&section, &none, None);
    assert!(states.unwrap().is_some());
    assert_eq!(plugin.secret_keys(), SqlitePlugin::new().secret_keys());
    let only_there = SqlitePlugin::new().without_making(&section);
    assert_eq!(plugin.without_making(&section), only_there);
    assert_ne!(only_there, section);
}
