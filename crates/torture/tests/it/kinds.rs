//! Every kind on every backend, for some seconds, as `cargo xtask torture` runs it for minutes and hours.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use actix_persistence_torture::kinds::{corrupt, disk, power_loss};
use actix_persistence_torture::{Backend, Job, Kind, Settings, Summary, kinds, run};

use crate::scale::scaled;

/// A kind runs for so long on a backend, or longer, until it has had enough cycles.
const LENGTH: Duration = Duration::from_secs(2);
/// The length at full scale.
const FULL_LENGTH: Duration = Duration::from_secs(300);

fn settings() -> Settings {
    Settings {
        length: scaled(LENGTH, FULL_LENGTH),
        least_cycles: 1,
        seed: fastrand::u64(..),
        folder: Path::new(env!("CARGO_TARGET_TMPDIR")).join("torture"),
        program: PathBuf::from(env!("CARGO_BIN_EXE_torture")),
    }
}

/// Runs a kind with so many cycles at least, without any violation.
fn unviolated(kind: &str, backend: Backend, least_cycles: u64) -> Summary {
    let settings = Settings {
        least_cycles,
        ..settings()
    };
    let kind = kinds::named(kind).unwrap();
    let summary = run(Job { kind, backend }, &settings).unwrap();
    eprintln!("{summary}");
    assert_eq!(summary.violations, 0, "{:#?}", summary.found);
    assert!(
        summary.cycles >= least_cycles && summary.acknowledged > 0,
        "no torture: {summary:?}"
    );
    summary
}

/// Nothing acknowledged is lost or doubled, and no look shows a state that never was.
fn fight(backend: Backend) {
    unviolated("fight", backend, 10);
}

/// Whatever code of the application does in the stores, no answer is untrue, and nobody waits for long.
fn handlers(backend: Backend) {
    let done = unviolated("handlers", backend, 1);
    assert!(
        done.acknowledged > 50 && done.figures.contains_key("not stored"),
        "no mischief: {done:?}"
    );
}

/// Whatever the application was doing, nothing acknowledged is lost and nothing is half.
fn kill_app(backend: Backend) {
    unviolated("kill-app", backend, 20);
}

/// The application goes on by itself, and nothing acknowledged is lost.
fn kill_server(backend: Backend) {
    unviolated("kill-server", backend, 2);
}

/// The application goes on by itself, and what arrives late does no harm.
fn hang_server(backend: Backend) {
    unviolated("hang-server", backend, 2);
}

/// Whatever a simulated storage does, nothing acknowledged is lost, and in the end every id works.
fn sim(backend: Backend) {
    let done = unviolated("sim", backend, 10);
    assert!(
        done.acknowledged > 200 && done.figures["kills"] > 0,
        "no histories: {done:?}"
    );
}

/// Whatever a disk holds after a loss of power, nothing acknowledged is lost, and the product opens it or says why not.
fn power_loss(backend: Backend) {
    // States are stored in one transaction by chance, on a slow machine not in every run.
    for _ in 0..20 {
        let done = unviolated("power-loss", backend, 200);
        let figures = ["opened by the product", "groups of states"];
        if figures.iter().all(|name| done.figures.contains_key(*name)) {
            return;
        }
    }
    panic!("too little");
}

/// Whatever operation of the disk fails, the program goes on, and what it was told holds.
fn disk(backend: Backend) {
    let done = unviolated("disk", backend, 4);
    assert!(done.acknowledged > 50, "too little: {done:?}");
}

/// Whatever is damaged, a reader gets what was written, or an error.
fn corrupt(backend: Backend) {
    let done = unviolated("corrupt", backend, 12);
    assert!(done.figures.contains_key("refused"), "too little: {done:?}");
}

/// Each reader is shown the last change of every state, whoever writes or is killed meanwhile.
fn readers(backend: Backend) {
    let done = unviolated("readers", backend, 2);
    // Foreign transactions and killed servers come by chance, and so few cycles may have either alone.
    assert!(
        done.figures["changes shown"] > 100,
        "nothing to read: {done:?}"
    );
}

/// Wherever the network is cut, the application goes on by itself, and nothing acknowledged is lost.
fn proxy(backend: Backend) {
    let done = unviolated("proxy", backend, 10);
    assert!(done.figures["cuts at offsets"] > 2, "no cuts: {done:?}");
}

/// All actors of a storm are answered and gone, and nothing acknowledged is lost.
fn storm(backend: Backend) {
    let done = unviolated("storm", backend, 4);
    assert!(
        done.figures["actors"] > 1_000 && done.figures["panics in a replay"] > 0,
        "no storm: {done:?}"
    );
}

/// Whenever everything is stopped, nothing acknowledged is lost, and the process ends in time.
fn stop(backend: Backend) {
    let done = unviolated("stop", backend, 12);
    let count = |figure| done.figures.get(figure).copied().unwrap_or(0);
    assert!(
        count("complete stops") + count("cut stops") > 6,
        "no stops: {done:?}"
    );
}

/// Whichever future is dropped, nothing acknowledged is lost, and nothing stays held.
fn cancel(backend: Backend) {
    unviolated("cancel", backend, 200);
}

/// Whichever arbiter ends, nothing acknowledged is lost, and whoever waits is told.
fn arbiters(backend: Backend) {
    unviolated("arbiters", backend, 10);
}

/// Programs of several versions on the same ids lose nothing, and refuse what they cannot read.
fn rolling(backend: Backend) {
    let done = unviolated("rolling", backend, 2);
    assert!(done.acknowledged > 50, "too little: {done:?}");
}

/// Whatever key is destroyed and whoever is killed, everything keeps its value, its metadata and its tags, or is shredded.
fn sealed(backend: Backend) {
    let done = unviolated("sealed", backend, 4);
    let figures = ["keys destroyed", "encrypted", "plain", "tags"];
    assert!(
        figures.iter().all(|name| done.figures.contains_key(*name)),
        "too little: {done:?}"
    );
}

/// Whatever stores a process finds, it is right or refuses.
fn config(backend: Backend) {
    let done = unviolated("config", backend, 12);
    assert!(done.acknowledged > 20, "too little: {done:?}");
}

/// Whatever the wall clocks of processes do, nothing is lost, and readers of changes are shown everything, in order.
fn clock(backend: Backend) {
    let done = unviolated("clock", backend, 3);
    assert!(
        done.figures.contains_key("jumps") && done.figures.contains_key("ticks"),
        "too little: {done:?}"
    );
}

/// Makes tests of the functions above, in a module for each backend.
macro_rules! on {
    ($($database:ident $backend:ident: $($kind:ident)*;)*) => {
        $(
            mod $database {
                $(
                    #[test]
                    fn $kind() {
                        super::$kind(super::Backend::$backend);
                    }
                )*
            }
        )*
    };
}

on! {
    sqlite Sqlite: fight handlers kill_app power_loss disk corrupt readers storm stop cancel arbiters rolling sealed config clock;
    postgres Postgres: fight handlers kill_app kill_server hang_server corrupt readers proxy storm stop cancel arbiters rolling sealed config clock;
    mysql Mysql: fight handlers kill_app kill_server hang_server corrupt readers proxy storm stop cancel arbiters rolling sealed config clock;
    memory Memory: sim storm cancel;
}

/// Runs a kind in which something is wrong on purpose.
fn found(kind: &'static Kind) -> Summary {
    let job = Job {
        kind,
        backend: Backend::Sqlite,
    };
    // It ends when something is found.
    let length = Duration::from_secs(120);
    let summary = run(
        job,
        &Settings {
            length,
            ..settings()
        },
    )
    .unwrap();
    eprintln!("{summary}\n{:#?}", summary.found);
    assert!(summary.violations > 0, "it was not found: {summary:?}");
    summary
}

#[test]
fn a_program_that_does_not_wait_for_the_disk_is_found() {
    assert!(found(&power_loss::WITHOUT_SYNC).lost > 0);
}

#[test]
fn a_disk_that_lies_is_found() {
    found(&power_loss::LYING_DISK);
}

#[test]
fn a_program_that_calls_every_write_confirmed_is_found() {
    found(&disk::HASTY);
}

#[test]
fn a_reader_that_does_not_look_at_checksums_is_found() {
    found(&corrupt::UNCHECKED);
}

#[test]
fn every_kind_has_a_test_on_each_of_its_backends() {
    let tests = Command::new(std::env::current_exe().unwrap())
        .arg("--list")
        .output()
        .unwrap();
    let tests = String::from_utf8(tests.stdout).unwrap();
    for kind in actix_persistence_torture::KINDS {
        for backend in kind.backends {
            let test = format!("kinds::{backend}::{}: test", kind.name.replace('-', "_"));
            assert!(tests.contains(&test), "there is no {test}");
        }
    }
}

#[test]
fn a_command_that_names_no_kind_is_told_which_there_are() {
    let output = Command::new(env!("CARGO_BIN_EXE_torture"))
        .args(["run", "brawl"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(
        text.contains("there is no kind 'brawl', but fight"),
        "{text}"
    );
}
