//! Keys that are pasted from the config of Akka, Akka.NET or Pekko.

use super::*;

fn warnings(text: &str) -> Vec<String> {
    let (resolution, warnings) = config(text).resolve_silently(&KINDS, &Default::default());
    assert_eq!(resolution.mistakes.check(), Ok(()));
    warnings
}

#[test]
fn a_key_without_meaning_gets_one_warning_that_names_its_replacement() {
    let found = warnings(
        r#"[persistence]
no-snapshot-store.class = "akka.persistence.snapshot.NoSnapshotStore"
[persistence.dispatchers.default-plugin-dispatcher]
type = "Dispatcher"
[persistence.journal]
auto-start-journals = []
[persistence.journal.sqlite]
class = "Akka.Persistence.Sqlite.Journal.SqliteJournal, Akka.Persistence.Sqlite"
connection-timeout = "30s"
timestamp-provider = "x"
circuit-breaker.exception-allowlist = []
[persistence.fsm]
snapshot-after = "off"
[persistence.at-least-once-delivery]
redeliver-interval = "5s"
[persistence.typed]
log-stashing = true
[persistence.snapshot-store-plugin-fallback]
only-one-snapshot = false
"#,
    );
    let expected = [
        "app.toml:3: 'persistence.dispatchers' has no meaning here",
        "app.toml:2: 'persistence.no-snapshot-store' has no meaning here",
        "app.toml:14: 'persistence.at-least-once-delivery' has no meaning here",
        "app.toml:12: 'persistence.fsm' has no meaning here",
        "app.toml:17: 'persistence.typed.log-stashing' has no meaning here",
        "app.toml:6: 'persistence.journal.auto-start-journals' has no meaning here",
        "app.toml:8: 'persistence.journal.sqlite.class' has no meaning here",
        "app.toml:11: 'persistence.journal.sqlite.circuit-breaker.exception-allowlist' has no meaning",
        "app.toml:9: 'persistence.journal.sqlite.connection-timeout' has no meaning here",
        "app.toml:10: 'persistence.journal.sqlite.timestamp-provider' has no meaning here",
        "app.toml:19: 'persistence.snapshot-store-plugin-fallback.only-one-snapshot' has no meaning",
    ];
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for (warning, expected) in found.iter().zip(expected) {
        assert!(warning.starts_with(expected), "{warning}");
    }
}

#[test]
fn default_plugins_may_be_named_as_in_akka() {
    for library in ["akka.", "pekko.", ""] {
        let text = format!(
            "[persistence.journal]\nplugin = \"{library}persistence.journal.sqlite\"\n\
             [persistence.journal.sqlite]\n[persistence.snapshot-store]\n\
             plugin = \"{library}persistence.no-snapshot-store\"\n"
        );
        let settings = settings(&config(&text));
        assert_eq!(settings.journals.default.as_deref(), Some("sqlite"));
        assert_eq!(settings.snapshot_stores.default, None);
    }
}

#[test]
fn the_stores_in_memory_of_akka_are_ours() {
    let text = "[persistence.journal.inmem]\nclass = \"x\"\n";
    let (resolution, warnings) = config(text).resolve_silently(&KINDS, &Default::default());
    assert_eq!(resolution.mistakes.check(), Ok(()));
    assert_eq!(resolution.settings.journals.stores[0].kind, "memory");
    assert_eq!(warnings.len(), 2);
}

#[cfg(feature = "sqlite")]
#[test]
fn a_connection_string_becomes_a_url_or_a_mistake_that_says_what_to_write() {
    let text = r#"[persistence.journal.sqlite]
connection-string = "Data Source=bank.db"
table-name = "events"
metadata-table-name = "meta"
[persistence.snapshot-store.sqlite]
connection-string = "Filename=bank.db"
table-name = "snaps"
"#;
    let (resolution, warnings) = config(text).resolve_silently(&KINDS, &Default::default());
    assert_eq!(resolution.mistakes.check(), Ok(()));
    assert_eq!(warnings.len(), 5);
    let text_of = |section: &Section, key: &str| section.reader().string(key).unwrap();
    let journal = &resolution.settings.journals.stores[0].section;
    assert_eq!(text_of(journal, "url"), "sqlite://bank.db");
    assert_eq!(text_of(journal, "event-table"), "events");
    assert_eq!(text_of(journal, "metadata-table"), "meta");
    let snapshots = &resolution.settings.snapshot_stores.stores[0].section;
    assert_eq!(text_of(snapshots, "snapshot-table"), "snaps");

    let text =
        "[persistence.journal.sqlite]\nconnection-string = \"Data Source=b.db;Password=pw\"\n";
    assert_eq!(
        mistakes(&config(text)),
        "app.toml:2: 'persistence.journal.sqlite.connection-string' cannot be read as the name of a file; \
         write url = \"sqlite://bank.db\", or kind = \"memory\" for a database in memory"
    );
}
