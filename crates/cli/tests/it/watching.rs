//! Following the progress of a projection.

use std::io::{BufRead, BufReader};
use std::process::{ChildStdout, Stdio};

use actix_persistence::PersistenceId;
use actix_persistence::storage_api::Progress;
use rustix::process::{Pid, Signal, kill_process};

use crate::ledger::{Ledger, after, key, second};

#[test]
fn a_watch_ends_well_on_ctrl_c_and_writes_lines_without_a_terminal() {
    let ledger = Ledger::with_events(9);
    ledger.project(&key("mails"), 1, 4);
    for (words, expected, code) in [
        (
            &["watch", "mails", "--every", "0.05"][..],
            "mails@1: 4 handled, the last one of 1970-01-01T00:00:04Z, no process runs it",
            0,
        ),
        (
            &["watch", "mails", "--every", "0.05", "--until-caught-up"],
            "mails@1: 4 handled, behind by ",
            130,
        ),
    ] {
        let mut child = ledger
            .command(words)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let first = lines.next().unwrap().unwrap();
        assert!(first.starts_with(expected), "{first}");
        let later = lines.next().unwrap().unwrap();
        assert!(later.starts_with("mails@1: 4 handled, 0/s, "), "{later}");
        assert!(
            !later.contains('\x1b') && !later.contains('\r'),
            "{later:?}"
        );
        kill_process(Pid::from_child(&child), Signal::INT).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(code));
    }
}

#[test]
fn a_watch_whose_reader_has_gone_ends_well() {
    let ledger = Ledger::with_events(1);
    ledger.project(&key("mails"), 1, 1);
    let words = ["watch", "mails", "--every", "0.02"];
    let mut child = ledger
        .command(&words)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    lines.next().unwrap().unwrap();
    drop(lines);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_watch_until_caught_up_ends_with_what_was_stored_when_it_began() {
    let ledger = Ledger::with_events(9);
    let mails = key("mails");
    ledger.project(&mails, 1, 4);
    let words = ["watch", "mails", "--every", "0.02", "--until-caught-up"];
    let mut child = ledger
        .command(&words)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output: BufReader<ChildStdout> = BufReader::new(child.stdout.take().unwrap());
    let mut lines = output.lines();
    lines.next().unwrap().unwrap();
    // Stored since it began, so it is not waited for.
    ledger.block_on(ledger.add_events(10..=12));
    ledger.step(&mails, |mut commit| {
        commit.to = Progress::new(0..=1023, after(9).to_string());
        commit.with_handled(5).with_reached_time(second(9))
    });
    let last = lines.last().unwrap().unwrap();
    assert!(last.starts_with("mails@1: 9 handled, "), "{last}");
    assert!(last.contains("behind by"), "{last}");
    assert_eq!(child.wait().unwrap().code(), Some(0));
    ledger.step(&mails, |mut commit| {
        commit.to = Progress::new(0..=1023, after(12).to_string());
        commit
    });
    let said = ledger.output(&["watch", "mails", "--until-caught-up", "--journal", "books"]);
    assert_eq!(said, "mails@1: 9 handled, caught up, no process runs it\n");
}

#[test]
fn a_watch_until_caught_up_fails_for_what_does_not_go_on() {
    let ledger = Ledger::with_events(9);
    let mails = key("mails");
    ledger.project(&mails, 2, 4);
    ledger.halt(&mails, 1, "no route to host");
    let caught_up = ["watch", "mails", "--until-caught-up"];
    for expected in ["share 1 of mails@1 is halted", "mails@1 is paused"] {
        let output = ledger.run(&caught_up);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains(expected), "{said}");
        ledger.output(&["pause", "mails"]);
    }
}

#[test]
fn a_watch_until_caught_up_fails_where_events_wait() {
    let ledger = Ledger::with_events(9);
    let mails = key("mails");
    ledger.project(&mails, 1, 9);
    let caught_up = ["watch", "mails", "--until-caught-up"];
    ledger.output(&caught_up);
    ledger.park(&mails, &PersistenceId::of("Account", "1"));
    let output = ledger.run(&caught_up);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("mails@1 has 1 parked ids"), "{said}");
}
