//! Test programs: cargo builds them, we run them.
//!
//! `cargo test` could run them too, but would not say which of them crashed.

use std::num::NonZero;
use std::path::PathBuf;
use std::process::Command;
use std::{env, fmt, fs, thread};

use cargo_metadata::{Artifact, Message, Package, Target, TargetKind};

use super::Options;
use crate::child;
use crate::servers;
use crate::torture;
use crate::workspace;

/// The kind of a test program, in the order they run within a crate.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Unit,
    Kit,
    Integration(String),
}

/// A built test program.
pub(crate) struct TestProgram {
    crate_name: String,
    kind: Kind,
    package_name: String,
    directory: PathBuf,
    executable: PathBuf,
    servers: usize,
}

impl TestProgram {
    fn of_artifact(members: &[&Package], artifact: Artifact) -> Option<Self> {
        let executable = artifact.executable.filter(|_| artifact.profile.test)?;
        let package = members
            .iter()
            .find(|member| member.id == artifact.package_id)?;
        let is_test = artifact.target.is_kind(TargetKind::Test);
        let kind = match artifact.target.name.as_str() {
            workspace::KIT_TARGET if is_test => Kind::Kit,
            name if is_test => Kind::Integration(name.to_owned()),
            _ => Kind::Unit,
        };
        Some(Self {
            crate_name: workspace::short_name(package).to_owned(),
            kind,
            package_name: package.name.to_string(),
            directory: workspace::directory(package).to_path_buf(),
            executable: executable.into_std_path_buf(),
            servers: servers::needed_by(&[package]).len(),
        })
    }

    /// Returns the call of this program, in the place and with the variables that `cargo test` sets.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.executable);
        workspace::forget_own_package(&mut command);
        command
            .current_dir(&self.directory)
            .env("CARGO_MANIFEST_DIR", &self.directory)
            .env("CARGO_PKG_NAME", &self.package_name);
        if matches!(self.kind, Kind::Integration(_)) && env::var_os(THREADS).is_none() {
            command.env(THREADS, tests_at_once().to_string());
        }
        command
    }

    /// Returns whether this is the program of this name of a package: a file in its `tests`, or `lib`.
    pub(crate) fn is(&self, package: &str, name: &str) -> bool {
        let own = match &self.kind {
            Kind::Unit => "lib",
            Kind::Kit => workspace::KIT_TARGET,
            Kind::Integration(name) => name,
        };
        self.package_name == package && own == name
    }

    /// Returns the number of servers that its package needs.
    pub(crate) fn servers(&self) -> usize {
        self.servers
    }

    /// Returns the size of the program, in bytes.
    pub(crate) fn size(&self) -> u64 {
        fs::metadata(&self.executable).map_or(0, |file| file.len())
    }

    /// The crate whose conformance kit this is, if it is one.
    pub(crate) fn kit_of(&self) -> Option<&str> {
        (self.kind == Kind::Kit).then_some(&self.crate_name)
    }
}

/// The variable that sets the number of tests of a program that run at once.
const THREADS: &str = "RUST_TEST_THREADS";

/// Returns the number of tests of a program that run at once: more than there are cores, for they wait for servers,
/// disks and other processes.
fn tests_at_once() -> usize {
    2 * thread::available_parallelism().map_or(2, NonZero::get)
}

impl fmt::Display for TestProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Unit => write!(f, "{} unit tests", self.crate_name),
            Kind::Kit => write!(f, "{} {}", self.crate_name, workspace::KIT_TARGET),
            Kind::Integration(name) => write!(f, "{} tests/{name}", self.crate_name),
        }
    }
}

/// Builds the test programs of these packages with a call of `cargo test`; `None` if they do not compile, after cargo has said why.
pub(crate) fn build(
    mut command: Command,
    members: &[&Package],
    options: &Options,
) -> anyhow::Result<Option<Vec<TestProgram>>> {
    command.args(["--no-run", "--message-format=json-render-diagnostics"]);
    let is_wanted =
        |member: &Package| !options.quick || !options.packages.is_empty() || is_quick(member);
    let selected = select_packages(&mut command, members, options, is_wanted);
    if options.quick {
        select_quick_targets(&mut command, &selected);
    } else {
        // Cargo would build the examples of each package, too, which no test runs.
        command.arg("--tests");
    }
    let (status, messages) = child::output(command)?;
    if !status.success() {
        return Ok(None);
    }
    let mut programs = Vec::new();
    for message in Message::parse_stream(messages.as_slice()) {
        if let Message::CompilerArtifact(artifact) = message? {
            programs.extend(TestProgram::of_artifact(members, artifact));
        }
    }
    programs.sort_by(|a, b| (&a.directory, &a.kind).cmp(&(&b.directory, &b.kind)));
    Ok(Some(programs))
}

/// Adds to a cargo command the packages that are wanted, with all features, and returns them. If the whole workspace was asked
/// for, they are the workspace without the others, for that is how they were built before.
pub(crate) fn select_packages<'a>(
    command: &mut Command,
    members: &[&'a Package],
    options: &Options,
    is_wanted: impl Fn(&Package) -> bool,
) -> Vec<&'a Package> {
    let (wanted, others): (Vec<&Package>, Vec<&Package>) =
        members.iter().partition(|member| is_wanted(member));
    command.arg("--all-features");
    let (argument, packages) = match options.packages.is_empty() {
        true => {
            command.arg("--workspace");
            ("--exclude", &others)
        }
        false => ("--package", &wanted),
    };
    for package in packages {
        command.args([argument, package.name.as_str()]);
    }
    wanted
}

/// Returns whether a quick run of the whole workspace selects this package: not the torture, which takes long to compile for
/// a few unit tests, and no library without unit tests and kit, which cargo would compile as a test.
///
/// A package without a library stays selected, though nothing of it may be built: its dependencies give those of the others
/// the features that they have in a whole run, and cargo builds them once.
fn is_quick(package: &Package) -> bool {
    let has_unit_tests = package.targets.iter().any(|target| {
        target.test && (target.is_kind(TargetKind::Lib) || target.is_kind(TargetKind::Bin))
    });
    package.name.as_str() != torture::PACKAGE
        && (has_unit_tests || workspace::has_kit(package) || !workspace::has_library(package))
}

/// Cargo refuses to select a kind of target that no package has, and builds a library or a program that is selected by its
/// kind even if its manifest says that it has no tests.
fn select_quick_targets(command: &mut Command, members: &[&Package]) {
    let is_tested = |target: &&Target| target.is_kind(TargetKind::Bin) && target.test;
    let targets = members.iter().flat_map(|member| &member.targets);
    let mut selected: Vec<_> = targets
        .filter(is_tested)
        .map(|program| format!("--bin={}", program.name))
        .collect();
    if members.iter().any(|member| workspace::has_library(member)) {
        selected.push("--lib".to_owned());
    }
    if members.iter().any(|member| workspace::has_kit(member)) {
        selected.push(format!("--test={}", workspace::KIT_TARGET));
    }
    if selected.is_empty() {
        // Without a choice cargo would build everything.
        selected.push("--bins".to_owned());
    }
    command.args(selected);
}
