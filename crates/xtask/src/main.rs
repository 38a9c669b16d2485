//! The project's own commands: `cargo xtask test | verify | tidy | fix | bench | soak | torture | planted
//! | mutations | package | gate`.
//!
//! A command is a module with a `run` function; what they share is beside them: [`workspace`] knows the crates,
//! [`child`] runs other programs, [`progress`] shows a person how far things are.

#![allow(
    clippy::print_stdout,
    reason = "a command-line program answers on its standard output"
)]

mod bench;
mod built;
mod child;
mod contract;
mod dependency_rule;
mod features;
mod fix;
mod gate;
mod memory;
mod package;
mod planted;
mod progress;
mod rust_versions;
mod servers;
mod shared_builds;
mod snippets;
mod soak;
mod sums;
mod tables;
mod test;
mod tidy;
mod torture;
mod tree;
mod verify;
mod workspace;

use std::process::ExitCode;

use clap::Parser;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "The project's own commands")]
enum Task {
    /// Runs the tests: unit, conformance, integration, examples, documentation.
    Test(test::Options),
    /// Checks everything and changes nothing: format, tidiness, dependencies, lints, documentation, tests.
    Verify,
    /// Checks the house rules that no compiler knows, in a second.
    Tidy,
    /// Formats the code and regenerates what is generated.
    Fix,
    /// Compares actors with the bare driver and with a minimal group commit, in release mode, and prints ratios.
    Bench(bench::Options),
    /// Runs tests that have a long version at full length, in release mode, and prints what they measure.
    Soak(soak::Options),
    /// Puts features against each other and against faults, on every database, for as long as one likes.
    Torture(torture::Options),
    /// Puts bugs into a copy of the sources, and expects the torture, or the tests that they name, to find each.
    Planted(planted::Options),
    /// Hunts only the bugs in the run loop of the persistent actor, which the programs of its model have to find.
    Mutations,
    /// Builds every published crate from its package, and the README's program on the packages.
    Package,
    /// Checks before a release what programs of others find out: licences, vulnerabilities, versions, public items.
    Gate,
    /// Installs Debian's package of one database server.
    #[command(hide = true)]
    InstallServer(servers::install::Options),
}

fn main() -> anyhow::Result<ExitCode> {
    let task = Task::parse();
    child::end_with_us_on_interrupt()?;
    match task {
        Task::Test(options) => test::run(&options),
        Task::Verify => verify::run(),
        Task::Tidy => tidy::run(),
        Task::Fix => fix::run(),
        Task::Bench(options) => bench::run(&options),
        Task::Soak(options) => soak::run(&options),
        Task::Torture(options) => torture::run(&options),
        Task::Planted(options) => planted::run(&options),
        Task::Mutations => planted::run_list("run-loop"),
        Task::Package => package::run(),
        Task::Gate => gate::run(),
        Task::InstallServer(options) => servers::install::run(&options).map(|()| ExitCode::SUCCESS),
    }
}
