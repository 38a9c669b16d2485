//! docs/guide/serializers.md

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::program::stdout_of;

const PROGRAM: &str = env!("CARGO_BIN_EXE_personal_data");

fn run(folder: &Path, command: &[&str]) -> String {
    let arguments = [&["shop.db", "keys"], command].concat();
    stdout_of(PROGRAM, folder, &arguments)
}

/// Runs a command, and kills the program when it has printed what is known.
fn run_and_kill(folder: &Path, command: &[&str]) -> String {
    let mut child = Command::new(PROGRAM)
        .args(["shop.db", "keys"])
        .args(command)
        .arg("wait")
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let known = lines.next().unwrap().unwrap();
    assert_eq!(lines.next().unwrap().unwrap(), "waiting");
    child.kill().unwrap();
    child.wait().unwrap();
    known
}

/// Asserts that no file of the database holds this text.
fn assert_nowhere(folder: &Path, text: &str) {
    let mut looked_at = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            let bytes = fs::read(&path).unwrap();
            let found = bytes
                .windows(text.len())
                .any(|part| part == text.as_bytes());
            assert!(!found, "{text} is in {}", path.display());
            looked_at += bytes.len();
        }
    }
    assert!(looked_at > 4_096, "there is a database");
}

const ADA: &str = "Ada <ada@example.org>";

#[test]
fn a_customer_is_forgotten_and_the_orders_stay() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let registered = run_and_kill(folder, &["register", "Ada", "ada@example.org"]);
    assert_eq!(
        registered,
        format!("{ADA}: 0 orders, 0 cents (from snapshot 0)")
    );
    // The write-ahead log was not copied by anybody yet.
    assert!(folder.join("shop.db-wal").is_file());
    assert_nowhere(folder, "ada@example");

    let ordered = run_and_kill(folder, &["order", "100", "20", "3"]);
    assert_eq!(
        ordered,
        format!("{ADA}: 3 orders, 123 cents (from snapshot 0)")
    );
    assert_nowhere(folder, "ada@example");
    let known = run(folder, &[]);
    assert_eq!(
        known,
        format!("{ADA}: 3 orders, 123 cents (from snapshot 3)\n")
    );

    let forgotten = run(folder, &["forget"]);
    assert_eq!(
        forgotten,
        "somebody: 3 orders, 123 cents (from snapshot 3)\n"
    );
    // The snapshot cannot be read any more, so every event is; that of the registration is shredded.
    let known = run(folder, &[]);
    assert_eq!(known, "somebody: 3 orders, 123 cents (from snapshot 0)\n");
    let again = run_and_kill(folder, &["order", "7"]);
    assert_eq!(again, "somebody: 4 orders, 130 cents (from snapshot 0)");
    let known = run(folder, &[]);
    assert_eq!(known, "somebody: 4 orders, 130 cents (from snapshot 6)\n");
    assert_nowhere(folder, "ada@example");
}

#[test]
fn without_its_keys_the_database_is_of_no_use() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    run(folder, &["register", "Ada", "ada@example.org"]);
    fs::rename(folder.join("keys"), folder.join("lost")).unwrap();
    assert_fails(folder, "a lost key is not a destroyed one");
}

#[test]
fn a_key_file_that_was_cut_off_does_not_count_as_destroyed() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    run(folder, &["register", "Ada", "ada@example.org"]);
    let mut files = fs::read_dir(folder.join("keys")).unwrap();
    let file = files.next().unwrap().unwrap().path();
    let whole = fs::read(&file).unwrap();
    for len in [1, 31] {
        fs::write(&file, &whole[..len]).unwrap();
        let stderr = assert_fails(folder, "a damaged key is not a destroyed one");
        assert!(stderr.contains("is cut off"), "{stderr}");
    }
    fs::write(&file, whole).unwrap();
    let known = run(folder, &[]);
    assert_eq!(
        known,
        format!("{ADA}: 0 orders, 0 cents (from snapshot 0)\n")
    );
}

/// Asserts that the program fails, and returns what it says.
fn assert_fails(folder: &Path, why: &str) -> String {
    let output = Command::new(PROGRAM)
        .args(["shop.db", "keys"])
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(!output.status.success(), "{why}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_gate_counts_in_cbor() {
    let folder = tempfile::tempdir().unwrap();
    let program = env!("CARGO_BIN_EXE_serializers");
    let run = |groups: &[&str]| {
        let arguments = [&["gate.db"], groups].concat();
        stdout_of(program, folder.path(), &arguments)
    };
    assert_eq!(run(&["3", "4"]), "3 people\n7 people\n");
    assert_eq!(run(&["1"]), "8 people\n");
}
