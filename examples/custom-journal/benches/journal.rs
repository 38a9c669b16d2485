//! The rates of the plugin's journal, directly and through the actor in front of it.

// ANCHOR: perf
use std::process::ExitCode;

use actix_persistence_journal_actor::{JournalProxy, JournalSettings};
use actix_persistence_tck::{Fixture, Fronts, JournalPerf, PluginFixture};
use custom_journal::FilePlugin;

fn files() -> impl Fixture {
    PluginFixture::new(FilePlugin::new(), |section| {
        let directory = tempfile::tempdir().expect("there is room for a temporary directory");
        let path = directory.path().display().to_string();
        (section.with("directory", path), directory)
    })
}

fn main() -> ExitCode {
    let actors =
        Fronts::new().journal(|journal| JournalProxy::spawn(journal, JournalSettings::new("file")));
    JournalPerf::new()
        .journal("", files())
        .journal("proxied", files().through(actors))
        .run()
}
// ANCHOR_END: perf
