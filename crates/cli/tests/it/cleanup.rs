//! Deleting what actors stored.

use std::io::Write;
use std::process::Stdio;

use crate::bank::Bank;

const ACCOUNTS: [&str; 2] = ["Account|0", "Account|1"];

fn with_ids<'a>(words: &[&'a str]) -> Vec<&'a str> {
    [words, &ACCOUNTS].concat()
}

#[test]
fn a_dry_run_tells_what_would_be_deleted_and_deletes_nothing() {
    let bank = Bank::with_accounts(2);
    for (words, expected) in [
        (&["events-to", "4"][..], "events 1 to 4"),
        (&["events-before", "1970-01-01T00:00:03Z"], "events 1 to 2"),
        (&["events-before", "1970-01-01"], "nothing"),
        (&["all-events"], "events 1 to 5"),
        (&["snapshots"], "snapshots up to 3"),
        (&["snapshots", "--to", "2"], "nothing"),
        (&["before-snapshot"], "events 1 to 3"),
        (&["all"], "events 1 to 5, snapshots up to 3"),
        (
            &["all", "--reset-numbers"],
            "events 1 to 5, snapshots up to 3, numbers start again after 5",
        ),
        (&["state"], "the state at revision 1"),
    ] {
        let words = with_ids(&[words, &["--dry-run"]].concat());
        let lines = ACCOUNTS.map(|id| format!("{id}: {expected}\n"));
        assert_eq!(bank.output(&words), lines.concat(), "{words:?}");
    }
    let words = with_ids(&["all-events", "--dry-run", "--skip", "1"]);
    assert_eq!(bank.output(&words), "Account|1: events 1 to 5\n");
    assert_eq!(bank.streams(2), vec![((1..=5).collect(), 5); 2]);
}

#[test]
fn every_command_does_what_it_says_and_the_same_when_it_is_run_again() {
    for (words, expected) in [
        (&["events-to", "4"][..], (vec![5], 5)),
        (
            &["events-before", "1970-01-01T00:00:03Z"],
            (vec![3, 4, 5], 5),
        ),
        (&["all-events"], (vec![], 5)),
        (&["all-events", "--reset-numbers"], (vec![], 0)),
        (&["before-snapshot"], (vec![4, 5], 5)),
        (&["all"], (vec![], 5)),
        (&["all", "--reset-numbers"], (vec![], 0)),
        (&["snapshots"], (vec![1, 2, 3, 4, 5], 5)),
        (&["state"], (vec![1, 2, 3, 4, 5], 5)),
    ] {
        let bank = Bank::with_accounts(3);
        let words = with_ids(&[words, &["--yes"]].concat());
        for _ in 0..2 {
            let said = bank.output(&words);
            assert!(said.starts_with("cleaned up 2 ids in "), "{said}");
            let streams = bank.streams(3);
            assert_eq!(
                streams[..2],
                [expected.clone(), expected.clone()],
                "{words:?}"
            );
            assert_eq!(streams[2], ((1..=5).collect(), 5), "{words:?}");
        }
    }
}

#[test]
fn a_state_leaves_its_revision_or_nothing() {
    let bank = Bank::with_accounts(2);
    for _ in 0..2 {
        bank.output(&["state", "--yes", "Account|0"]);
        assert_eq!(bank.state(0), (2, false));
        bank.output(&["state", "--yes", "--reset-numbers", "Account|1"]);
        assert_eq!(bank.state(1), (0, false));
    }
}

/// Returns what there is of an account: its events, snapshots and state.
fn what_is_left(bank: &Bank) -> [bool; 3] {
    let snapshots = bank.output(&["snapshots", "--dry-run", "Account|0"]);
    let (events, _) = &bank.streams(1)[0];
    [
        !events.is_empty(),
        snapshots == "Account|0: snapshots up to 3\n",
        bank.state(0).1,
    ]
}

#[test]
fn the_stores_that_are_named_are_cleaned_up_and_no_other() {
    let (bank, other) = (Bank::with_accounts(1), Bank::with_accounts(1));
    let url = format!("sqlite://{}", other.file().display());
    for store in ["journal", "snapshot-store", "state"] {
        bank.add_to_config(&format!(
            "[persistence.{store}.other]\nkind = \"sqlite\"\nurl = \"{url}\"\n"
        ));
    }
    let mut left = [true; 3];
    for (position, (task, option)) in [
        ("all-events", "--journal"),
        ("snapshots", "--snapshot-store"),
        ("state", "--state-store"),
    ]
    .into_iter()
    .enumerate()
    {
        bank.output(&[task, option, "other", "--yes", "Account|0"]);
        left[position] = false;
        assert_eq!(what_is_left(&other), left, "{task}");
        assert_eq!(what_is_left(&bank), [true; 3], "{task}");
    }
}

#[test]
fn a_variable_of_the_environment_names_another_database() {
    let (bank, other) = (Bank::with_accounts(1), Bank::with_accounts(1));
    let url = format!("sqlite://{}", other.file().display());
    let output = bank
        .command(&["all-events", "--yes", "Account|0"])
        .env("ACTIX_PERSISTENCE__JOURNAL__BANK__URL", url)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(what_is_left(&other), [false, true, true]);
    assert_eq!(what_is_left(&bank), [true; 3]);
}

#[test]
fn nothing_is_done_unless_it_is_said_that_it_is_meant() {
    let bank = Bank::with_accounts(2);
    let output = bank.run(&with_ids(&["all"]));
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(
        error.contains("--yes") && error.contains("--dry-run"),
        "{error}"
    );
    for wrong in [
        &["all", "--yes"][..],
        &["all", "--yes", "--dry-run", "Account|0"],
        &["events-before", "yesterday", "--yes", "Account|0"],
        &["all", "--yes", "--ids-from", "ids.txt", "Account|0"],
        &["all", "--yes", "--parallelism", "0", "Account|0"],
    ] {
        assert_eq!(bank.run(wrong).status.code(), Some(2), "{wrong:?}");
    }
    assert_eq!(bank.streams(2), vec![((1..=5).collect(), 5); 2]);
}

#[test]
fn ids_come_from_a_file_or_from_the_standard_input() {
    let bank = Bank::with_accounts(250);
    let list = bank.list(240);
    let mut words = vec![
        "events-to",
        "4",
        "--yes",
        "--parallelism",
        "4",
        "--ids-from",
    ];
    words.push(list.to_str().unwrap());
    let output = bank.run(&words);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let progress = String::from_utf8(output.stderr).unwrap();
    assert!(progress.contains("100 of 240 ids are done"), "{progress}");
    assert!(progress.contains("200 of 240 ids are done"), "{progress}");

    let mut child = bank.command(&["all-events", "--yes", "--skip", "1", "--ids-from", "-"]);
    let child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut child = child.unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"Account|0\n\nAccount|249\n").unwrap();
    drop(input);
    assert!(child.wait_with_output().unwrap().status.success());

    let streams = bank.streams(250);
    assert_eq!(streams[..240], vec![(vec![5], 5); 240]);
    assert_eq!(streams[240], ((1..=5).collect(), 5));
    assert_eq!(streams[249], (vec![], 5));
}

#[test]
fn what_cannot_be_done_is_told_and_ends_with_1() {
    let bank = Bank::with_accounts(1);
    for (words, expected) in [
        (
            &["all", "--yes", "--journal", "ledger", "Account|0"][..],
            "'ledger'",
        ),
        (
            &["all", "--yes", "Account|0", ""],
            "no persistence id; nothing was done",
        ),
        (
            &["all", "--yes", "--ids-from", "no-such-file"],
            "no-such-file",
        ),
    ] {
        let output = bank.run(words);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(error.contains(expected), "{error}");
    }
    assert_eq!(bank.streams(1), [((1..=5).collect(), 5)]);
}

#[test]
fn a_missing_database_or_table_is_an_error_and_nothing_is_made() {
    let bank = Bank::with_accounts(1);
    let elsewhere = tempfile::tempdir().unwrap();
    for confirmed in ["--yes", "--dry-run"] {
        for (file, expected) in [
            (None, "there is no database"),
            (Some("bank.db"), "the tables of the"),
        ] {
            let file = file.map(|name| elsewhere.path().join(name));
            if let Some(path) = &file {
                std::fs::write(path, "").unwrap();
            }
            let output = bank.run_from(elsewhere.path(), &["all-events", confirmed, "Account|0"]);
            assert_eq!(output.status.code(), Some(1), "{output:?}");
            assert!(output.stdout.is_empty(), "{output:?}");
            let error = String::from_utf8(output.stderr).unwrap();
            assert!(error.contains(expected), "{error}");
            assert!(error.contains("makes no database and no table"), "{error}");
            match file {
                Some(path) => {
                    assert_eq!(std::fs::metadata(&path).unwrap().len(), 0);
                    std::fs::remove_file(path).unwrap();
                }
                None => assert_eq!(std::fs::read_dir(elsewhere.path()).unwrap().count(), 0),
            }
        }
    }
    assert_eq!(bank.streams(1), [((1..=5).collect(), 5)]);
}

#[test]
fn an_id_that_fails_is_named_with_the_way_to_go_on() {
    let bank = Bank::with_accounts(4);
    // The journal of account 2 ends before its snapshot.
    bank.output(&["all-events", "--reset-numbers", "--yes", "Account|2"]);
    let list = bank.list(4);
    let list = list.to_str().unwrap();
    let words = ["before-snapshot", "--yes", "--ids-from", list];
    let output = bank.run(&words);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(
        error.contains("Account|2") && error.contains("--skip 2"),
        "{error}"
    );
    assert!(
        error.contains("is of event 3, but its journal ends at 0"),
        "{error}"
    );
    assert_eq!(bank.streams(2), vec![(vec![4, 5], 5); 2]);
    assert_eq!(bank.streams(4)[3], ((1..=5).collect(), 5));

    bank.output(&["snapshots", "--yes", "Account|2"]);
    bank.output(&[&words[..], &["--skip", "2"]].concat());
    assert_eq!(bank.streams(4)[3], (vec![4, 5], 5));
}

/// A state store may need code of the application, which this program does not have; and whatever is wrong with a store does
/// not matter to who works on another.
#[test]
fn only_the_stores_of_a_task_are_opened() {
    let bank = Bank::with_accounts(2);
    let handler = "[persistence.state.bank.change-handler]\nAccount = \"counts\"\n";
    bank.add_to_config(handler);
    for task in [
        &["all-events"][..],
        &["snapshots"],
        &["before-snapshot"],
        &["events-to", "2"],
        &["all"],
    ] {
        let said = bank.output(&with_ids(&[task, &["--yes"]].concat()));
        assert!(said.starts_with("cleaned up 2 ids in "), "{said}");
    }
    let refused = bank.run(&with_ids(&["state", "--yes"]));
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(
        !refused.status.success() && said.contains("unknown change handler"),
        "{said}"
    );

    let bank = Bank::with_accounts(2);
    bank.add_to_config(
        "[persistence.snapshot-store.lost]\nkind = \"sqlite\"\nurl = \"sqlite:///no/such/folder/lost.db\"\n",
    );
    let said = bank.output(&with_ids(&["state", "--yes"]));
    assert!(said.starts_with("cleaned up 2 ids in "), "{said}");
    assert!(!bank.run(&with_ids(&["all", "--yes"])).status.success());
}
