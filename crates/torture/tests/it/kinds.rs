//! Every kind on every backend, for some seconds, as `cargo xtask torture` runs it for minutes and hours.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use actix_persistence_torture::kinds::{corrupt, disk, power_loss};
use actix_persistence_torture::{Backend, Job, Kind, Settings, Summary, kinds, run};

use crate::scale::scaled;

/// A kind runs for so long on a backend, or longer, until it has had enough cycles: these, and not the time, are what a
/// test asks for.
const LENGTH: Duration = Duration::from_millis(500);
/// The length at full scale.
const FULL_LENGTH: Duration = Duration::from_secs(300);

fn settings() -> Settings {
    Settings {
        length: scaled(LENGTH, FULL_LENGTH),
        least_cycles: 1,
        enough: |_| true,
        seed: fastrand::u64(..),
        folder: Path::new(env!("CARGO_TARGET_TMPDIR")).join("torture"),
        program: PathBuf::from(env!("CARGO_BIN_EXE_torture")),
    }
}

/// Runs a kind with so many cycles at least, without any violation.
fn unviolated(kind: &str, backend: Backend, least_cycles: u64) {
    unviolated_until(kind, backend, least_cycles, |_| true);
}

/// Does the same until the run has had enough: what comes by chance is not in every short run, and in every long one.
fn unviolated_until(kind: &str, backend: Backend, least_cycles: u64, enough: fn(&Summary) -> bool) {
    let settings = Settings {
        least_cycles,
        enough,
        ..settings()
    };
    let kind = kinds::named(kind).unwrap();
    let summary = run(Job { kind, backend }, &settings).unwrap();
    eprintln!("{summary}");
    // The sentences are the last lines of the failure.
    assert!(summary.violations == 0, "{}", summary.found.join("\n"));
    assert!(
        summary.cycles >= least_cycles && summary.acknowledged > 0,
        "no torture: {summary:?}"
    );
    assert!(enough(&summary), "too little: {summary:#?}");
}

/// Returns how much of it there was.
fn count(done: &Summary, figure: &str) -> u64 {
    done.figures.get(figure).copied().unwrap_or(0)
}

/// Nothing acknowledged is lost or doubled, and no look shows a state that never was.
fn fight(backend: Backend) {
    unviolated("fight", backend, 10);
}

/// Whatever code of the application does in the stores, no answer is untrue, and nobody waits for long.
fn handlers(backend: Backend) {
    unviolated_until("handlers", backend, 1, |done| {
        done.acknowledged > 50 && count(done, "not stored") > 0
    });
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
    unviolated_until("sim", backend, 10, |done| {
        done.acknowledged > 200 && count(done, "kills") > 0
    });
}

/// Whatever a disk holds after a loss of power, nothing acknowledged is lost, and the product opens it or says why not.
fn power_loss(backend: Backend) {
    unviolated_until("power-loss", backend, 200, |done| {
        count(done, "opened by the product") > 0 && count(done, "groups of states") > 0
    });
}

/// Whatever operation of the disk fails, the program goes on, and what it was told holds.
fn disk(backend: Backend) {
    unviolated_until("disk", backend, 4, |done| done.acknowledged > 50);
}

/// Whatever is damaged, a reader gets what was written, or an error.
fn corrupt(backend: Backend) {
    unviolated_until("corrupt", backend, 12, |done| count(done, "refused") > 0);
}

/// Each reader is shown the last change of every state, whoever writes or is killed meanwhile.
fn readers(backend: Backend) {
    unviolated_until("readers", backend, 2, |done| {
        count(done, "changes shown") > 100
    });
}

/// Every event is projected, whoever is killed: exactly once, or at least once.
fn projections(backend: Backend) {
    unviolated_until("projections", backend, 3, |done| {
        let killed = count(done, "processes killed");
        scaled(killed > 2 && done.acknowledged > 100, killed >= 50)
    });
}

/// Wherever the network is cut, the application goes on by itself, and nothing acknowledged is lost.
fn proxy(backend: Backend) {
    unviolated_until("proxy", backend, 10, |done| {
        count(done, "cuts at offsets") > 2
    });
}

/// All actors of a storm are answered and gone, and nothing acknowledged is lost.
fn storm(backend: Backend) {
    unviolated_until("storm", backend, 4, |done| {
        count(done, "actors") > 1_000 && count(done, "panics in a replay") > 0
    });
}

/// Whenever everything is stopped, nothing acknowledged is lost, and the process ends in time.
fn stop(backend: Backend) {
    unviolated_until("stop", backend, 12, |done| {
        count(done, "complete stops") + count(done, "cut stops") > 6
    });
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
    unviolated_until("rolling", backend, 2, |done| done.acknowledged > 50);
}

/// Whatever key is destroyed and whoever is killed, everything keeps its value, its metadata and its tags, or is shredded.
fn sealed(backend: Backend) {
    unviolated_until("sealed", backend, 4, |done| {
        ["keys destroyed", "encrypted", "plain", "tags"]
            .iter()
            .all(|figure| count(done, figure) > 0)
    });
}

/// Whatever stores a process finds, it is right or refuses.
fn config(backend: Backend) {
    unviolated_until("config", backend, 12, |done| done.acknowledged > 20);
}

/// Whatever the wall clocks of processes do, nothing is lost, and readers of changes are shown everything, in order.
fn clock(backend: Backend) {
    unviolated_until("clock", backend, 3, |done| {
        count(done, "jumps") > 0 && count(done, "ticks") > 0
    });
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
    sqlite Sqlite: fight handlers kill_app power_loss disk corrupt readers projections storm stop cancel arbiters rolling sealed config clock;
    postgres Postgres: fight handlers kill_app kill_server hang_server corrupt readers projections proxy storm stop cancel arbiters rolling sealed config clock;
    mysql Mysql: fight handlers kill_app kill_server hang_server corrupt readers projections proxy storm stop cancel arbiters rolling sealed config clock;
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
