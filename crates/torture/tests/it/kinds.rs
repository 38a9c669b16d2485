//! Every kind on every backend, for some seconds, as `cargo xtask torture` runs it for minutes and hours.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use actix_persistence_torture::kinds::{corrupt, disk, power_loss};
use actix_persistence_torture::{Backend, Job, Kind, Settings, Summary, kinds, run};

/// How long a kind runs on a backend. What it has to show by then is in its test.
const LENGTH: Duration = Duration::from_secs(5);

fn settings() -> Settings {
    Settings {
        length: LENGTH,
        seed: fastrand::u64(..),
        folder: Path::new(env!("CARGO_TARGET_TMPDIR")).join("torture"),
        program: PathBuf::from(env!("CARGO_BIN_EXE_torture")),
    }
}

/// Runs a kind, and gives what it has done without any violation.
fn unviolated(kind: &str, backend: Backend) -> Summary {
    let kind = kinds::named(kind).unwrap();
    let summary = run(Job { kind, backend }, &settings()).unwrap();
    eprintln!("{summary}");
    assert_eq!(summary.violations, 0, "{:#?}", summary.found);
    summary
}

/// Nothing acknowledged is lost or doubled, and no look shows a state that never was.
fn fight(backend: Backend) {
    let done = unviolated("fight", backend);
    assert!(
        done.acknowledged > 50 && done.figures.contains_key("conflicts"),
        "no fight: {done:?}"
    );
}

/// Whatever a disk holds after a loss of power, nothing acknowledged is lost, and the product opens it or says why not.
fn power_loss(backend: Backend) {
    let done = unviolated("power-loss", backend);
    assert!(
        done.cycles > 200 && done.figures.contains_key("opened by the product"),
        "too little: {done:?}"
    );
}

/// Whatever operation of the disk fails, the program goes on, and what it was told holds.
fn disk(backend: Backend) {
    let done = unviolated("disk", backend);
    assert!(
        done.cycles > 4 && done.acknowledged > 50,
        "too little: {done:?}"
    );
}

/// Whatever is damaged, a reader gets what was written, or an error.
fn corrupt(backend: Backend) {
    let done = unviolated("corrupt", backend);
    assert!(
        done.cycles > 12 && done.figures.contains_key("refused"),
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
    sqlite Sqlite: fight power_loss disk corrupt;
    postgres Postgres: fight;
    mysql Mysql: fight;
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
fn a_program_that_calls_an_unknown_write_not_stored_is_found() {
    found(&disk::OVERSURE);
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
