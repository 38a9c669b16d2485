//! The kinds of torture: one module each, one line each in [`KINDS`].

mod arbiters;
mod cancel;
mod clock;
mod config;
mod copies;
pub mod corrupt;
pub mod disk;
mod fight;
pub(crate) mod files;
mod handlers;
mod kill_app;
pub mod power_loss;
mod projections;
mod proxy;
mod readers;
mod rolling;
mod sealed;
mod servers;
pub(crate) mod sim;
mod stop;
mod storm;

use crate::{Backend, Run};

/// A kind of torture.
#[derive(Clone, Copy)]
pub struct Kind {
    /// The name of the kind in a command: one word, or several with hyphens.
    pub name: &'static str,
    /// A sentence that says what it does.
    pub sentence: &'static str,
    /// The backends that it runs on; all of them unless a command says otherwise.
    pub backends: &'static [Backend],
    /// Goes on until [`Run::is_over`]; reports violations to the run, and fails if the torture itself does not work.
    pub run: fn(&Run) -> anyhow::Result<()>,
    /// The work of its processes under test, with their arguments; started by [`Run::worker`].
    pub worker: Option<Work>,
}

/// The work of a process under test, with its arguments.
pub type Work = fn(&[String]) -> anyhow::Result<()>;

/// Every kind, in the order in which they run.
pub const KINDS: &[Kind] = &[
    fight::KIND,
    handlers::KIND,
    kill_app::KIND,
    servers::KILL,
    servers::HANG,
    power_loss::KIND,
    disk::KIND,
    corrupt::KIND,
    rolling::KIND,
    sealed::KIND,
    config::KIND,
    clock::KIND,
    sim::KIND,
    readers::KIND,
    projections::KIND,
    proxy::KIND,
    storm::KIND,
    stop::KIND,
    cancel::KIND,
    arbiters::KIND,
];

/// The kind of this name.
///
/// # Errors
/// If there is none; says which there are.
pub fn named(name: &str) -> anyhow::Result<&'static Kind> {
    let found = KINDS.iter().find(|kind| kind.name == name);
    found.ok_or_else(|| {
        let names: Vec<_> = KINDS.iter().map(|kind| kind.name).collect();
        anyhow::anyhow!("there is no kind '{name}', but {}", names.join(", "))
    })
}
