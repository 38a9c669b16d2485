//! Tests that each command prints what it should, and that the sample of the README works.

use std::io::{Read, Write};
use std::process::Stdio;

use crate::bank::{Bank, feed};
use crate::import::signal;

const FILE: &str = "id,account,kind,cents\n\
                    a,DE-1,deposit,500\n\
                    b,DE-1,withdraw,700\n\
                    c,DE-1,withdraw,200\n\
                    c,DE-1,withdraw,200\n\
                    a,DE-2,deposit,1\n";

fn with_file() -> Bank {
    let bank = Bank::new();
    bank.write("file.csv", FILE);
    bank
}

#[test]
fn an_import_counts_what_became_of_every_line() {
    let bank = with_file();
    let first = bank.stdout_of(&["import", "file.csv"]);
    assert_eq!(first, "applied 3 refused 1 duplicate 1 malformed 0\n");
    let second = bank.stdout_of(&["import", "file.csv"]);
    assert_eq!(second, "applied 0 refused 0 duplicate 5 malformed 0\n");
}

#[test]
fn balance_prints_cents_and_nothing_else() {
    let bank = with_file();
    bank.stdout_of(&["import", "file.csv"]);
    assert_eq!(bank.stdout_of(&["balance", "DE-1"]), "300\n");
    assert_eq!(bank.stdout_of(&["balance", "DE-2"]), "1\n");
    assert_eq!(bank.stdout_of(&["balance", "never-seen"]), "0\n");
}

#[test]
fn history_prints_a_line_per_event() {
    let bank = with_file();
    bank.stdout_of(&["import", "file.csv"]);
    let history = bank.stdout_of(&["history", "DE-1"]);
    let lines =
        "1\tdeposit\t500\ta\tapplied\n2\twithdraw\t700\tb\trefused\n3\twithdraw\t200\tc\tapplied\n";
    assert_eq!(history, lines);
    assert_eq!(bank.stdout_of(&["history", "never-seen"]), "");
}

#[test]
fn reading_leaves_no_trace() {
    let bank = Bank::new();
    assert_eq!(bank.stdout_of(&["balance", "DE-1"]), "0\n");
    assert_eq!(bank.stdout_of(&["history", "DE-1"]), "");
    assert!(!bank.path("bank.db").exists());
}

#[test]
fn an_import_reads_standard_input() {
    let bank = Bank::new();
    let child = bank
        .command(&["import", "-"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let output = feed(child, FILE);
    assert!(output.status.success());
    assert_eq!(
        output.stdout,
        b"applied 3 refused 1 duplicate 1 malformed 0\n"
    );
}

#[test]
fn malformed_lines_are_named_and_skipped_and_make_the_import_fail() {
    let bank = Bank::new();
    bank.write(
        "file.csv",
        "id,account,kind,cents\nx,DE-1,steal,5\ny,DE-1,deposit,5\nz,,deposit,5\n",
    );
    let output = bank.run(&["import", "file.csv"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        output.stdout,
        b"applied 1 refused 0 duplicate 0 malformed 2\n"
    );
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(
        stderr.contains("line 2: the kind is deposit or withdraw"),
        "{stderr}"
    );
    assert!(
        stderr.contains("line 4: the account \"\" cannot be used"),
        "{stderr}"
    );
    assert_eq!(bank.stdout_of(&["balance", "DE-1"]), "5\n");
}

#[test]
fn snapshots_shorten_recovery_and_change_no_balance() {
    let bank = Bank::new();
    let lines: String = (1..=250).map(|n| format!("{n},DE-1,deposit,1\n")).collect();
    bank.write("file.csv", format!("id,account,kind,cents\n{lines}"));
    bank.stdout_of(&["import", "file.csv"]);
    assert_eq!(bank.stdout_of(&["balance", "DE-1"]), "250\n");
    // One is kept; the end of the program may cut a round short, which leaves the one before it.
    let snapshots = bank.snapshot_numbers();
    assert!(
        matches!(snapshots[..], [latest] | [_, latest] if latest >= 100),
        "{snapshots:?}"
    );
    let again = bank.stdout_of(&["import", "file.csv"]);
    assert_eq!(again, "applied 0 refused 0 duplicate 250 malformed 0\n");
}

#[test]
fn the_sample_file_imports_cleanly() {
    let bank = Bank::new();
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/sample.csv");
    let summary = bank.stdout_of(&["import", sample]);
    assert!(summary.ends_with("duplicate 2 malformed 0\n"), "{summary}");
}

#[test]
fn a_config_file_chooses_another_database() {
    let bank = with_file();
    bank.write(
        "bank.toml",
        "[persistence.journal]\nplugin = \"other\"\n[persistence.journal.other]\nkind = \"sqlite\"\nurl = \"sqlite://other.db\"\n\
         [persistence.snapshot-store]\nplugin = \"other\"\n[persistence.snapshot-store.other]\nkind = \"sqlite\"\nurl = \"sqlite://other.db\"\n",
    );
    bank.stdout_of(&["--config", "bank.toml", "import", "file.csv"]);
    assert!(bank.path("other.db").exists() && !bank.path("bank.db").exists());
    assert_eq!(
        bank.stdout_of(&["--config", "bank.toml", "balance", "DE-1"]),
        "300\n"
    );
}

#[test]
fn ctrl_c_ends_an_import_well() {
    let bank = Bank::new();
    let mut child = bank
        .command(&["import", "-"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut stdin, b"id,account,kind,cents\na,DE-1,deposit,5\n").unwrap();
    // The booking is visible in the database before the signal is sent; the input stays open.
    while !bank.path("bank.db").exists() || bank.try_balance("DE-1") != Some(5) {
        assert!(
            child.try_wait().unwrap().is_none(),
            "the import ended by itself"
        );
    }
    signal(&child, "INT");
    let status = child.wait().unwrap();
    // Open until now: what ended the import is the signal, not the end of its input.
    drop(stdin);
    let mut printed = String::new();
    child
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut printed)
        .unwrap();
    assert_eq!(status.code(), Some(130), "{printed}");
    assert_eq!(printed, "applied 1 refused 0 duplicate 0 malformed 0\n");
}

#[test]
fn ctrl_c_in_the_middle_of_the_work_stores_exactly_what_was_acknowledged() {
    let bank = Bank::new();
    let mut child = bank
        .command(&["import", "-"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // More lines than it reads before it is interrupted: the input ends when the program does.
    let feeder = std::thread::spawn(move || {
        let _ = writeln!(stdin, "id,account,kind,cents");
        (0_u64..)
            .take_while(|n| writeln!(stdin, "{n},DE-{},deposit,1", n % 50).is_ok())
            .count()
    });
    while !bank.path("bank.db").exists() || bank.try_balance("DE-1").is_none_or(|cents| cents == 0)
    {
        assert!(
            child.try_wait().unwrap().is_none(),
            "the import ended by itself"
        );
    }
    signal(&child, "INT");
    let output = child.wait_with_output().unwrap();
    feeder.join().unwrap();
    let (printed, errors) = (
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    );
    assert_eq!(output.status.code(), Some(130), "{errors}");
    assert!(
        errors.contains("interrupted before the end of the input"),
        "{errors}"
    );
    let stored = bank.count("SELECT COUNT(*) FROM event_journal");
    assert_eq!(
        printed,
        format!("applied {stored} refused 0 duplicate 0 malformed 0\n")
    );
}
