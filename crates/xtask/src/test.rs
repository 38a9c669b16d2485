//! `cargo xtask test`: builds every test, runs the programs, two at the same time, and counts.

mod doctests;
mod failures;
mod files;
pub(crate) mod job;
pub(crate) mod lanes;
pub(crate) mod program;
pub(crate) mod report;
mod screen;
pub(crate) mod tally;

use std::panic::resume_unwind;
use std::process::ExitCode;
use std::thread;

use cargo_metadata::Package;

use crate::progress::Step;
use crate::servers::Servers;
use crate::workspace::{self, Workspace};
use files::FilesInMemory;
use job::Job;
use program::TestProgram;
use report::{Report, Run};

/// The packages and the tests to run.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Runs unit tests and the conformance kit only, and nothing of the torture.
    #[arg(long)]
    quick: bool,
    /// Tests only this package; may be repeated.
    #[arg(short, long = "package", hide = true)]
    packages: Vec<String>,
}

impl Options {
    /// Selects all tests of these packages.
    pub(crate) fn of_packages(packages: Vec<String>) -> Self {
        Self {
            quick: false,
            packages,
        }
    }
}

/// Runs the tests and ends with the counts.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    Ok(run_tests(options)?.exit_code())
}

/// Runs every test of the workspace and returns whether all passed.
pub(crate) fn everything_passes() -> anyhow::Result<bool> {
    Ok(run_tests(&Options::of_packages(Vec::new()))?.is_green())
}

fn run_tests(options: &Options) -> anyhow::Result<Report> {
    let workspace = Workspace::load()?;
    let members = selected(&workspace, &options.packages)?;
    let files = FilesInMemory::make(&workspace);
    let mut report = Report::default();

    let (programs, servers) = thread::scope(|scope| {
        // Installing and starting them waits for networks and disks, building for processors.
        let servers = scope.spawn(|| Servers::start_in_memory_for(&workspace, &members));
        let programs = built(&members, options);
        let servers = servers.join();
        (
            programs,
            servers.unwrap_or_else(|panic| resume_unwind(panic)),
        )
    });
    match programs? {
        Some(programs) => {
            report.add_faults_of(&servers);
            let mut jobs: Vec<_> = programs
                .iter()
                .map(|program| {
                    Job::program(program, &servers).with(|command| files.tell(program, command))
                })
                .collect();
            if !options.quick {
                jobs.extend(Job::doctests(&members, options, &servers));
            }
            report.add_all(lanes::run_all(jobs, lanes::LANES)?);
            servers.warn();
        }
        None => report.add(Run::broken("the build", "the tests do not compile")),
    }
    print!("\n{report}");
    Ok(report)
}

fn built(members: &[&Package], options: &Options) -> anyhow::Result<Option<Vec<TestProgram>>> {
    let step = Step::start("building the tests");
    let programs = program::build(workspace::cargo("test"), members, options)?;
    step.end(if programs.is_some() {
        "built"
    } else {
        "FAILED"
    });
    Ok(programs)
}

/// Returns the packages of these names; all of them if there is no name.
pub(crate) fn selected<'a>(
    workspace: &'a Workspace,
    packages: &[String],
) -> anyhow::Result<Vec<&'a Package>> {
    let mut members = workspace.members();
    for name in packages {
        anyhow::ensure!(
            members.iter().any(|member| member.name == name.as_str()),
            "could not find the package {name:?} in this workspace, see `members` in Cargo.toml"
        );
    }
    if !packages.is_empty() {
        members.retain(|member| packages.contains(&member.name.to_string()));
    }
    Ok(members)
}
