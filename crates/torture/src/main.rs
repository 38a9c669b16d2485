//! `torture run [KIND]` puts the product under torture; `torture worker KIND ARGS..` is a process under test.

#![allow(
    clippy::print_stdout,
    reason = "a command-line program answers on its standard output"
)]

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use actix_persistence_torture::{
    Backend, Job, KINDS, LongRuns, Settings, Summary, end_on_interrupt, is_interrupted, kinds, run,
    workers,
};
use clap::{Args, Parser};

/// The time for which a kind runs on a backend, unless a command says otherwise.
const LENGTH: Duration = Duration::from_secs(180);
/// The exit status of a command that makes no sense, as clap has it.
const USAGE: u8 = 2;
/// The exit status after Ctrl-C.
const INTERRUPTED: u8 = 130;

#[derive(Parser)]
#[command(
    name = "torture",
    about = "Features against each other and against faults"
)]
enum Command {
    /// Runs one kind, or all of them; exit status 1 if anything was violated.
    Run(Options),
    /// Says on which backends a run would be, one per line.
    Plan(Options),
    /// A process under test; started by a run.
    #[command(hide = true)]
    Worker {
        kind: String,
        arguments: Vec<String>,
    },
}

#[derive(Args)]
struct Options {
    /// The kind; all of them if there is none.
    kind: Option<String>,
    /// The backend to run it on; may be given again. All that the kind applies to if there is none.
    #[arg(long = "backend")]
    backends: Vec<Backend>,
    /// The length, as `90s`, `15m`, `8h`: a named kind on each backend, or all kinds on all backends together, each for
    /// its share. Three minutes for each kind on each backend if it is not given.
    #[arg(long = "for", value_parser = humantime::parse_duration)]
    length: Option<Duration>,
    /// The seed of every random decision; a random one if it is not given.
    #[arg(long)]
    seed: Option<u64>,
    /// A file for the summaries: a list, written anew after each run.
    #[arg(long)]
    json: Option<PathBuf>,
    /// The folder in which a run that has found something leaves what shows it.
    #[arg(long, default_value = "target/torture")]
    keep: PathBuf,
    /// A file to which runs of three minutes or more are appended, one JSON line each.
    #[arg(long, requires = "commit")]
    ledger: Option<PathBuf>,
    /// The commit that the ledger names.
    #[arg(long)]
    commit: Option<String>,
}

fn main() -> anyhow::Result<ExitCode> {
    match Command::parse() {
        Command::Run(options) => Ok(match options.jobs() {
            Ok(jobs) => run_all(&jobs, &options)?,
            Err(error) => refuse(&error),
        }),
        Command::Plan(options) => Ok(match options.jobs() {
            Ok(jobs) => {
                let backends: BTreeSet<_> = jobs.iter().map(|job| job.backend).collect();
                backends.iter().for_each(|backend| println!("{backend}"));
                ExitCode::SUCCESS
            }
            Err(error) => refuse(&error),
        }),
        Command::Worker { kind, arguments } => {
            workers::work(&kind, &arguments)?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn refuse(error: &anyhow::Error) -> ExitCode {
    eprintln!("error: {error:#}");
    ExitCode::from(USAGE)
}

impl Options {
    /// Returns the jobs to be run, in this order.
    fn jobs(&self) -> anyhow::Result<Vec<Job>> {
        let kinds = match &self.kind {
            Some(name) => std::slice::from_ref(kinds::named(name)?),
            None => KINDS,
        };
        let wanted =
            |backend: &Backend| self.backends.is_empty() || self.backends.contains(backend);
        let mut jobs = Vec::new();
        for kind in kinds {
            let backends = kind.backends.iter().filter(|backend| wanted(backend));
            jobs.extend(backends.map(|&backend| Job { kind, backend }));
        }
        anyhow::ensure!(!jobs.is_empty(), "nothing of this runs on such a backend");
        Ok(jobs)
    }

    fn length_of_each(&self, jobs: usize) -> Duration {
        match (self.length, &self.kind) {
            (None, _) => LENGTH,
            (Some(length), Some(_)) => length,
            (Some(length), None) => length / jobs as u32,
        }
    }
}

fn run_all(jobs: &[Job], options: &Options) -> anyhow::Result<ExitCode> {
    end_on_interrupt()?;
    let settings = Settings {
        length: options.length_of_each(jobs.len()),
        least_cycles: 1,
        enough: |_| true,
        seed: options.seed.unwrap_or_else(|| fastrand::u64(..)),
        folder: options.keep.clone(),
        program: std::env::current_exe()?,
    };
    let ledger = options.ledger.as_ref().map(|file| LongRuns {
        file: file.clone(),
        commit: options.commit.clone().unwrap_or_default(),
        kept: options.keep.clone(),
    });
    let mut summaries: Vec<Summary> = Vec::new();
    for job in jobs {
        if is_interrupted() {
            break;
        }
        let summary = run(*job, &settings)?;
        println!("{summary}");
        if let Some(ledger) = &ledger {
            ledger.append(&summary)?;
        }
        summaries.push(summary);
        if let Some(file) = &options.json {
            fs::write(file, serde_json::to_vec_pretty(&summaries)?)?;
        }
    }
    let violations: u64 = summaries.iter().map(|summary| summary.violations).sum();
    Ok(match violations {
        _ if is_interrupted() => ExitCode::from(INTERRUPTED),
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}
