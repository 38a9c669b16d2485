//! `cargo xtask torture [KIND]`: features against each other and against faults, for as long as one likes.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use actix_persistence_test_servers::Database;

use crate::built;
use crate::child;
use crate::planted;
use crate::servers::Servers;
use crate::sums::LEDGER;
use crate::workspace::{self, Workspace};

/// The package of the torture.
pub(crate) const PACKAGE: &str = "actix-persistence-torture";

/// The arguments of the task; the program `torture` reads most of them.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Builds it without optimisation, as the tests have it.
    #[arg(long)]
    debug: bool,
    /// Does not enter runs of three minutes and more in `docs/reliability/ledger.jsonl`; nothing is entered while there
    /// are changes that are not committed.
    #[arg(long)]
    no_ledger: bool,
    /// `[KIND] [--backend B] [--for DURATION] [--seed N] [--json FILE]`; `-- --help` explains them.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

/// Builds the torture, starts the servers that it needs, and ends with its exit status.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let workspace = Workspace::load()?;
    let Some(program) = build(options.debug, None)? else {
        return Ok(ExitCode::FAILURE);
    };
    let torture = |task: &str| {
        let mut command = Command::new(&program);
        workspace::forget_own_package(&mut command);
        command.arg(task).args(&options.arguments);
        command
    };
    let (status, backends) = child::output(torture("plan"))?;
    if !status.success() || is_help(&options.arguments) {
        print!("{}", String::from_utf8_lossy(&backends));
        return Ok(exit_code(status.code()));
    }
    let backends = String::from_utf8_lossy(&backends);
    let needed = Database::ALL
        .into_iter()
        .filter(|database| backends.lines().any(|backend| backend == database.key()));
    let servers = Servers::start(&workspace, needed.collect());
    let mut command = torture("run");
    command.arg("--keep");
    command.arg(workspace.metadata.target_directory.join("torture"));
    if !options.no_ledger
        && let Some(commit) = commit_without_changes()?
    {
        let ledger = workspace::root().join(LEDGER);
        command.arg("--ledger").arg(ledger);
        command.arg("--commit").arg(commit);
    }
    servers.tell(&mut command);
    let status = child::run(command)?;
    servers.warn();
    Ok(exit_code(status.code()))
}

fn is_help(arguments: &[OsString]) -> bool {
    arguments.iter().any(|one| one == "--help" || one == "-h")
}

fn exit_code(code: Option<i32>) -> ExitCode {
    code.and_then(|code| u8::try_from(code).ok())
        .map_or(ExitCode::FAILURE, ExitCode::from)
}

/// Returns the program; none if it does not compile. It may be built of a copy of the sources, in a target folder of
/// its own.
pub(crate) fn build(debug: bool, copy: Option<(&Path, &Path)>) -> anyhow::Result<Option<PathBuf>> {
    let mut command = workspace::cargo("build");
    command.args(["--package", PACKAGE, "--bin", "torture"]);
    if !debug {
        command.arg("--release");
    }
    if let Some((sources, target)) = copy {
        planted::build_there(&mut command, sources, target);
    }
    built::program("building the torture", command)
}

/// The commit of the checkout, if what was built is that commit and nothing else.
fn commit_without_changes() -> anyhow::Result<Option<String>> {
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command.args(arguments).current_dir(workspace::root());
        child::output(command)
    };
    // The ledger itself grows with every run.
    let others = format!(":!{LEDGER}");
    let (status, changes) = git(&["status", "--porcelain", "--", ".", &others])?;
    if !status.success() || !changes.is_empty() {
        return Ok(None);
    }
    let (status, commit) = git(&["rev-parse", "--short=12", "HEAD"])?;
    let commit = String::from_utf8_lossy(&commit).trim().to_owned();
    Ok(status.success().then_some(commit))
}
