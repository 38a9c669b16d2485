//! Bad input gets a clear error and loses nothing.

use crate::bank::{Bank, sql};

fn config(journal: &str) -> String {
    format!(
        "[persistence.journal]\nplugin = \"bank\"\n[persistence.journal.bank]\n{journal}\n\
         [persistence.snapshot-store]\nplugin = \"bank\"\n[persistence.snapshot-store.bank]\n{journal}\n"
    )
}

fn fails(bank: &Bank, arguments: &[&str], expected: &[&str]) {
    let (status, stderr) = bank.stderr_of(arguments);
    assert_eq!(status, 2, "{stderr}");
    for part in expected {
        assert!(stderr.contains(part), "{part:?} is not in:\n{stderr}");
    }
}

/// A bank with one account that has three events.
fn in_use() -> Bank {
    let bank = Bank::new();
    bank.write(
        "file.csv",
        "id,account,kind,cents\na,DE-1,deposit,5\nb,DE-1,deposit,6\nc,DE-1,deposit,7\n",
    );
    bank.stdout_of(&["import", "file.csv"]);
    bank
}

#[test]
fn a_missing_config_file_is_named() {
    let bank = Bank::new();
    fails(
        &bank,
        &["--config", "nowhere.toml", "balance", "DE-1"],
        &["nowhere.toml"],
    );
}

#[test]
fn a_missing_input_file_is_named_and_leaves_no_database() {
    let bank = Bank::new();
    fails(&bank, &["import", "nowhere.csv"], &["nowhere.csv"]);
    assert!(!bank.path("bank.db").exists());
}

#[test]
fn an_input_without_header_is_refused() {
    let bank = Bank::new();
    bank.write("file.csv", "a,DE-1,deposit,5\n");
    fails(&bank, &["import", "file.csv"], &["id,account,kind,cents"]);
}

#[test]
fn every_mistake_of_a_config_is_named_with_its_line() {
    let bank = Bank::new();
    bank.write(
        "bank.toml",
        "[persistence.journal]\nplugin = \"bnak\"\n[persistence.journal.bank]\nkind = \"sqlit\"\nurl = 5\n\
         [persistence.journal.other]\nkind = \"sqlite\"\nbusy-timeuot = \"5s\"\n",
    );
    let expected = [
        "bank.toml:2",
        "bnak",
        "bank.toml:4",
        "sqlit",
        "bank.toml:8",
        "busy-timeout",
    ];
    fails(
        &bank,
        &["--config", "bank.toml", "balance", "DE-1"],
        &expected,
    );
}

#[test]
fn a_file_that_is_no_database_is_refused_and_left_alone() {
    let bank = Bank::new();
    let text = "this is no database, but somebody may need it\n".repeat(100);
    bank.write("bank.db", &text)
        .write("file.csv", "id,account,kind,cents\na,DE-1,deposit,5\n");
    fails(&bank, &["import", "file.csv"], &["bank.db"]);
    assert_eq!(std::fs::read_to_string(bank.path("bank.db")).unwrap(), text);
}

#[test]
fn a_database_that_cannot_be_opened_is_named() {
    let bank = Bank::new();
    bank.write(
        "bank.toml",
        config("kind = \"sqlite\"\nurl = \"sqlite://no/such/directory/bank.db\""),
    );
    fails(
        &bank,
        &["--config", "bank.toml", "balance", "DE-1"],
        &["no/such/directory"],
    );
    std::fs::create_dir(bank.path("bank.db")).unwrap();
    fails(&bank, &["balance", "DE-1"], &["bank.db"]);
}

#[test]
fn a_read_only_database_is_refused_for_an_import() {
    let bank = in_use();
    bank.write(
        "bank.toml",
        config("kind = \"sqlite\"\nurl = \"sqlite://bank.db?mode=ro\""),
    );
    fails(
        &bank,
        &["--config", "bank.toml", "import", "file.csv"],
        &["read-only"],
    );
    assert_eq!(bank.stdout_of(&["balance", "DE-1"]), "18\n");
}

#[test]
fn a_schema_of_a_newer_version_is_refused() {
    let bank = in_use();
    sql(
        &bank.path("bank.db"),
        "UPDATE actix_persistence_schema SET version = 99",
    );
    fails(&bank, &["import", "file.csv"], &["99", "newer"]);
}

#[test]
fn without_auto_initialize_an_empty_database_is_refused() {
    let bank = in_use();
    let section = "kind = \"sqlite\"\nurl = \"sqlite://empty.db\"\nauto-initialize = false";
    bank.write("bank.toml", config(section));
    fails(
        &bank,
        &["--config", "bank.toml", "import", "file.csv"],
        &["auto-initialize"],
    );
}

#[test]
fn a_corrupt_payload_is_reported_with_its_place_and_nothing_is_lost() {
    for (damage, expected) in [
        (
            "UPDATE event_journal SET payload = x'c1ff' WHERE sequence_nr = 2",
            ["\"Account|DE-1\"", "sequence number 2", "checksum"],
        ),
        (
            "UPDATE event_journal SET payload = x'c1ff', checksum = NULL WHERE sequence_nr = 2",
            ["\"Account|DE-1\"", "event 2 of", "bank.decided:v3"],
        ),
    ] {
        let bank = in_use();
        sql(&bank.path("bank.db"), damage);
        fails(&bank, &["balance", "DE-1"], &expected);
        fails(&bank, &["history", "DE-1"], &expected);
        bank.write("more.csv", "id,account,kind,cents\nz,DE-1,deposit,5\n");
        fails(&bank, &["import", "more.csv"], &expected);
        let rows = "SELECT count(*) FROM event_journal";
        assert_eq!(bank.count(rows), 3);
    }
}

#[test]
fn an_unknown_manifest_is_reported() {
    let bank = in_use();
    sql(
        &bank.path("bank.db"),
        "UPDATE event_journal SET event_manifest = 'bank.decided:v4', checksum = NULL WHERE sequence_nr = 3",
    );
    fails(
        &bank,
        &["balance", "DE-1"],
        &[
            "event 3",
            "bank.decided:v4",
            "versions 1 to 3 of \"bank.decided\"",
        ],
    );
}

#[test]
fn an_account_name_that_cannot_be_stored_is_refused() {
    let bank = in_use();
    for name in ["", &"x".repeat(300)] {
        fails(&bank, &["balance", name], &["cannot be used"]);
        fails(&bank, &["history", name], &["cannot be used"]);
    }
}

#[test]
fn an_event_over_the_limit_is_reported_and_the_rest_is_booked() {
    let bank = Bank::new();
    bank.write(
        "bank.toml",
        config("kind = \"sqlite\"\nurl = \"sqlite://bank.db\"\nmax-event-bytes = \"1KiB\""),
    );
    let id = "i".repeat(2_000);
    bank.write(
        "file.csv",
        format!("id,account,kind,cents\n{id},DE-1,deposit,5\nb,DE-1,deposit,6\n"),
    );
    let output = bank.run(&["--config", "bank.toml", "import", "file.csv"]);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(
        stderr.contains("line 2") && stderr.contains("1024 bytes"),
        "{stderr}"
    );
    assert_eq!(
        output.stdout,
        b"applied 1 refused 0 duplicate 0 malformed 1\n"
    );
}
