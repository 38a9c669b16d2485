//! Debian's package of a server, where it is missing and we may.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use actix_persistence_test_servers::Database;
use anyhow::Context;
use rustix::process::geteuid;

use crate::child;
use crate::progress::{self, Step};

const APT_GET: &str = "/usr/bin/apt-get";
/// Read by the maintainer scripts of Debian's PostgreSQL.
const CLUSTER_SETTINGS: &str = "/etc/postgresql-common/createcluster.d";
const NO_CLUSTER: &str = "actix-persistence-tests.conf";
/// Asked by the maintainer scripts of every package before they start a server.
const START_POLICY: &str = "/usr/sbin/policy-rc.d";
/// "Forbidden by policy".
const START_NOTHING: &str = "#!/bin/sh\nexit 101\n";

/// Installs the package unless the programs are there.
///
/// As root only, and with apt-get only; nothing else could be put back by the user's package manager.
pub(super) fn if_missing(database: Database) -> anyhow::Result<()> {
    if database.is_installed() {
        return Ok(());
    }
    let package = database.package();
    anyhow::ensure!(
        geteuid().is_root() && Path::new(APT_GET).is_file(),
        "could not find its programs, install the package `{package}` or give the URL of a server in {}",
        database.variable()
    );
    let step = Step::start(format!("installing the package {package}"));
    let outcome = without_a_cluster(|| install(package));
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

/// A machine that has never asked for the lists of packages does not know the package.
fn install(package: &str) -> anyhow::Result<()> {
    let arguments = ["install", "-y", "--no-install-recommends", package];
    if apt_get(&arguments)? {
        return Ok(());
    }
    anyhow::ensure!(
        apt_get(&["update"])? && apt_get(&arguments)?,
        "could not install the package `{package}`, see what apt-get says above"
    );
    Ok(())
}

fn apt_get(arguments: &[&str]) -> anyhow::Result<bool> {
    let mut command = Command::new(APT_GET);
    command
        .args(["-q", "-o", "DPkg::Lock::Timeout=120"])
        .args(arguments)
        .env("DEBIAN_FRONTEND", "noninteractive");
    // Standard output is for results.
    let status = child::lines(command, |heard| {
        if let child::Report::Line(line) = heard {
            eprintln!("{line}");
        }
    });
    Ok(status.context("could not run apt-get")?.success())
}

/// Keeps the package from making a database of its own, and from starting it.
fn without_a_cluster(install: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<()> {
    let settings = Path::new(CLUSTER_SETTINGS);
    fs::create_dir_all(settings)
        .with_context(|| format!("could not make {}", settings.display()))?;
    let cluster = Removed::put(
        &settings.join(NO_CLUSTER),
        "create_main_cluster = false\n",
        0o644,
    )?;
    // One that somebody else put there may know better.
    let start = if Path::new(START_POLICY).exists() {
        None
    } else {
        Some(Removed::put(Path::new(START_POLICY), START_NOTHING, 0o755)?)
    };
    let outcome = install();
    drop((cluster, start));
    // Stays if others have put something there.
    let _ = fs::remove_dir(settings);
    outcome
}

/// A file that is there for a while.
struct Removed(PathBuf);

impl Removed {
    fn put(path: &Path, text: &str, mode: u32) -> anyhow::Result<Self> {
        let put = || {
            fs::write(path, text)?;
            fs::set_permissions(path, Permissions::from_mode(mode))
        };
        put().with_context(|| format!("could not write {}", path.display()))?;
        Ok(Self(path.to_path_buf()))
    }
}

impl Drop for Removed {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(&self.0) {
            progress::note(format_args!(
                "WARNING: could not remove {}, do it by hand: {error}",
                self.0.display()
            ));
        }
    }
}
