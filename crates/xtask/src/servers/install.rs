//! Debian's package of a server, where it is missing and we may.

mod placed;

use std::env;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use actix_persistence_test_servers::Database;
use anyhow::Context;
use rustix::process::geteuid;

use crate::child;
use crate::progress::Step;
use placed::Placed;

const APT_GET: &str = "/usr/bin/apt-get";

/// The options of a command that installs one package for the whole machine, by the key of its database; what we call
/// with the rights of root.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// The key of a database in manifests.
    database: String,
}

/// Installs one package, as root.
pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let database = Database::ALL
        .into_iter()
        .find(|database| database.key() == options.database)
        .with_context(|| format!("there is no database {:?}", options.database))?;
    install(database.package())
}

/// Installs the package unless the programs are there.
///
/// As root or with a sudo that asks nothing, and with apt-get only: nothing else could be put back by the user's
/// package manager.
pub(super) fn if_missing(database: Database) -> anyhow::Result<()> {
    placed::remove_left();
    if database.is_installed() {
        return Ok(());
    }
    let package = database.package();
    let has_apt = Path::new(APT_GET).is_file();
    let is_root = geteuid().is_root();
    anyhow::ensure!(
        has_apt && (is_root || may_sudo()),
        "could not find its programs and may not install them, install the package `{package}` or give the URL of a \
         server in {}",
        database.variable()
    );
    let step = Step::start(format!(
        "INSTALLING the package {package} on this machine, for the tests of {database}"
    ));
    let outcome = if is_root {
        install(package)
    } else {
        install_by_sudo(database)
    };
    step.end(if outcome.is_ok() {
        "installed"
    } else {
        "FAILED"
    });
    outcome?;
    anyhow::ensure!(
        database.is_installed(),
        "could not find its programs though the package `{package}` is installed"
    );
    Ok(())
}

/// Returns whether `sudo` works without asking for a password.
fn may_sudo() -> bool {
    let mut command = Command::new("sudo");
    command.args(["-n", "true"]);
    quiet(&mut command)
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Lets root run this very program.
fn install_by_sudo(database: Database) -> anyhow::Result<()> {
    let this = env::current_exe().context("could not find this program")?;
    let mut command = Command::new("sudo");
    command
        .arg("-n")
        .arg(this)
        .args(["install-server", database.key()]);
    let status = to_the_end(&mut command).context("could not run sudo")?;
    anyhow::ensure!(
        status.success(),
        "could not install it, see what is said above"
    );
    Ok(())
}

/// Installs a package, which makes no database that runs and starts no server.
///
/// An interrupt ends us after that: a package manager that is killed leaves a machine to be repaired by hand.
fn install(package: &str) -> anyhow::Result<()> {
    child::undisturbed(|| {
        let _placed = Placed::all()?;
        let arguments = ["install", "-y", "--no-install-recommends", package];
        if apt_get(&arguments)? {
            return Ok(());
        }
        // A machine that has never asked for the lists of packages does not know the package.
        anyhow::ensure!(
            apt_get(&["update"])? && apt_get(&arguments)?,
            "could not install the package `{package}`, see what apt-get says above"
        );
        Ok(())
    })
}

fn apt_get(arguments: &[&str]) -> anyhow::Result<bool> {
    let mut command = Command::new(APT_GET);
    command
        .args(["-q", "-o", "DPkg::Lock::Timeout=120"])
        .args(arguments)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .env(placed::VARIABLE, "1");
    let status = to_the_end(&mut command).context("could not run apt-get")?;
    Ok(status.success())
}

/// Runs a command to its end; not even Ctrl-C on a terminal reaches it.
fn to_the_end(command: &mut Command) -> io::Result<ExitStatus> {
    quiet(command).process_group(0).status()
}

/// Standard output is for results.
fn quiet(command: &mut Command) -> &mut Command {
    command.stdin(Stdio::null()).stdout(io::stderr())
}
