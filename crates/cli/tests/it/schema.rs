//! Printing the statements that make tables.

use std::path::Path;
use std::process::{Command, Output};

const CONFIG: &str = r#"
[persistence.journal.accounts]
kind = "sqlite"
url = "sqlite://no/such/folder/bank.db"
event-table = "booking"

[persistence.journal.scratch]
kind = "memory"

[persistence.snapshot-store.accounts]
kind = "sqlite"
url = "sqlite://no/such/folder/bank.db"

[persistence.state.posts]
kind = "sqlite"
url = "sqlite://no/such/folder/bank.db"
additional-columns.Post = ["title"]
"#;

fn schema(config: &str, arguments: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("app.toml");
    std::fs::write(&file, config).unwrap();
    run(&file, arguments)
}

fn run(config: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_actix-persistence"))
        .args(["schema", "--config"])
        .arg(config)
        .args(arguments)
        .output()
        .unwrap()
}

fn error_of(output: &Output) -> String {
    assert!(!output.status.success());
    assert!(output.stdout.is_empty());
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn every_store_of_a_config_is_printed_and_nothing_is_opened() {
    let output = schema(CONFIG, &[]);
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    for part in [
        "-- The journal 'accounts'.",
        "CREATE TABLE \"booking\"",
        "('booking', 'event_tag, journal_metadata', 'journal', 1)",
        "-- The journal 'scratch' needs nothing.",
        "-- The snapshot store 'accounts'.",
        "CREATE TABLE \"snapshot\"",
        "-- The state store 'posts'.",
        "CREATE TABLE \"durable_state\"",
    ] {
        assert!(text.contains(part), "{part} is not in:\n{text}");
    }
}

#[test]
fn a_database_without_roles_says_so() {
    let roles = ["--owner", "boss", "--application", "bank"];
    let error = error_of(&schema(CONFIG, &roles));
    assert!(
        error.contains("'persistence.journal.accounts': sqlite knows no roles"),
        "{error}"
    );
}

#[test]
fn one_role_alone_is_refused() {
    let error = error_of(&schema(CONFIG, &["--owner", "boss"]));
    assert!(error.contains("--application"), "{error}");
}

#[test]
fn mistakes_of_the_config_are_told() {
    let error = error_of(&schema(&CONFIG.replace("event-table", "evnt-table"), &[]));
    assert!(error.contains("did you mean 'event-table'?"), "{error}");
    let error = error_of(&run(Path::new("no-such.toml"), &[]));
    assert!(error.contains("no-such.toml"), "{error}");
}
