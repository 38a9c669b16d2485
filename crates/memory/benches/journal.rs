//! The rates of the memory plugin's journal, directly and through the actor in front of it.

use std::process::ExitCode;

use actix_persistence_journal_actor::{JournalProxy, JournalSettings};
use actix_persistence_memory::MemoryPlugin;
use actix_persistence_tck::{Fixture, Fronts, JournalPerf, PluginFixture};

/// Places without a name: the memory of a journal ends with it.
fn memory() -> impl Fixture {
    PluginFixture::new(MemoryPlugin::new(), |section| (section, ()))
}

fn main() -> ExitCode {
    let actors = Fronts::new()
        .journal(|journal| JournalProxy::spawn(journal, JournalSettings::new("memory")));
    JournalPerf::new()
        .journal("", memory())
        .journal("proxied", memory().through(actors))
        .run()
}
