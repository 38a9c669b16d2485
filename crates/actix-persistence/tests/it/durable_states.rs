//! Actors whose state is stored, by what the config says of their stores.

use std::sync::Arc;
use std::time::Duration;

use actix_persistence::error::UnknownStore;
use actix_persistence::memory::{MemoryPlugin, MemoryStateStore, MemoryStorage};
use actix_persistence::prelude::*;
use actix_persistence::sqlite::SqliteStateStore;
use actix_persistence::storage_api::{Journal, Plugin, StateExtensions, StateStore};
use actix_persistence::{
    Config, OpenError,
    config::{ConfigErrors, Section},
};

use crate::counter::Counter;
use crate::note::{Note, Write};

async fn write(persistence: &Persistence, note: fn() -> Note, letter: char) -> String {
    let note = persistence.start(note).unwrap();
    note.send(Write(letter)).await.unwrap().unwrap()
}

#[actix::test]
async fn a_state_is_there_again_after_everything_was_closed() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("notes.db");
    for expected in ["a", "aa", "aaa"] {
        let persistence = Persistence::sqlite(&file).await.unwrap();
        persistence.ready().await.unwrap();
        let text = write(&persistence, || Note::named("1"), 'a').await;
        assert_eq!(text, expected);
        let read = persistence.replay(Note::named("1")).await.unwrap();
        assert_eq!(read.actor.text, expected);
        assert_eq!(read.sequence_nr, expected.len() as u64);
        persistence.drained().await;
    }
}

#[actix::test]
async fn each_actor_stores_its_state_where_it_says() {
    let text = r#"
[persistence.state]
plugin = "persistence.state.drafts"
[persistence.state.drafts]
[persistence.state.letters]
serializer = "json"
[persistence.state-plugin-fallback]
kind = "memory"
"#;
    let plugin = MemoryPlugin::new();
    let config = Config::from_toml(text, "app.toml").unwrap();
    let config = config.with_env([
        ("ACTIX_PERSISTENCE__STATE__DRAFTS__NAME", "one"),
        ("ACTIX_PERSISTENCE__STATE__LETTERS__NAME", "other"),
    ]);
    let builder = Persistence::builder().plugin(plugin.clone()).config(config);
    let persistence = builder.open().await.unwrap();
    assert_eq!(write(&persistence, || Note::named("1"), 'd').await, "d");
    let letter = || Note::stored_in("persistence.state.letters");
    assert_eq!(write(&persistence, letter, 'l').await, "l");
    for (name, text, serializer_id) in [("one", "d", 1), ("other", "l", 2)] {
        let store = plugin.storage(name).state_store();
        let id = PersistenceId::of("Note", "1");
        let stored = store.get(&id).await.unwrap();
        assert_eq!(stored.revision, 1);
        let payload = stored.state.unwrap().payload;
        assert!(String::from_utf8_lossy(&payload.bytes).contains(text));
        assert_eq!(payload.serializer_id, serializer_id);
    }
    let shown = persistence.state_store_config("letters").unwrap();
    for line in [
        "serializer = \"json\"  # app.toml:6",
        "kind = \"memory\"  # app.toml:8",
        "name = \"other\"  # environment variable ACTIX_PERSISTENCE__STATE__LETTERS__NAME",
        "recovery-timeout = \"30s\"  # default",
    ] {
        assert!(shown.contains(line), "{line:?} is not in\n{shown}");
    }
}

#[actix::test]
async fn a_state_store_that_is_not_configured_is_refused_by_name() {
    let text = "[persistence.journal]\nplugin = \"memory\"\n[persistence.journal.memory]\n";
    let config = Config::from_toml(text, "app.toml").unwrap();
    let persistence = Persistence::open(config).await.unwrap();
    let error = persistence.start(|| Note::named("1")).err().unwrap();
    assert_eq!(
        error,
        StartError::UnknownStore(UnknownStore::NoDefaultStateStore)
    );
    assert!(error.to_string().contains("'persistence.state.plugin'"));
    let error = persistence.states(None).err().unwrap();
    assert_eq!(error, UnknownStore::NoDefaultStateStore);
    let error = persistence.start(|| Note::stored_in("notes")).err();
    let message = error.unwrap().to_string();
    assert!(
        message.contains("no state store with the plugin id 'notes'"),
        "{message}"
    );
    assert!(persistence.state_store_config("notes").is_none());
}

#[actix::test]
async fn a_store_is_reached_by_its_type_or_as_any() {
    let directory = tempfile::tempdir().unwrap();
    let persistence = Persistence::sqlite(directory.path().join("notes.db"));
    let persistence = persistence.await.unwrap();
    write(&persistence, || Note::named("1"), 'a').await;
    assert!(
        persistence
            .state_store::<SqliteStateStore>("sqlite")
            .is_some()
    );
    assert!(
        persistence
            .state_store::<MemoryStateStore>("sqlite")
            .is_none()
    );
    let id = PersistenceId::of("Note", "1");
    for plugin_id in [None, Some("sqlite"), Some("persistence.state.sqlite")] {
        let states = persistence.states(plugin_id).unwrap();
        assert_eq!(states.get(&id).await.unwrap().revision, 1);
    }
}

#[actix::test]
async fn a_store_of_the_program_is_the_default_one() {
    let storage = MemoryStorage::new();
    let builder = Persistence::builder().state_store("mine", Arc::new(storage.state_store()));
    let persistence = builder.open().await.unwrap();
    assert_eq!(write(&persistence, || Note::named("1"), 'a').await, "a");
    let stored = persistence.state_store::<MemoryStateStore>("mine");
    assert!(stored.is_some());
}

#[actix::test]
async fn everything_stops_with_its_states_stored() {
    // Without any journal.
    let storage = MemoryStorage::new();
    let builder = Persistence::builder().state_store("mine", Arc::new(storage.state_store()));
    let persistence = builder.open().await.unwrap();
    let note = persistence.start(|| Note::named("1")).unwrap();
    let written = note.send(Write('a'));
    // It has to be in the mailbox before that is sealed.
    let stopped = persistence.stop(Duration::from_secs(60));
    let (written, report) = tokio::join!(biased; written, stopped);
    assert_eq!(written.unwrap().unwrap(), "a");
    assert_eq!(report.to_string(), "1 of 1 actors stopped");
    assert!(persistence.is_stopping());
    let refused = persistence.start(|| Note::named("2")).err();
    assert_eq!(refused, Some(StartError::Stopping));
}

/// Lets a journal in memory take the events of changes, which it does not get.
struct Together(MemoryStorage);

impl Plugin for Together {
    fn name(&self) -> &'static str {
        "together"
    }

    fn journal(&self, _: &Section) -> Result<Arc<dyn Journal>, ConfigErrors> {
        Ok(Arc::new(self.0.journal()))
    }

    fn state_store(
        &self,
        _: &Section,
        extensions: &StateExtensions,
    ) -> Result<Arc<dyn StateStore>, ConfigErrors> {
        let journal = extensions.change_event_journal.as_ref().unwrap();
        assert_eq!(journal.path(), "persistence.journal.together");
        Ok(Arc::new(self.0.state_store()))
    }
}

#[actix::test]
async fn an_id_is_live_in_its_state_store_or_in_its_journal_of_changes() {
    let config = Config::new()
        .with("persistence.journal.plugin", "together")
        .with("persistence.journal.together.kind", "together")
        .with("persistence.state.plugin", "notes")
        .with("persistence.state.notes.kind", "together")
        .with("persistence.state.notes.change-event-journal", "together");
    let plugin = Together(MemoryStorage::new());
    let builder = Persistence::builder().plugin(plugin).config(config);
    let persistence = builder.open().await.unwrap();
    let counter = persistence.start(|| Counter::named("1")).unwrap();
    let note = || Note {
        entity_type: "Counter",
        ..Note::named("1")
    };
    let refused = persistence.start(note).err().unwrap();
    assert!(
        matches!(refused, StartError::AlreadyRunning(_)),
        "{refused}"
    );
    let note = persistence.start(|| Note::named("1")).unwrap();
    assert_eq!(note.send(Write('a')).await.unwrap().unwrap(), "a");
    assert!(counter.connected());
    let report = persistence.stop(Duration::from_secs(60)).await;
    assert_eq!(report.to_string(), "2 of 2 actors stopped");
}

#[actix::test]
async fn opening_fails_and_names_the_state_store_that_waiting_does_not_cure() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("notes.db");
    std::fs::write(&file, "no database ".repeat(100)).unwrap();
    let config = Config::new()
        .with("persistence.state.notes.kind", "sqlite")
        .with("persistence.state.notes.url", file.to_str().unwrap());
    let error = Persistence::open(config).await.err().unwrap();
    assert!(
        matches!(&error, OpenError::StateStore { plugin_id, .. } if plugin_id == "notes"),
        "{error:?}"
    );
}

#[test]
fn the_schema_of_a_state_store_is_among_the_others() {
    let config = Config::new()
        .with("persistence.journal.sqlite.url", "sqlite://a.db")
        .with("persistence.state.sqlite.url", "sqlite://a.db")
        // The program that prints it need not have that code.
        .with("persistence.state.sqlite.additional-columns.Note", "title")
        .with("persistence.state.sqlite.change-handler.Note", "counts")
        .with("persistence.state.memory.name", "x");
    let schemas = Persistence::builder().config(config).schema(None).unwrap();
    let schemas = schemas.iter().map(|schema| {
        let sql = schema.sql.as_deref().unwrap_or("none");
        let has_states = sql.contains("durable_state");
        (schema.sort, &*schema.plugin_id, has_states)
    });
    assert_eq!(
        schemas.collect::<Vec<_>>(),
        [
            ("journal", "sqlite", false),
            ("state store", "memory", false),
            ("state store", "sqlite", true),
        ]
    );
}
