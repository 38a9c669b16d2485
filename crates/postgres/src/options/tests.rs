//! The values that a section may hold.

use std::time::Duration;

use actix_persistence_sql::TlsMode;
use actix_persistence_storage_api::{Origin, Section};

use super::*;

const URL: &str = "postgres://me@db.example.org/bank";

fn section() -> Section {
    Section::new("persistence.journal.a", Origin::code())
}

fn options_of(section: &Section) -> Result<PostgresOptions, String> {
    PostgresOptions::of_section(section, &Pools::default()).map_err(|errors| errors.to_string())
}

#[test]
fn a_place_is_enough_and_gives_the_defaults() {
    let options = options_of(&section().with("url", URL)).unwrap();
    let expected = PostgresOptions::new(URL);
    assert_eq!(options.server, expected.server);
    assert_eq!(options.store, expected.store);
    assert_eq!(options.schema, "public");
    assert_eq!(options.synchronous_commit, SynchronousCommit::Server);
    assert_eq!(options.payload_column, PayloadColumn::Bytes);
    assert!(!options.push);
    assert!(
        options_of(&section())
            .unwrap_err()
            .contains("'persistence.journal.a.url' is missing")
    );
}

#[test]
fn a_call_waits_for_less_than_the_circuit_breaker_by_default() {
    let server = ServerOptions::default();
    let longest = server.acquire_timeout + server.connect_timeout + server.client_timeout();
    assert!(longest < Duration::from_secs(10), "{longest:?}");
}

#[test]
fn every_key_is_read() {
    let section = section()
        .with("url", URL)
        .with("password-env", "BANK_PASSWORD")
        .with("tls", "verify-ca")
        .with("tls-root-certificate", "/ca.pem")
        .with("tls-client-certificate", "/me.pem")
        .with("tls-client-key", "/me.key")
        .with("writers", 3)
        .with("read-connections", 7)
        .with("acquire-timeout", "1s")
        .with("connect-timeout", "2500ms")
        .with("statement-timeout", "5s")
        .with("lock-timeout", "3s")
        .with("schema", "bank")
        .with("synchronous-commit", "remote-apply")
        .with("payload-column", "json")
        .with("push", true)
        .with("auto-initialize", false)
        .with("event-table", "e")
        .with("tag-table", "t")
        .with("metadata-table", "m")
        .with("snapshot-table", "s");
    let options = options_of(&section).unwrap();
    let server = &options.server;
    assert_eq!(server.password_env.as_deref(), Some("BANK_PASSWORD"));
    assert_eq!(server.tls, Some(TlsMode::VerifyCa));
    assert_eq!((server.writers, server.read_connections), (3, 7));
    assert_eq!(server.acquire_timeout, Duration::from_secs(1));
    assert_eq!(server.connect_timeout, Duration::from_millis(2_500));
    assert_eq!(server.statement_timeout, Duration::from_secs(5));
    assert_eq!(server.lock_timeout, Duration::from_secs(3));
    assert_eq!(options.schema, "bank");
    assert_eq!(options.synchronous_commit, SynchronousCommit::RemoteApply);
    assert!(options.push);
    assert_eq!(options.payload_column, PayloadColumn::Json);
    assert!(!options.store.auto_initialize);
    assert_eq!(options.store.snapshot_table, "s");
}

#[test]
fn unknown_words_are_mistakes_that_list_the_known_ones() {
    for (key, word, known) in [
        ("tls", "prefer", "verify-full"),
        ("synchronous-commit", "yes", "remote-write"),
        ("payload-column", "jsonb", "json"),
    ] {
        let mistake = options_of(&section().with("url", URL).with(key, word)).unwrap_err();
        assert!(mistake.contains(known), "{mistake}");
    }
    let schema = options_of(&section().with("url", URL).with("schema", "a\"b")).unwrap_err();
    assert!(
        schema.contains("'persistence.journal.a.schema' must be a letter"),
        "{schema}"
    );
}

#[test]
fn debug_tells_the_place_and_no_secret() {
    let options = PostgresOptions::new("postgres://me:hunter2@db/bank");
    let shown = format!("{options:?}");
    assert!(
        shown.contains("db/bank") && !shown.contains("hunter2"),
        "{shown}"
    );
}
