//! The page about the config names the keys that there are, and no others.

use std::collections::BTreeSet;

use actix_persistence::{Config, Persistence};

const PAGE: &str = include_str!("../../../../docs/guide/configuration.md");

/// An unknown key in every section, so that each tells which it knows.
const UNKNOWN_EVERYWHERE: &str = r#"
[persistence]
zzz = 1
[persistence.internal-stash]
zzz = 1
[persistence.back-off]
zzz = 1
[persistence.published-events]
zzz = 1
[persistence.dead-letters]
zzz = 1
[persistence.journal]
zzz = 1
[persistence.journal.s]
kind = "sqlite"
zzz = 1
[persistence.journal.s.circuit-breaker]
zzz = 1
[persistence.journal.s.replay-filter]
zzz = 1
[persistence.journal.m]
kind = "memory"
zzz = 1
[persistence.snapshot-store]
zzz = 1
[persistence.snapshot-store.s]
kind = "sqlite"
zzz = 1
[persistence.snapshot-store.m]
kind = "memory"
zzz = 1
[persistence.offset-store]
zzz = 1
[persistence.offset-store.s]
kind = "sqlite"
zzz = 1
[persistence.offset-store.m]
kind = "memory"
zzz = 1
[persistence.state]
zzz = 1
[persistence.state.s]
kind = "sqlite"
zzz = 1
[persistence.state.s.query]
zzz = 1
[persistence.state.m]
kind = "memory"
zzz = 1
"#;

/// The first column of the tables below these headings.
fn on_page(headings: &[&str]) -> BTreeSet<String> {
    let mut keys = BTreeSet::new();
    for heading in headings {
        let start = format!("\n## {heading}\n");
        let (_, below) = PAGE.split_once(&start).expect(heading);
        let section = below.split("\n## ").next().unwrap();
        let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
        keys.extend(rows.map(|row| row.split('`').next().unwrap().to_owned()));
    }
    keys
}

/// Returns the keys that the mistake about an unknown key of a section names.
fn known(mistakes: &str, section: &str) -> BTreeSet<String> {
    let start = format!("unknown key '{section}.zzz';");
    let (_, mistake) = mistakes.split_once(&start).expect(section);
    let line = mistake.lines().next().unwrap();
    let (_, keys) = line.split_once("known keys: ").unwrap();
    let ids = ["s", "m"];
    let keys = keys.split(", ");
    keys.map(|key| {
        if ids.contains(&key) {
            "<plugin id>"
        } else {
            key
        }
    })
    .map(str::to_owned)
    .collect()
}

#[actix::test]
async fn every_key_is_on_the_page_and_every_key_of_the_page_exists() {
    let config = Config::from_toml(UNKNOWN_EVERYWHERE, "app.toml").unwrap();
    let mistakes = Persistence::open(config).await.err().unwrap().to_string();
    let stores = "Sections `persistence.journal`, `persistence.snapshot-store`, `persistence.state` and `persistence.offset-store`";
    let sections: [(&str, &[&str]); 20] = [
        ("persistence", &["Section `persistence`"]),
        (
            "persistence.internal-stash",
            &["Section `persistence.internal-stash`"],
        ),
        ("persistence.back-off", &["Section `persistence.back-off`"]),
        (
            "persistence.published-events",
            &["Section `persistence.published-events`"],
        ),
        (
            "persistence.dead-letters",
            &["Section `persistence.dead-letters`"],
        ),
        ("persistence.journal", &[stores]),
        ("persistence.snapshot-store", &[stores]),
        (
            "persistence.journal.s",
            &["Every journal", "Every SQL database", "Kind `sqlite`"],
        ),
        ("persistence.journal.m", &["Every journal", "Kind `memory`"]),
        (
            "persistence.snapshot-store.s",
            &[
                "Every snapshot store",
                "Every SQL database",
                "Kind `sqlite`",
            ],
        ),
        (
            "persistence.snapshot-store.m",
            &["Every snapshot store", "Kind `memory`"],
        ),
        ("persistence.offset-store", &[stores]),
        (
            "persistence.offset-store.s",
            &["Every offset store", "Every SQL database", "Kind `sqlite`"],
        ),
        (
            "persistence.offset-store.m",
            &["Every offset store", "Kind `memory`"],
        ),
        ("persistence.state", &[stores]),
        (
            "persistence.state.s",
            &["Every state store", "Every SQL database", "Kind `sqlite`"],
        ),
        (
            "persistence.state.m",
            &["Every state store", "Kind `memory`"],
        ),
        ("persistence.state.s.query", &["Section `query`"]),
        (
            "persistence.journal.s.circuit-breaker",
            &["Section `circuit-breaker`"],
        ),
        (
            "persistence.journal.s.replay-filter",
            &["Section `replay-filter`"],
        ),
    ];
    for (section, headings) in sections {
        assert_eq!(on_page(headings), known(&mistakes, section), "{section}");
    }
}

#[cfg(feature = "postgres")]
#[actix::test]
async fn every_key_of_a_postgres_store_is_on_the_page() {
    let config = r#"
[persistence.journal.s]
kind = "postgres"
zzz = 1
"#;
    let config = Config::from_toml(config, "app.toml").unwrap();
    let mistakes = Persistence::open(config).await.err().unwrap().to_string();
    let headings = [
        "Every journal",
        "Every SQL database",
        "Every database server",
        "Kind `postgres`",
    ];
    let known = known(&mistakes, "persistence.journal.s");
    assert_eq!(on_page(&headings), known);
}

#[cfg(feature = "mysql")]
#[actix::test]
async fn every_key_of_a_mysql_store_is_on_the_page() {
    let config = r#"
[persistence.journal.s]
kind = "mysql"
zzz = 1
"#;
    let config = Config::from_toml(config, "app.toml").unwrap();
    let mistakes = Persistence::open(config).await.err().unwrap().to_string();
    let headings = [
        "Every journal",
        "Every SQL database",
        "Every database server",
        "Kind `mysql`",
    ];
    let known = known(&mistakes, "persistence.journal.s");
    assert_eq!(on_page(&headings), known);
}

#[actix::test]
async fn the_page_gives_the_defaults_that_hold() {
    let text = "[persistence.journal.memory]\n[persistence.state.memory]\n";
    let config = Config::from_toml(text, "app.toml").unwrap();
    let persistence = Persistence::open(config).await.unwrap();
    let shown = persistence.journal_config("memory").unwrap();
    let states = persistence.state_store_config("memory").unwrap();
    let defaults = shown.lines().chain(states.lines()).filter_map(|line| {
        let (key, value) = line.split_once(" = ")?;
        Some((key, value.strip_suffix("  # default")?.trim_matches('"')))
    });
    let mut compared = 0;
    for (key, value) in defaults {
        // Where the default of a key is another key, the page says which.
        if ["kind", "max-concurrent-recoveries"].contains(&key) {
            continue;
        }
        // The first row of this name may be that of another section.
        let rows = PAGE
            .lines()
            .filter(|line| line.starts_with(&format!("| `{key}` | ")));
        let mut cells = rows.map(|row| row.split(" | ").nth(1).unwrap().replace('`', ""));
        let found = cells.any(|cell| cell.split(';').next() == Some(value));
        assert!(
            found,
            "the default of {key} is {value}, not what the page says"
        );
        compared += 1;
    }
    assert!(compared >= 26, "only {compared} defaults were compared");
}
