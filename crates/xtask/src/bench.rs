//! `cargo xtask bench`: actors beside the bare driver and beside a minimal group commit, in one run, or beside other
//! libraries; ratios first.
//!
//! [`rows`] states what is compared and what is too slow. The program that measures is a bench of the facade; the one
//! with other libraries is in a workspace of its own, because they bring other versions of what ours depend on.

mod defaults;
mod instructions;
mod json;
mod latency;
mod measurements;
mod outcome;
mod plan;
mod plot;
mod rows;
mod table;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::Context;

use self::measurements::{Measurement, Measurements};
use self::outcome::Outcome;
use self::plan::Series;
use self::rows::{Backend, Choice, Row};
use crate::built;
use crate::child::{self, Report};
use crate::progress::{self, Step};
use crate::servers::Servers;
use crate::workspace::{self, Workspace};

pub(crate) use self::rows::markdown;

const PACKAGE: &str = "actix-persistence";
/// The bench of the facade that measures.
const PROGRAM: &str = "rates";
/// The manifest of the program with other libraries, in the folder of the workspace.
const PEERS: &str = "benches/peers/Cargo.toml";
/// The package that names their server.
const SERVER_OF_PEERS: &str = "actix-persistence-postgres";
/// The folder of the databases that are files, in the target folder.
const FOLDER: &str = "bench";
/// The milliseconds of a measurement in a quick run.
const QUICK_MILLIS: &str = "300";
const MILLIS: &str = "MILLIS";

/// The arguments of the task.
#[derive(clap::Args)]
#[command(after_help = help())]
pub(crate) struct Options {
    /// The kinds of work to be measured, such as `live`; all of them if none is named. `latency` and `defaults` are measured
    /// alone, and print tables of their own; names of settings may follow `defaults`.
    #[arg(value_name = "WORK", conflicts_with = "instructions")]
    works: Vec<String>,
    /// Measures fewer rows, see below, and each for a shorter time: less than three minutes after the build.
    #[arg(long)]
    quick: bool,
    /// Measures the same work by this library and by others on PostgreSQL and SQLite instead.
    #[arg(long, conflicts_with = "quick")]
    peers: bool,
    /// Counts the instructions of an event instead, with valgrind: they hardly change on a noisy machine.
    #[arg(long, conflicts_with_all = ["quick", "peers", "json", "svg"])]
    instructions: bool,
    /// Writes the rows into a file: a JSON list of `{work, backend, baseline, ratio, target, floor, rate, baseline_rate}`.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Writes plots into a folder, one for each family of works.
    #[arg(long, value_name = "FOLDER")]
    svg: Option<PathBuf>,
}

/// The kinds of work that are measured in a run.
enum Asked {
    Rows(Vec<Row>),
    Latency,
    Defaults(Vec<&'static defaults::Setting>),
}

impl Asked {
    fn of(choice: Choice, works: &[String]) -> anyhow::Result<Self> {
        if latency::is_asked_for(works)? {
            return Ok(Self::Latency);
        }
        match defaults::asked_for(works)? {
            Some(settings) => Ok(Self::Defaults(settings)),
            None => Ok(Self::Rows(rows::of_works(choice, works)?)),
        }
    }

    /// Returns what has to be measured, and keeps the rows of databases that are there.
    fn plan(&mut self, is_there: impl Fn(Backend) -> bool) -> Vec<Series> {
        match self {
            Self::Rows(rows) => {
                rows.retain(|row| is_there(row.backend));
                plan::series(rows)
            }
            Self::Latency => latency::plan(is_there),
            Self::Defaults(settings) => defaults::plan(settings, is_there),
        }
    }
}

fn help() -> String {
    let quick = rows::quick_text();
    format!(
        "{quick}\n\nROUNDS=3 measures three rounds, not five; MILLIS=200 lets each measurement take 200 ms, not 1,000; \
         SETTINGS=writers=1,read-connections=2 gives our stores other settings."
    )
}

/// Builds the program, starts the servers, measures, and fails if a floor is missed.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let (choice, package) = match (options.peers, options.quick) {
        (true, _) => (Choice::Peers, SERVER_OF_PEERS),
        (false, true) => (Choice::Quick, PACKAGE),
        (false, false) => (Choice::All, PACKAGE),
    };
    let mut asked = Asked::of(choice, &options.works)?;
    let workspace = Workspace::load()?;
    let Some(program) = built::program("building the bench", build(choice, &workspace))? else {
        return Ok(ExitCode::FAILURE);
    };
    if options.instructions {
        return instructions::run(&program);
    }
    // Before minutes are spent on what cannot be written.
    if let Some(file) = &options.json {
        write(file, &json::json(&[]))?;
    }
    if let Some(folder) = &options.svg {
        plot::write(folder, &[])?;
    }
    let servers = Servers::start_for(&workspace, &workspace.members_called(&[package]));
    let is_there = |backend: Backend| backend.server().is_none_or(|server| servers.has(server));
    let plan = asked.plan(is_there);
    let folder = workspace.metadata.target_directory.join(FOLDER);
    fs::create_dir_all(&folder).with_context(|| format!("could not make {folder}"))?;
    let mut command = Command::new(program);
    command.current_dir(folder);
    workspace::forget_own_package(&mut command);
    servers.tell(&mut command);
    if options.quick && std::env::var_os(MILLIS).is_none() {
        command.env(MILLIS, QUICK_MILLIS);
    }
    let (ended_well, measurements) = measure(command, &plan)?;
    let ended_well = ended_well && servers.faults().is_empty();
    servers.warn();
    println!("medians of {} rounds", measurements.rounds());
    let is_well = match asked {
        Asked::Rows(rows) => report(options, &rows, &measurements)?,
        Asked::Latency => {
            let lines = latency::latencies(&plan, &measurements);
            print!("{}", latency::table(&lines));
            write_lines(options, &json::list(&lines))?;
            is_complete(&plan, lines.len())
        }
        Asked::Defaults(_) => {
            let lines = defaults::lines(&plan, &measurements);
            print!("{}", defaults::table(&lines));
            write_lines(options, &json::list(&lines))?;
            is_complete(&plan, lines.len())
        }
    };
    Ok(exit_code(ended_well && is_well))
}

fn exit_code(is_well: bool) -> ExitCode {
    match is_well {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

/// Returns the call of cargo that builds the program.
fn build(choice: Choice, workspace: &Workspace) -> Command {
    if choice == Choice::Peers {
        let mut build = workspace::cargo("build");
        build.args(["--release", "--manifest-path"]);
        build.arg(workspace.metadata.workspace_root.join(PEERS));
        // Beside what the workspace builds.
        build.arg("--target-dir");
        build.arg(workspace.metadata.target_directory.join("peers"));
        return build;
    }
    let mut build = workspace::cargo("bench");
    build.args(["--no-run", "--package", PACKAGE, "--bench", PROGRAM]);
    build.args(["--features", "postgres,mysql"]);
    build
}

/// Runs the program, and shows how far it is; returns whether it ended well, and what it measured.
fn measure(mut command: Command, plan: &[Series]) -> anyhow::Result<(bool, Measurements)> {
    command.args(plan.iter().map(Series::argument));
    let step = Step::start(format!("measuring {} series", plan.len()));
    let mut measurements = Measurements::default();
    let mut begun = 0;
    let status = child::lines(command, |heard| match heard {
        Report::Line(line) => match Measurement::of_line(line) {
            Some(measurement) => {
                if begun < plan.len() && plan[begun].has(&measurement) {
                    begun += 1;
                    let Measurement { work, backend, .. } = &measurement;
                    step.goes_on(format_args!(
                        "{begun} of {}, {work} on {backend}",
                        plan.len()
                    ));
                }
                measurements.add(measurement);
            }
            None => progress::note(line),
        },
        Report::Silent => step.still_running(),
    })?;
    step.end(if status.success() { "done" } else { "FAILED" });
    Ok((status.success(), measurements))
}

/// Prints and writes the rows; returns whether all were measured, and none is below its floor.
fn report(options: &Options, rows: &[Row], measurements: &Measurements) -> anyhow::Result<bool> {
    let outcomes: Vec<_> = rows
        .iter()
        .filter_map(|row| Outcome::of(*row, measurements))
        .collect();
    let mut required = rows.to_vec();
    for row in outcome::not_measured(rows, &outcomes) {
        progress::note(format_args!(
            "NOT MEASURED: {} on {}, {} to {}",
            row.work, row.backend, row.side, row.baseline.name
        ));
        // Another library may be unable to do the work; ours must do it.
        let is_ours_measured = measurements
            .rates(row.work, &row.backend.to_string(), row.side)
            .is_some();
        if options.peers && is_ours_measured {
            required.retain(|one| *one != row);
        }
    }
    print!("{}", table::table(&outcomes));
    write_lines(options, &json::json(&outcomes))?;
    if let Some(folder) = &options.svg {
        plot::write(folder, &outcomes)?;
    }
    Ok(!outcome::has_failed(&required, &outcomes))
}

/// Writes the lines of a table, if a person asks for them.
fn write_lines(options: &Options, json: &str) -> anyhow::Result<()> {
    let file = options.json.as_deref();
    file.map_or(Ok(()), |file| write(file, json))
}

/// Returns whether every side of the plan has a line.
fn is_complete(plan: &[Series], lines: usize) -> bool {
    let sides: usize = plan.iter().map(|series| series.sides.len()).sum();
    if lines < sides {
        progress::note(format_args!("{} sides were NOT MEASURED", sides - lines));
    }
    lines == sides
}

fn write(file: &Path, text: &str) -> anyhow::Result<()> {
    fs::write(file, text).with_context(|| format!("could not write {}", file.display()))
}
