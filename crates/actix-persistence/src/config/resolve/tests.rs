//! The meaning of the keys, and the reports about those that have none.

mod akka;
mod errors;
mod plugins;
#[cfg(feature = "hocon")]
mod r2dbc;
mod stash_of_akka;
mod state_stores;

use std::time::Duration;

use actix_persistence_journal_actor::{JournalSettings, ReplayFilterMode};
use actix_persistence_persistent_actor::{BackOffSettings, OnConflict, Serializer};
use actix_persistence_query::QuerySettings;
use actix_persistence_snapshot_actor::SnapshotSettings;
use actix_persistence_storage_api::ConfigErrors;
use actix_persistence_store_actor::BreakerSettings;

use super::*;
use crate::config::MADE_IN_CODE;
use crate::config::PluginKind;

const KINDS: [PluginKind; 2] = [
    PluginKind {
        name: "sqlite",
        secret_keys: &["password"],
    },
    PluginKind {
        name: "memory",
        secret_keys: &[],
    },
];

fn config(text: &str) -> Config {
    Config::from_toml(text, "app.toml").unwrap()
}

/// Returns the settings of a config without mistakes and warnings.
fn settings(config: &Config) -> Settings {
    let (resolution, warnings) = config.resolve_silently(&KINDS, &NamedCode::default());
    assert_eq!(resolution.mistakes.check(), Ok(()));
    assert_eq!(warnings, [""; 0]);
    resolution.settings
}

/// Returns the mistakes as a user sees them.
fn mistakes(config: &Config) -> String {
    let (resolution, _) = config.resolve_silently(&KINDS, &NamedCode::default());
    let errors = resolution.mistakes.check().unwrap_err();
    errors.to_string()
}

/// The example of the documentation.
const EXAMPLE: &str = r#"[persistence]
max-concurrent-recoveries = 50
[persistence.journal]
plugin = "accounts"                        # the plugin id: the section below
[persistence.journal.accounts]
kind = "sqlite"                            # the registered plugin; default: the id itself
url = "sqlite://bank.db"                   # relative to the working directory
auto-initialize = true
serializer = "messagepack"
[persistence.journal.audit]                # a second instance of the same plugin
kind = "sqlite"
url = "sqlite://audit.db"
[persistence.journal-plugin-fallback.circuit-breaker]
max-failures = 10
call-timeout = "10s"
reset-timeout = "30s"
[persistence.snapshot-store]
plugin = "accounts"
[persistence.snapshot-store.accounts]
kind = "sqlite"
url = "sqlite://bank.db"                   # same url = same connection owner, one SQLite writer
"#;

#[test]
fn the_example_of_the_documentation_loads() {
    let settings = settings(&config(EXAMPLE));
    assert_eq!(settings.journals.default.as_deref(), Some("accounts"));
    assert_eq!(
        settings.snapshot_stores.default.as_deref(),
        Some("accounts")
    );
    let [accounts, audit] = &settings.journals.stores[..] else {
        panic!("{:?}", settings.journals);
    };
    assert_eq!(
        (accounts.plugin_id.as_str(), accounts.kind),
        ("accounts", "sqlite")
    );
    assert_eq!((audit.plugin_id.as_str(), audit.kind), ("audit", "sqlite"));
    assert_eq!(accounts.serializer, Serializer::MessagePack);
    assert_eq!(accounts.settings.actor, JournalSettings::new("accounts"));
    let left: Vec<_> = accounts.section.iter().map(|(key, _)| key).collect();
    assert_eq!(left, ["auto-initialize", "url"]);
    assert_eq!(accounts.section.path(), "persistence.journal.accounts");
    let [snapshots] = &settings.snapshot_stores.stores[..] else {
        panic!("{:?}", settings.snapshot_stores);
    };
    assert_eq!(snapshots.settings, SnapshotSettings::new("accounts"));
}

#[test]
fn an_empty_config_has_defaults_and_no_stores() {
    let settings = settings(&Config::new());
    assert!(settings.journals.stores.is_empty() && settings.snapshot_stores.stores.is_empty());
    assert_eq!(
        (settings.journals.default, settings.snapshot_stores.default),
        (None, None)
    );
    assert_eq!(
        settings.stash_policy.to_string(),
        "capacity 4096, overflow drop"
    );
    assert_eq!(settings.back_off, BackOffSettings::default());
}

#[test]
fn a_config_in_code_means_the_same_as_one_in_a_file() {
    let settings = settings(
        &Config::new()
            .with("persistence.journal.plugin", "memory")
            .with("persistence.journal.memory", Section::default()),
    );
    assert_eq!(settings.journals.default.as_deref(), Some("memory"));
    assert_eq!(settings.journals.stores[0].kind, "memory");
}

#[test]
fn a_plugin_id_may_be_given_as_the_path_of_its_section() {
    let code = Config::new()
        .with("persistence.journal.plugin", "persistence.journal.a")
        .with("persistence.journal.a.kind", "memory");
    assert_eq!(settings(&code).journals.default.as_deref(), Some("a"));
}

#[test]
fn code_can_take_a_default_away() {
    let config = config(EXAMPLE).with("persistence.snapshot-store.plugin", "");
    assert_eq!(settings(&config).snapshot_stores.default, None);
}

#[test]
fn every_key_of_a_journal_reaches_its_settings() {
    let text = r#"
        [persistence.journal.a]
        kind = "memory"
        serializer = "json"
        initialize-timeout = "1s"
        max-held-requests = 21
        write-timeout = "12s"
        recovery-event-timeout = "3s"
        recovery-permit-timeout = "4s"
        max-concurrent-recoveries = 5
        lanes = 6
        circuit-breaker.max-failures = 7
        circuit-breaker.call-timeout = "8s"
        circuit-breaker.reset-timeout = "9s"
        circuit-breaker.max-reset-timeout = "10s"
        circuit-breaker.exponential-backoff = 1.5
        circuit-breaker.random-factor = 0.25
        replay-filter.mode = "repair-by-discard-old"
        replay-filter.window-size = 11
        replay-filter.max-old-writers = 12
        replay-filter.debug = true
        query.refresh-interval = "13s"
        query.page-size = 14
        query.max-back-off = "15s"
        query.held-back-timeout = "16s"
    "#;
    let settings = settings(&config(text));
    let [journal] = &settings.journals.stores[..] else {
        panic!("{:?}", settings.journals);
    };
    let mut expected = JournalSettings::new("a");
    expected.initialize_timeout = Duration::from_secs(1);
    expected.max_held_requests = 21;
    expected.write_timeout = Duration::from_secs(12);
    expected.recovery_event_timeout = Duration::from_secs(3);
    expected.recovery_permit_timeout = Duration::from_secs(4);
    expected.max_concurrent_recoveries = 5;
    expected.lanes = Some(6);
    expected.circuit_breaker = breaker(7);
    expected.replay_filter.mode = ReplayFilterMode::RepairByDiscardOld;
    expected.replay_filter.window_size = 11;
    expected.replay_filter.max_old_writers = 12;
    expected.replay_filter.debug = true;
    assert_eq!(journal.settings.actor, expected);
    let queries = QuerySettings::default()
        .with_refresh_interval(Duration::from_secs(13))
        .with_page_size(14)
        .with_max_back_off(Duration::from_secs(15))
        .with_held_back_timeout(Duration::from_secs(16));
    assert_eq!(journal.settings.query, queries);
    assert_eq!(journal.serializer, Serializer::Json);
    assert!(journal.section.is_empty());
}

#[test]
fn every_key_of_a_snapshot_store_reaches_its_settings() {
    let text = r#"
        [persistence.snapshot-store.a]
        kind = "memory"
        serializer = "json"
        initialize-timeout = "1s"
        max-held-requests = 21
        load-timeout = "2s"
        save-timeout = "4s"
        max-concurrent-calls = 5
        bytes-per-second = "3KiB"
        snapshot-is-optional = true
        [persistence.snapshot-store.a.circuit-breaker]
        max-failures = 3
        call-timeout = "8s"
        reset-timeout = "9s"
        max-reset-timeout = "10s"
        exponential-backoff = 1.5
        random-factor = 0.25
    "#;
    let settings = settings(&config(text));
    let [store] = &settings.snapshot_stores.stores[..] else {
        panic!("{:?}", settings.snapshot_stores);
    };
    let mut expected = SnapshotSettings::new("a");
    expected.initialize_timeout = Duration::from_secs(1);
    expected.max_held_requests = 21;
    expected.load_timeout = Duration::from_secs(2);
    expected.save_timeout = Duration::from_secs(4);
    expected.max_concurrent_calls = 5;
    expected.bytes_per_second = 3_072;
    expected.snapshot_is_optional = true;
    expected.circuit_breaker = breaker(3);
    assert_eq!(store.settings, expected);
    assert_eq!(store.serializer, Serializer::Json);
    assert!(store.section.is_empty());
}

fn breaker(max_failures: u32) -> BreakerSettings {
    let mut breaker = BreakerSettings::journal();
    breaker.max_failures = max_failures;
    breaker.call_timeout = Duration::from_secs(8);
    breaker.reset_timeout = Duration::from_secs(9);
    breaker.max_reset_timeout = Duration::from_secs(10);
    breaker.exponential_backoff = 1.5;
    breaker.random_factor = 0.25;
    breaker
}

#[test]
fn every_key_for_actors_reaches_its_settings() {
    let text = r#"
        [persistence]
        internal-stash.capacity = 1
        internal-stash.overflow = "drop"
        published-events.capacity = 2
        dead-letters.capacity = 3
        [persistence.back-off]
        min = "1s"
        max = "2s"
        random-factor = 0.5
        max-restarts = 0
        reset-after = "3s"
        keep-stash = false
        on-conflict = "stop"
    "#;
    let settings = settings(&config(text));
    assert_eq!(
        settings.stash_policy.to_string(),
        "capacity 1, overflow drop"
    );
    let mut expected = BackOffSettings::default();
    expected.min = Duration::from_secs(1);
    expected.max = Duration::from_secs(2);
    expected.random_factor = 0.5;
    expected.max_restarts = Some(0);
    expected.reset_after = Some(Duration::from_secs(3));
    expected.keep_stash = false;
    expected.on_conflict = OnConflict::Stop;
    assert_eq!(settings.back_off, expected);
    assert_eq!(settings.notifications.published_events, 2);
    assert_eq!(settings.notifications.dead_letters, 3);
}

#[test]
fn the_delays_of_actors_follow_each_other() {
    let code = Config::new().with("persistence.back-off.min", "1m");
    let back_off = settings(&code).back_off;
    assert_eq!(back_off.max, Duration::from_secs(60));
    assert_eq!(back_off.reset_after, Some(Duration::from_secs(60)));
    let code = Config::new().with("persistence.back-off.max", "5s");
    let back_off = settings(&code).back_off;
    assert_eq!(back_off.reset_after, Some(Duration::from_secs(4)));
}

#[test]
fn the_recovery_limit_holds_for_every_journal_without_one_of_its_own() {
    let text = r#"
        [persistence]
        max-concurrent-recoveries = 7
        [persistence.journal.memory]
        [persistence.journal.sqlite]
        max-concurrent-recoveries = 8
    "#;
    let settings = settings(&config(text));
    let numbers: Vec<_> = settings
        .journals
        .stores
        .iter()
        .map(|journal| journal.settings.actor.max_concurrent_recoveries)
        .collect();
    assert_eq!(numbers, [7, 8]);
}

#[test]
fn a_fallback_fills_in_what_a_section_lacks_key_by_key() {
    let text = r#"
        [persistence.journal-plugin-fallback]
        kind = "sqlite"
        url = "sqlite://fallback.db"
        write-timeout = "5s"
        [persistence.journal-plugin-fallback.circuit-breaker]
        max-failures = 1
        call-timeout = "1s"
        [persistence.journal.a]
        url = "sqlite://own.db"
        circuit-breaker.max-failures = 2
        [persistence.journal.b]
        kind = "memory"
        [persistence.snapshot-store.memory]
    "#;
    let settings = settings(&config(text));
    let [a, b] = &settings.journals.stores[..] else {
        panic!("{:?}", settings.journals);
    };
    let url = |section: &Section| section.get("url").unwrap().value.clone();
    assert_eq!((a.kind, b.kind), ("sqlite", "memory"));
    assert_eq!(url(&a.section), Value::from("sqlite://own.db"));
    assert_eq!(url(&b.section), Value::from("sqlite://fallback.db"));
    assert_eq!(a.settings.actor.write_timeout, Duration::from_secs(5));
    assert_eq!(a.settings.actor.circuit_breaker.max_failures, 2);
    assert_eq!(b.settings.actor.circuit_breaker.max_failures, 1);
    assert_eq!(
        a.settings.actor.circuit_breaker.call_timeout,
        Duration::from_secs(1)
    );
    assert_eq!(
        a.settings.actor.circuit_breaker.reset_timeout,
        Duration::from_secs(30)
    );
    // It is the fallback of journals only.
    let snapshots = &settings.snapshot_stores.stores[0].settings;
    assert_eq!(*snapshots, SnapshotSettings::new("memory"));
}

#[test]
fn every_replay_filter_mode_can_be_set_in_the_fallback_of_all_journals() {
    let mode = |text: &str| {
        settings(&config(text)).journals.stores[0]
            .settings
            .actor
            .replay_filter
            .mode
    };
    for (name, expected) in [
        (
            "repair-by-discard-old",
            ReplayFilterMode::RepairByDiscardOld,
        ),
        ("fail", ReplayFilterMode::Fail),
        ("warn", ReplayFilterMode::Warn),
        ("off", ReplayFilterMode::Off),
    ] {
        let fallback = format!(
            "[persistence.journal-plugin-fallback]\nreplay-filter.mode = \"{name}\"\n[persistence.journal.memory]\n"
        );
        assert_eq!(mode(&fallback), expected);
    }
    assert_eq!(
        mode("[persistence.journal.memory]\n"),
        ReplayFilterMode::Fail
    );
}

#[test]
fn keys_of_akka_without_meaning_get_one_warning_each() {
    let text = r#"
        [persistence.journal-plugin-fallback]
        replay-dispatcher = "x"
        [persistence.journal.memory]
        class = "akka.persistence.journal.inmem.InmemJournal"
        plugin-dispatcher = "akka.actor.default-dispatcher"
        max-message-batch-size = 200
        [persistence.journal.sqlite]
        [persistence.snapshot-store.memory]
        stream-dispatcher = "x"
    "#;
    let (resolution, warnings) = config(text).resolve_silently(&KINDS, &NamedCode::default());
    assert_eq!(resolution.mistakes.check(), Ok(()));
    assert_eq!(
        warnings,
        [
            "app.toml:3: 'persistence.journal-plugin-fallback.replay-dispatcher' has no meaning here and is ignored; \
             stores have threads of their own",
            "app.toml:5: 'persistence.journal.memory.class' has no meaning here and is ignored; \
             'kind' chooses the plugin",
            "app.toml:6: 'persistence.journal.memory.plugin-dispatcher' has no meaning here and is ignored; \
             stores have threads of their own",
            "app.toml:7: 'persistence.journal.memory.max-message-batch-size' has no meaning here and is ignored; \
             whatever waits is written together, as far as the plugin can take it",
            "app.toml:10: 'persistence.snapshot-store.memory.stream-dispatcher' has no meaning here and is ignored; \
             stores have threads of their own",
        ]
    );
    assert!(resolution.settings.journals.stores[0].section.is_empty());
}

#[test]
fn a_write_timeout_within_the_time_of_one_call_is_warned_of() {
    let text = "[persistence.journal.sqlite]\nwrite-timeout = \"5s\"\n";
    let (resolution, warnings) = config(text).resolve_silently(&KINDS, &Default::default());
    assert_eq!(resolution.mistakes.check(), Ok(()));
    assert_eq!(
        warnings,
        [
            "'persistence.journal.sqlite': 'write-timeout' (5s) is not longer than \
             'circuit-breaker.call-timeout' (10s), so writes are given up that are about to be answered"
        ]
    );
}
