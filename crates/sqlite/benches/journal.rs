//! The rates of the journal on SQLite, directly and through the actor in front of it.

use std::process::ExitCode;

use actix_persistence_journal_actor::{JournalProxy, JournalSettings};
use actix_persistence_sqlite::SqlitePlugin;
use actix_persistence_tck::{Fixture, Fronts, JournalPerf, PluginFixture};

/// Files in directories of their own, in the directory for temporary files: its disk is measured.
fn files() -> impl Fixture {
    PluginFixture::new(SqlitePlugin::new(), |section| {
        let directory = tempfile::tempdir().expect("there is room for a temporary directory");
        let path = directory.path().join("journal.db").display().to_string();
        (section.with("url", path), directory)
    })
}

fn main() -> ExitCode {
    let actors = Fronts::new()
        .journal(|journal| JournalProxy::spawn(journal, JournalSettings::new("sqlite")));
    JournalPerf::new()
        .journal("", files())
        .journal("proxied", files().through(actors))
        .run()
}
