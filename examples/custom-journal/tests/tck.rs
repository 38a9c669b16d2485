//! The conformance kit on the plugin, directly and through the actors in front of its stores.

// ANCHOR: kit
use std::process::ExitCode;

use actix_persistence_journal_actor::{JournalProxy, JournalSettings};
use actix_persistence_snapshot_actor::{SnapshotSettings, SnapshotStoreProxy};
use actix_persistence_state_actor::{StateSettings, StateStoreProxy};
use actix_persistence_tck::{Fixture, Fronts, Kit, PluginFixture};
use custom_journal::FilePlugin;
use tempfile::TempDir;

/// Returns a fixture with a directory of its own for each case.
fn files() -> impl Fixture {
    let plugin = FilePlugin::new();
    let fixture = PluginFixture::new(plugin, |section| {
        let directory = TempDir::new().expect("there is room for a temporary directory");
        let path = directory.path().display().to_string();
        (section.with("directory", path), directory)
    });
    fixture.without(&["event_queries", "queries", "sql_session"])
}

fn main() -> ExitCode {
    let actors = Fronts::new()
        .journal(|journal| JournalProxy::spawn(journal, JournalSettings::new("file")))
        .snapshot_store(|store| SnapshotStoreProxy::spawn(store, SnapshotSettings::new("file")))
        .state_store(|store| StateStoreProxy::spawn(store, StateSettings::new("file")));
    Kit::new()
        .stores("", files())
        .stores("proxied", files().through(actors))
        .run()
}
// ANCHOR_END: kit
