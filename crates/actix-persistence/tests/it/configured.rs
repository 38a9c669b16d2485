//! A config file has the effect that it describes.

use std::path::Path;

use actix_persistence::prelude::*;
use actix_persistence::{Config, OpenError};

use crate::counter::{Count, Counter};

/// Two journals and one snapshot store, in files of this directory.
fn two_journals(directory: &Path) -> String {
    let directory = directory.display();
    format!(
        r#"
[persistence]
max-concurrent-recoveries = 50
[persistence.journal]
plugin = "accounts"
[persistence.journal.accounts]
kind = "sqlite"
url = "sqlite://{directory}/bank.db"
auto-initialize = true
serializer = "json"
[persistence.journal.audit]
kind = "sqlite"
url = "sqlite://{directory}/audit.db"
[persistence.journal-plugin-fallback.circuit-breaker]
max-failures = 10
call-timeout = "10s"
reset-timeout = "30s"
[persistence.snapshot-store]
plugin = "accounts"
[persistence.snapshot-store.accounts]
kind = "sqlite"
url = "sqlite://{directory}/bank.db"
"#
    )
}

#[actix::test]
async fn each_actor_writes_to_the_journal_it_names() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("persistence.toml");
    std::fs::write(&file, two_journals(directory.path())).unwrap();
    let persistence = Persistence::from_config(&file).await.unwrap();
    persistence.ready().await.unwrap();

    let default = persistence.start(|| Counter::named("1")).unwrap();
    default.send(Count(5)).await.unwrap().unwrap();
    let audit = || Counter {
        journal: Some("persistence.journal.audit".to_owned()),
        ..Counter::named("1")
    };
    let audit = persistence.start(audit).unwrap();
    let alone = audit.send(Count(7)).await.unwrap().unwrap();
    assert_eq!(alone, 7, "the same id in another journal is another stream");
}

#[actix::test]
async fn the_effective_config_shows_every_setting_with_its_origin_and_no_secret() {
    let directory = tempfile::tempdir().unwrap();
    let text = two_journals(directory.path());
    let config = Config::from_toml(&text, "app.toml").unwrap();
    let persistence = Persistence::open(config).await.unwrap();
    let shown = persistence.journal_config("accounts").unwrap();
    for part in ["json", "max-failures = 10", "app.toml:", "write-timeout"] {
        assert!(shown.contains(part), "{part:?} is not in\n{shown}");
    }
    assert!(persistence.snapshot_store_config("accounts").is_some());
    assert!(persistence.journal_config("nobody").is_none());
}

#[actix::test]
async fn every_mistake_of_every_section_is_reported_at_once() {
    let text = r#"
[persistence.journal]
plugin = "acounts"
[persistence.journal.accounts]
kind = "sqlite"
url = "sqlite://a.db"
busy-timeuot = "5s"
[persistence.journal.audit]
kind = "sqllite"
[persistence.snapshot-store.accounts]
kind = "sqlite"
url = 5
[persistence.journal.accounts.circuit-breaker]
max-failures = "ten"
"#;
    let config = Config::from_toml(text, "app.toml").unwrap();
    let error = Persistence::open(config).await.err().unwrap();
    assert!(matches!(error, OpenError::Config(_)), "{error}");
    let error = error.to_string();
    for part in [
        "app.toml:3",
        "acounts",
        "app.toml:7",
        "busy-timeuot",
        "busy-timeout",
        "app.toml:9",
        "sqllite",
        "app.toml:12",
        "app.toml:14",
        "max-failures",
    ] {
        assert!(error.contains(part), "{part:?} is not in\n{error}");
    }
}

#[actix::test]
async fn a_store_that_waiting_does_not_cure_makes_opening_fail_and_names_it() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("bank.db"), "no database ".repeat(100)).unwrap();
    let config = Config::from_toml(&two_journals(directory.path()), "app.toml").unwrap();
    let error = Persistence::open(config).await.err().unwrap();
    assert!(
        matches!(&error, OpenError::Journal { plugin_id, .. } if plugin_id == "accounts"),
        "{error:?}"
    );
}

#[actix::test]
async fn variables_win_over_the_file_and_the_file_over_its_fallback() {
    let directory = tempfile::tempdir().unwrap();
    let text = two_journals(directory.path());
    let config = Config::from_toml(&text, "app.toml").unwrap().with_env([
        ("ACTIX_PERSISTENCE__JOURNAL__ACCOUNTS__WRITE_TIMEOUT", "45s"),
        (
            "ACTIX_PERSISTENCE__JOURNAL__ACCOUNTS__SERIALIZER",
            "messagepack",
        ),
        (
            "ACTIX_PERSISTENCE__JOURNAL__ACCOUNTS__CIRCUIT_BREAKER__MAX_FAILURES",
            "3",
        ),
        (
            "ACTIX_PERSISTENCE__JOURNAL__ACCOUNTS__AUTO_INITIALIZE",
            "on",
        ),
    ]);
    let persistence = Persistence::open(config).await.unwrap();
    let shown = persistence.journal_config("accounts").unwrap();
    for part in [
        "serializer = \"messagepack\"  # environment variable ACTIX_PERSISTENCE__JOURNAL__ACCOUNTS__SERIALIZER",
        "max-failures = 3  # environment variable",
        "call-timeout = \"10s\"  # app.toml:",
        "kind = \"sqlite\"  # app.toml:",
        "initialize-timeout = \"30s\"  # default",
    ] {
        assert!(shown.contains(part), "{part:?} is not in\n{shown}");
    }
}

#[actix::test]
async fn a_mistake_in_a_variable_is_reported_by_name_with_those_of_the_file() {
    let text = "[persistence.journal.accounts]\nkind = \"sqlite\"\nurl = 5\n";
    let config = Config::from_toml(text, "app.toml").unwrap().with_env([
        ("ACTIX_PERSISTENCE__JOURNAL__ACCOUNTS__BUSY_TIMEUOT", "5s"),
        (
            "ACTIX_PERSISTENCE__JOURNAL__ACCOUNTS__READ_CONNECTIONS",
            "many",
        ),
        ("ACTIX_PERSISTENCE__JOURNAL__ACOUNTS__BUSY_TIMEOUT", "5s"),
        ("ACTIX_PERSISTENCE__INTERNAL_STASH__CAPACTY", "1"),
    ]);
    let error = Persistence::open(config).await.err().unwrap().to_string();
    for part in [
        "app.toml:3: 'persistence.journal.accounts.url' must be a string, not 5",
        "environment variable ACTIX_PERSISTENCE__JOURNAL__ACCOUNTS__BUSY_TIMEUOT: unknown key \
         'persistence.journal.accounts.busy-timeuot'; did you mean 'busy-timeout'?",
        "environment variable ACTIX_PERSISTENCE__JOURNAL__ACCOUNTS__READ_CONNECTIONS: \
         'persistence.journal.accounts.read-connections' must be an integer, not \"many\"",
        "environment variable ACTIX_PERSISTENCE__JOURNAL__ACOUNTS__BUSY_TIMEOUT: \
         'persistence.journal.acounts.kind' is missing",
        "environment variable ACTIX_PERSISTENCE__INTERNAL_STASH__CAPACTY: unknown key \
         'persistence.internal-stash.capacty'; did you mean 'capacity'?",
    ] {
        assert!(error.contains(part), "{part:?} is not in\n{error}");
    }
}

/// Returns the config of an application of Akka.NET.
#[cfg(feature = "hocon")]
fn akka_block(directory: &Path) -> String {
    let directory = directory.display();
    format!(
        r#"akka {{
  loglevel = INFO
  persistence {{
    journal {{
      plugin = "akka.persistence.journal.sqlite"
      sqlite {{
        class = "Akka.Persistence.Sqlite.Journal.SqliteJournal, Akka.Persistence.Sqlite"
        plugin-dispatcher = "akka.actor.default-dispatcher"
        connection-string = "Data Source={directory}/bank.db"
        auto-initialize = on
        recovery-event-timeout = 30s
        circuit-breaker {{
          max-failures = 5
          call-timeout = 10 seconds
          reset-timeout = 30000
        }}
        replay-filter {{ mode = fail, window-size = 100, debug = off }}
      }}
    }}
    snapshot-store {{
      plugin = "akka.persistence.snapshot-store.sqlite"
      sqlite {{
        class = "Akka.Persistence.Sqlite.Snapshot.SqliteSnapshotStore, Akka.Persistence.Sqlite"
        connection-string = "Data Source={directory}/bank.db"
        auto-initialize = yes
      }}
    }}
  }}
}}
"#
    )
}

#[cfg(feature = "hocon")]
#[actix::test]
async fn the_config_of_an_akka_application_opens_the_same_stores() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("application.conf");
    std::fs::write(&file, akka_block(directory.path())).unwrap();
    let persistence = Persistence::from_config(&file).await.unwrap();
    let counter = persistence.start(|| Counter::named("1")).unwrap();
    assert_eq!(counter.send(Count(5)).await.unwrap().unwrap(), 5);
    assert!(directory.path().join("bank.db").exists());
    let shown = persistence.journal_config("sqlite").unwrap();
    assert!(shown.contains("max-failures = 5  # "), "{shown}");
}

#[cfg(feature = "hocon")]
#[actix::test]
async fn mistakes_in_hocon_are_reported_at_once_with_file_and_key() {
    let text = "akka.persistence { journal.sqlite { call-timeot = 5s, auto-initialize = maybe } }";
    let config = Config::from_hocon(text, "app.conf").unwrap();
    let error = Persistence::open(config).await.err().unwrap().to_string();
    for part in [
        "app.conf: unknown key 'persistence.journal.sqlite.call-timeot'",
        "app.conf: 'persistence.journal.sqlite.auto-initialize' must be true or false, not \"maybe\"",
    ] {
        assert!(error.contains(part), "{part:?} is not in\n{error}");
    }
}

#[cfg(not(feature = "hocon"))]
#[test]
fn without_the_feature_a_hocon_file_is_refused_by_name() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("application.conf");
    std::fs::write(&file, "persistence {}").unwrap();
    let error = Config::from_file(&file).unwrap_err().to_string();
    assert!(error.contains("enable the feature 'hocon'"), "{error}");
}

#[test]
fn a_file_that_is_too_large_for_a_config_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("persistence.toml");
    std::fs::write(&file, "#".repeat(1024 * 1024 + 1)).unwrap();
    let error = Config::from_file(&file).unwrap_err().to_string();
    assert!(error.contains("more than 1048576 bytes"), "{error}");
}
