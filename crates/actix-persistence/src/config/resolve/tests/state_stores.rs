//! Stores of durable states, and what they name.

use std::sync::Arc;

use actix_persistence_query::QuerySettings;
use actix_persistence_state_actor::StateSettings;
use actix_persistence_storage_api::{
    AdditionalColumn, ChangeHandler, ColumnValue, ExtensionError, Session, SqlValue, StateChange,
};

use super::*;

struct Title(&'static str);

impl AdditionalColumn for Title {
    fn column_name(&self) -> &str {
        self.0
    }

    fn bind(&self, _: &StateChange<'_>) -> Result<ColumnValue, ExtensionError> {
        Ok(SqlValue::Null.into())
    }
}

struct Counts;

#[async_trait::async_trait]
impl ChangeHandler for Counts {
    async fn process(
        &self,
        _: &mut dyn Session,
        _: &StateChange<'_>,
    ) -> Result<(), ExtensionError> {
        Ok(())
    }
}

/// Returns the code that the program has registered.
fn code() -> NamedCode {
    let mut code = NamedCode::default();
    for (name, column) in [("title", "title"), ("heading", "title"), ("author", "by")] {
        code.columns
            .insert(name.to_owned(), Arc::new(Title(column)));
    }
    code.change_handlers
        .insert("counts".to_owned(), Arc::new(Counts));
    code
}

fn resolve(text: &str) -> Resolution {
    config(text).resolve_silently(&KINDS, &code()).0
}

fn mistakes_of(text: &str) -> String {
    resolve(text).mistakes.check().unwrap_err().to_string()
}

#[test]
fn a_state_store_has_settings_of_its_own_and_those_of_its_fallback() {
    let text = r#"[persistence]
max-concurrent-recoveries = 7
[persistence.state]
plugin = "akka.persistence.state.posts"
[persistence.state.posts]
kind = "sqlite"
write-timeout = "5s"
max-concurrent-calls = 3
url = "sqlite://blog.db"
[persistence.state.memory]
max-concurrent-recoveries = 9
[persistence.state-plugin-fallback]
recovery-timeout = "6s"
circuit-breaker.call-timeout = "2s"
query.refresh-interval = "1s"
"#;
    let settings = settings(&config(text));
    assert_eq!(settings.state_stores.default.as_deref(), Some("posts"));
    let [memory, posts] = &settings.state_stores.stores[..] else {
        panic!("{:?}", settings.state_stores);
    };
    let mut expected = StateSettings::new("memory");
    expected.recovery_timeout = Duration::from_secs(6);
    expected.circuit_breaker.call_timeout = Duration::from_secs(2);
    expected.max_concurrent_recoveries = 9;
    assert_eq!(memory.settings.actor, expected);
    let queries = QuerySettings::default().with_refresh_interval(Duration::from_secs(1));
    assert_eq!(memory.settings.query, queries);
    assert!(memory.settings.extensions.is_empty());
    expected.plugin_id = "posts".into();
    expected.max_concurrent_recoveries = 7;
    expected.write_timeout = Duration::from_secs(5);
    expected.max_concurrent_calls = 3;
    assert_eq!(posts.settings.actor, expected);
    let left: Vec<_> = posts.section.iter().map(|(key, _)| key).collect();
    assert_eq!(left, ["url"]);
}

#[test]
fn every_key_of_a_state_store_reaches_its_settings() {
    let text = r#"
        [persistence.state.a]
        kind = "memory"
        serializer = "json"
        initialize-timeout = "1s"
        max-held-requests = 21
        recovery-timeout = "2s"
        write-timeout = "3s"
        recovery-permit-timeout = "4s"
        max-concurrent-recoveries = 5
        max-concurrent-calls = 6
        query.refresh-interval = "11s"
        query.page-size = 12
        query.max-back-off = "13s"
        [persistence.state.a.circuit-breaker]
        max-failures = 7
        call-timeout = "8s"
        reset-timeout = "9s"
        max-reset-timeout = "10s"
        exponential-backoff = 1.5
        random-factor = 0.25
    "#;
    let settings = settings(&config(text));
    let [store] = &settings.state_stores.stores[..] else {
        panic!("{:?}", settings.state_stores);
    };
    let mut expected = StateSettings::new("a");
    expected.initialize_timeout = Duration::from_secs(1);
    expected.max_held_requests = 21;
    expected.recovery_timeout = Duration::from_secs(2);
    expected.write_timeout = Duration::from_secs(3);
    expected.recovery_permit_timeout = Duration::from_secs(4);
    expected.max_concurrent_recoveries = 5;
    expected.max_concurrent_calls = 6;
    expected.circuit_breaker = breaker(7);
    assert_eq!(store.settings.actor, expected);
    let queries = QuerySettings::default()
        .with_refresh_interval(Duration::from_secs(11))
        .with_page_size(12)
        .with_max_back_off(Duration::from_secs(13));
    assert_eq!(store.settings.query, queries);
    assert_eq!(store.serializer, Serializer::Json);
    assert!(store.section.is_empty());
}

#[test]
fn columns_tables_and_handlers_are_bound_by_entity_type() {
    let text = r#"[persistence.journal.events]
kind = "sqlite"
url = "sqlite://blog.db"
lanes = 1
[persistence.state.sqlite]
change-event-journal = "persistence.journal.events"
custom-table."a%b" = "odd"
[persistence.state.sqlite.additional-columns]
BlogPost = ["title", "author"]
"a%b" = "title"
[persistence.state-plugin-fallback.change-handler]
BlogPost = "counts"
"#;
    let resolution = resolve(text);
    assert_eq!(resolution.mistakes.check(), Ok(()));
    let settings = &resolution.settings.state_stores.stores[0].settings;
    let types = &settings.extensions.entity_types;
    let names: Vec<_> = types.keys().collect();
    assert_eq!(names, ["BlogPost", "a%b"]);
    let columns = |entity_type: &str| -> Vec<_> {
        let columns = types[entity_type].columns.iter();
        columns.map(|column| column.column_name()).collect()
    };
    assert_eq!(columns("BlogPost"), ["title", "by"]);
    assert_eq!(columns("a%b"), ["title"]);
    assert_eq!(types["a%b"].table.as_deref(), Some("odd"));
    assert_eq!(types["BlogPost"].table, None);
    assert!(types["BlogPost"].change_handler.is_some());
    assert!(types["a%b"].change_handler.is_none());
    assert_eq!(settings.change_event_journal.as_deref(), Some("events"));
    let journal = settings.extensions.change_event_journal.as_ref().unwrap();
    let keys: Vec<_> = journal.iter().map(|(key, _)| key).collect();
    assert_eq!(keys, ["url"]);
}

#[test]
fn unregistered_names_are_reported_where_they_stand() {
    let text = r#"[persistence.journal.memory]
[persistence.state.sqlite]
change-event-journal = "events"
additional-columns.Post = ["titel", "title", "heading"]
change-handler.Post = "count"
custom-table.Post = ""
custom-table.Note = 5
custom-table."a|b" = "ab"
[persistence.state.other]
kind = "sqlite"
[persistence.state-plugin-fallback]
change-event-journal = "memory"
"#;
    let state = "'persistence.state.sqlite";
    let expected = [
        format!(
            "app.toml:3: {state}.change-event-journal' names the unknown journal \"events\"; known journals: memory"
        ),
        format!("app.toml:4: {state}.additional-columns.Post' names the unknown additional column \"titel\"; did you mean \"title\"? known additional columns: author, heading, title; register it with 'Builder::additional_column'"),
        format!("app.toml:4: {state}.additional-columns.Post' names two columns 'title'; leave one of them out"),
        format!("app.toml:5: {state}.change-handler.Post' names the unknown change handler \"count\"; did you mean \"counts\"? known change handlers: counts; register it with 'Builder::change_handler'"),
        format!("app.toml:7: {state}.custom-table.Note' must be a string, not 5"),
        format!("app.toml:6: {state}.custom-table.Post' must name a table"),
        format!("app.toml:8: {state}.custom-table.a|b' names an entity type with a '|', which none has; it is what stands before the first one of an id"),
        "app.toml:12: 'persistence.state-plugin-fallback.change-event-journal' names a journal of the kind \"memory\", but must name one in the database of the states".to_owned(),
    ];
    let found = mistakes_of(text);
    let mut expected = expected.to_vec();
    expected.sort_by_key(|line| line.split(':').nth(1).and_then(|n| n.parse::<u32>().ok()));
    assert_eq!(found, expected.join("\n"));
}

#[test]
fn an_unknown_key_of_a_state_store_comes_with_the_known_ones() {
    let found = mistakes_of(
        "[persistence.state]\nplugni = \"x\"\n[persistence.state.memory]\nsave-timeout = 1\n",
    );
    let mut resolution = resolve("[persistence.state.memory]\nsave-timeout = 1\n");
    assert!(
        found.contains("unknown key 'persistence.state.plugni'; did you mean 'plugin'?"),
        "{found}"
    );
    let store = &resolution.settings.state_stores.stores[0];
    let errors = store.section.reader().finish().unwrap_err();
    resolution.mistakes.add(store.where_written(errors));
    let found = resolution.mistakes.check().unwrap_err().to_string();
    assert_eq!(
        found,
        "app.toml:2: unknown key 'persistence.state.memory.save-timeout'; known keys: additional-columns, \
         change-event-journal, change-handler, circuit-breaker, compression, compression-min-bytes, custom-table, initialize-timeout, kind, \
         max-concurrent-calls, max-concurrent-recoveries, max-held-requests, query, recovery-permit-timeout, recovery-timeout, serializer, \
         write-timeout"
    );
}

#[cfg(feature = "hocon")]
#[test]
fn the_state_block_of_an_akka_config_is_read() {
    let text = r#"
akka.persistence {
  state {
    plugin = "akka.persistence.state.sqlite"
    sqlite {
      class = "akka.persistence.r2dbc.state.scaladsl.R2dbcDurableStateStoreProvider"
      additional-columns { "Blog/Post" = ["title"] }
      change-handler { "Blog/Post" = counts }
    }
  }
  state-plugin-fallback.recovery-timeout = 10s
}
"#;
    let config = Config::from_hocon(text, "application.conf").unwrap();
    let (resolution, warnings) = config.resolve_silently(&KINDS, &code());
    assert_eq!(resolution.mistakes.check(), Ok(()));
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("'kind' chooses the plugin"));
    let settings = resolution.settings;
    assert_eq!(settings.state_stores.default.as_deref(), Some("sqlite"));
    let store = &settings.state_stores.stores[0].settings;
    assert_eq!(store.actor.recovery_timeout, Duration::from_secs(10));
    let post = &store.extensions.entity_types["Blog/Post"];
    assert_eq!(post.columns.len(), 1);
    assert!(post.change_handler.is_some());
}
