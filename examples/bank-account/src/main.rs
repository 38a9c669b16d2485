//! A bank on actix-persistence: imports bookings, and shows balances, histories and statements.

mod import;
mod keeping;
mod progress;
mod receipts;
mod reports;

use std::fs::File;
use std::io::{self, BufReader, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use actix_persistence::Config;
use actix_persistence::prelude::*;
use anyhow::Context;
use clap::{Parser, Subcommand};

use crate::import::{Import, Summary};
use crate::progress::Progress;
use crate::receipts::Receipts;
use bank::lines::Lines;
use bank::{Account, Month, tables};

/// The file in which the bank keeps its accounts without `--config`.
const DEFAULT_DATABASE: &str = "bank.db";
/// The time for which the bank waits in the end for what is under way.
const STOP_DEADLINE: Duration = Duration::from_secs(30);
/// The exit code that shells report for a program that Ctrl-C ended.
const INTERRUPTED: u8 = 130;

/// A bank whose accounts survive a crash.
#[derive(Parser)]
#[command(name = "bank-account", version)]
struct Arguments {
    /// The config file; without it the bank keeps its accounts in bank.db in the working directory.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Books the lines of a CSV file with the header id,account,kind,cents; every id once per account.
    Import {
        /// The file, or - for standard input.
        file: PathBuf,
        /// Adds a CSV line for each answer to this file: account, id, what became of it, and why.
        #[arg(long, value_name = "FILE")]
        receipts: Option<PathBuf>,
    },
    /// Prints the balance of an account in cents; 0 for one never seen.
    Balance { account: String },
    /// Prints a line per event: sequence number, kind, cents, id, applied or refused.
    History { account: String },
    /// Prints a line per account: its name, the balance in cents, the number of bookings; from a table that it first brings
    /// up to date.
    Balances,
    /// Keeps the table of balances up to date until Ctrl-C; processes that do so share the work.
    Keep {
        /// The time after which the others take over from a process that is not heard of.
        #[arg(long, value_name = "TIME", default_value = "10s", value_parser = keeping::lease)]
        lease: Duration,
    },
    /// Prints a line per account on which something was booked in a month: its name, the cents deposited and withdrawn, the
    /// number of bookings.
    Statement {
        /// The month in UTC, such as 2026-11; this month unless it is given.
        month: Option<Month>,
    },
}

#[actix::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    tracing_subscriber::fmt()
        .with_env_filter(
            tracing_subscriber::EnvFilter::try_from_default_env().unwrap_or_else(|_| "warn".into()),
        )
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal())
        .init();
    match run(arguments).await {
        Ok(code) => code,
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

async fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let config = arguments.config.as_deref();
    match arguments.command {
        Command::Import { file, receipts } => import(config, &file, receipts.as_deref()).await,
        Command::Balance { account } => {
            let cents = match open_existing(config).await? {
                Some(persistence) => {
                    check_name(&account)?;
                    persistence
                        .replay(Account::new(&account))
                        .await?
                        .actor
                        .cents()
                }
                None => 0,
            };
            writeln!(io::stdout(), "{cents}")?;
            Ok(ExitCode::SUCCESS)
        }
        Command::History { account } => {
            check_name(&account)?;
            if let Some(persistence) = open_existing(config).await? {
                reports::history(&persistence, &account).await?;
            }
            Ok(ExitCode::SUCCESS)
        }
        Command::Balances => {
            if is_there(config) {
                let persistence = open_with_tables(config).await?;
                keeping::catch_up(&persistence).await?;
                reports::balances(&persistence).await?;
                persistence.stop(STOP_DEADLINE).await;
            }
            Ok(ExitCode::SUCCESS)
        }
        Command::Keep { lease } => {
            keeping::keep(&open_with_tables(config).await?, lease).await?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Statement { month } => {
            if let Some(persistence) = open_existing(config).await? {
                reports::statement(&persistence, &month.unwrap_or_else(Month::now)).await?;
            }
            Ok(ExitCode::SUCCESS)
        }
    }
}

async fn import(
    config: Option<&Path>,
    file: &Path,
    receipts: Option<&Path>,
) -> anyhow::Result<ExitCode> {
    // The input is looked at first: a misspelt name must not leave an empty database.
    let (input, size): (Box<dyn io::Read + Send>, _) = if file == Path::new("-") {
        (Box::new(io::stdin()), None)
    } else {
        let opened =
            File::open(file).with_context(|| format!("could not open {}", file.display()))?;
        let size = opened.metadata().ok().map(|metadata| metadata.len());
        (Box::new(opened), size)
    };
    let lines = Lines::new(BufReader::new(input))
        .with_context(|| format!("could not read {}", file.display()))?;
    let receipts = match receipts {
        Some(file) => Receipts::append_to(file)
            .with_context(|| format!("could not open {}", file.display()))?,
        None => Receipts::none(),
    };
    let persistence = match config {
        Some(file) => Persistence::from_config(file).await?,
        None => Persistence::sqlite(DEFAULT_DATABASE).await?,
    };
    let import = Import::new(&persistence, Progress::new(size), receipts);
    actix::spawn(announce_interruption());
    let stopped = persistence.stop_on_ctrl_c(STOP_DEADLINE);
    let mut summary = import.run(lines.in_background(), stopped).await?;
    // At the end of the input too: snapshots that are not waited for are saved.
    let interrupted = summary.interrupted.take();
    let was_interrupted = interrupted.is_some();
    let stopped = match interrupted {
        Some(report) => report,
        None => persistence.stop(STOP_DEADLINE).await,
    };
    if !stopped.is_complete() {
        eprintln!("{stopped}");
    }
    report(&summary, was_interrupted)
}

async fn announce_interruption() {
    if tokio::signal::ctrl_c().await.is_ok() {
        eprintln!("interrupted: waiting for what is under way; press Ctrl-C again to end at once");
    }
}

fn report(summary: &Summary, interrupted: bool) -> anyhow::Result<ExitCode> {
    let Summary {
        applied,
        refused,
        duplicate,
        malformed,
        ..
    } = summary;
    writeln!(
        io::stdout(),
        "applied {applied} refused {refused} duplicate {duplicate} malformed {malformed}"
    )?;
    Ok(if interrupted {
        eprintln!("interrupted before the end of the input; import it again to go on");
        ExitCode::from(INTERRUPTED)
    } else if *malformed > 0 {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

/// Opens the bank for reading; `None` if there is no bank yet, which reading must not change.
async fn open_existing(config: Option<&Path>) -> anyhow::Result<Option<Persistence>> {
    Ok(match config {
        Some(file) => Some(Persistence::from_config(file).await?),
        None if is_there(None) => Some(Persistence::sqlite(DEFAULT_DATABASE).await?),
        None => None,
    })
}

/// Returns whether there may be a bank; says so if there is none.
fn is_there(config: Option<&Path>) -> bool {
    let is_there = config.is_some() || Path::new(DEFAULT_DATABASE).exists();
    if !is_there {
        eprintln!("note: there is no {DEFAULT_DATABASE} in this directory yet");
    }
    is_there
}

/// Opens the bank with the table of balances, which is made if it does not exist.
async fn open_with_tables(config: Option<&Path>) -> anyhow::Result<Persistence> {
    let builder = match config {
        Some(file) => Persistence::builder().config(Config::from_file(file)?.with_environment()),
        None => Persistence::builder().sqlite(DEFAULT_DATABASE),
    };
    let persistence = builder.schema_steps(tables()).open().await?;
    persistence.ready().await?;
    Ok(persistence)
}

fn check_name(account: &str) -> anyhow::Result<()> {
    Account::id_of(account)
        .validate()
        .with_context(|| format!("the account {account:?} cannot be used"))
}

/// Returns whether the reader of our output has seen enough, as `head` does.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<io::Error>()
        .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
