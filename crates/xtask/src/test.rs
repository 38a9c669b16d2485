//! `cargo xtask test`: builds every test, runs them one program after the other, and counts.

mod program;
pub(crate) mod report;
pub(crate) mod tally;

use std::process::ExitCode;

use cargo_metadata::Package;

use crate::child::{self, Report as Heard};
use crate::progress::Step;
use crate::servers::Servers;
use crate::workspace::{self, Workspace};
use program::TestProgram;
use report::{Report, Run};
use tally::Tally;

/// The packages and the tests to run.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Runs unit tests and the conformance kit only.
    #[arg(long)]
    quick: bool,
    /// Tests only this package; may be given again.
    #[arg(short, long = "package", hide = true)]
    packages: Vec<String>,
}

/// Runs the tests and ends with the counts.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let report = run_tests(options)?;
    Ok(if report.is_green() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Runs every test of the workspace and returns whether all passed.
pub(crate) fn everything_passes() -> anyhow::Result<bool> {
    let options = Options {
        quick: false,
        packages: Vec::new(),
    };
    Ok(run_tests(&options)?.is_green())
}

fn run_tests(options: &Options) -> anyhow::Result<Report> {
    let workspace = Workspace::load()?;
    let members = selected(&workspace, &options.packages)?;
    let mut report = Report::default();

    let step = Step::start("building the tests");
    match program::build(&members, options)? {
        Some(programs) => {
            step.end("built");
            let servers = Servers::start_for(&workspace, &members);
            report.add_all(servers.faults());
            for program in &programs {
                report.add(run_program(program, &servers)?);
            }
            if !options.quick {
                report.add_all(run_doctests(&members, options, &servers)?);
            }
            servers.warn();
        }
        None => {
            step.end("FAILED");
            report.add(Run::broken("the build", "the tests do not compile"));
        }
    }
    print!("\n{report}");
    Ok(report)
}

fn selected<'a>(workspace: &'a Workspace, packages: &[String]) -> anyhow::Result<Vec<&'a Package>> {
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

fn run_program(program: &TestProgram, servers: &Servers) -> anyhow::Result<Run> {
    let step = Step::start(program.to_string());
    // A kit that tests kits writes closing lines of its own; the last one is the runner's.
    let mut tally = None;
    let mut command = program.command();
    servers.tell(&mut command);
    let status = child::lines(command, |heard| match heard {
        Heard::Line(line) => {
            println!("{line}");
            tally = Tally::of_line(line).or(tally);
        }
        Heard::Silent => step.still_running(),
    })?;
    let run = Run::new(program.to_string(), program.kit_of(), tally, status);
    step.end(run.verdict());
    Ok(run)
}

fn run_doctests(
    members: &[&Package],
    options: &Options,
    servers: &Servers,
) -> anyhow::Result<Vec<Run>> {
    let mut libraries = members.to_vec();
    libraries.retain(|member| workspace::has_library(member));
    if libraries.is_empty() {
        return Ok(Vec::new());
    }
    let mut command = workspace::cargo("test");
    // Colours would hide the headings from us.
    command.args(["--doc", "--no-fail-fast", "--color=never"]);
    program::select_packages(&mut command, &libraries, options);
    servers.tell(&mut command);

    let step = Step::start("doctests");
    let mut count = tally::Doctests::default();
    let status = child::lines(command, |heard| match heard {
        Heard::Line(line) => {
            println!("{line}");
            count.hear(line);
        }
        Heard::Silent => step.still_running(),
    })?;
    let runs = count.end(status);
    let failed = runs.iter().filter(|run| !run.passed()).count();
    step.end(format_args!(
        "{} crates, {failed} of them failed",
        runs.len()
    ));
    Ok(runs)
}
