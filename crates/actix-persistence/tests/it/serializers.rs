//! Formats that the application registers.

use std::error::Error;
use std::io::Write;

use actix_persistence::payload::{ReadValue, SerdeFormat, erased_serde};
use actix_persistence::prelude::*;
use actix_persistence::storage_api::{Journal, PageLimit, ReplayRange};
use actix_persistence::{Builder, Config, OpenError};
use cbor4ii::core::dec::Read;
use cbor4ii::core::utils::{IoWriter, SliceReader};

use crate::counter::{Count, Counter, Total};

type Failure = Box<dyn Error + Send + Sync>;

struct Cbor;

impl SerdeFormat for Cbor {
    fn id(&self) -> u32 {
        1_000
    }

    fn name(&self) -> &str {
        "cbor"
    }

    fn encode(
        &self,
        value: &dyn erased_serde::Serialize,
        out: &mut dyn Write,
    ) -> Result<(), Failure> {
        let mut cbor = cbor4ii::serde::Serializer::new(IoWriter::new(out));
        erased_serde::serialize(value, &mut cbor).map_err(|error| error.to_string().into())
    }

    fn decode(&self, bytes: &[u8], read: &mut ReadValue<'_>) -> Result<(), Failure> {
        let mut cbor = cbor4ii::serde::Deserializer::new(SliceReader::new(bytes));
        read(&mut <dyn erased_serde::Deserializer<'_>>::erase(&mut cbor))?;
        match cbor.into_inner().fill(1)?.as_ref() {
            [] => Ok(()),
            _ => Err("bytes after the value".into()),
        }
    }
}

/// Another one that wants to be "cbor".
struct Impostor;

impl SerdeFormat for Impostor {
    fn id(&self) -> u32 {
        1_001
    }

    fn name(&self) -> &str {
        "cbor"
    }

    fn encode(&self, _: &dyn erased_serde::Serialize, _: &mut dyn Write) -> Result<(), Failure> {
        Err("it writes nothing".into())
    }

    fn decode(&self, _: &[u8], _: &mut ReadValue<'_>) -> Result<(), Failure> {
        Err("it reads nothing".into())
    }
}

fn on(directory: &std::path::Path, serializer: &str) -> Builder {
    let url = format!("sqlite://{}/bank.db", directory.display());
    let config = Config::new()
        .with("persistence.journal.plugin", "sqlite")
        .with("persistence.journal.sqlite.url", url.as_str())
        .with("persistence.journal.sqlite.serializer", serializer);
    Persistence::builder().config(config)
}

async fn stored_by(persistence: &Persistence) -> Vec<u32> {
    let journal = persistence.journal::<actix_persistence::sqlite::SqliteJournal>("sqlite");
    let id = PersistenceId::of("Counter", "1");
    let page = journal
        .unwrap()
        .replay_messages(&id, ReplayRange::ALL, PageLimit::DEFAULT)
        .await
        .unwrap();
    let events = page.events.iter();
    events.map(|event| event.payload.serializer_id).collect()
}

#[actix::test]
async fn a_journal_holds_events_of_several_formats() {
    let directory = tempfile::tempdir().unwrap();
    for (serializer, count, total) in [("json", 1, 1), ("cbor", 2, 3), ("messagepack", 3, 6)] {
        let opened = on(directory.path(), serializer).serializer(Cbor).open();
        let persistence = opened.await.unwrap();
        let counter = persistence.start(|| Counter::named("1")).unwrap();
        assert_eq!(counter.send(Count(count)).await.unwrap().unwrap(), total);
        let shown = format!("serializer = \"{serializer}\"  # code");
        let config = persistence.journal_config("sqlite").unwrap();
        assert!(config.contains(&shown), "{config}");
        persistence.stop(std::time::Duration::from_secs(60)).await;
    }
    let persistence = on(directory.path(), "json").serializer(Cbor).open();
    let persistence = persistence.await.unwrap();
    let counter = persistence.start(|| Counter::named("1")).unwrap();
    assert_eq!(counter.send(Total).await.unwrap(), 6);
    assert_eq!(stored_by(&persistence).await, [2, 1_000, 1]);
}

#[actix::test]
async fn an_event_of_a_format_that_is_not_registered_names_those_that_are() {
    let directory = tempfile::tempdir().unwrap();
    let opened = on(directory.path(), "cbor").serializer(Cbor).open();
    let persistence = opened.await.unwrap();
    let counter = persistence.start(|| Counter::named("1")).unwrap();
    counter.send(Count(1)).await.unwrap().unwrap();
    persistence.stop(std::time::Duration::from_secs(60)).await;

    let persistence = on(directory.path(), "json").open().await.unwrap();
    let error = persistence.replay(Counter::named("1")).await.err().unwrap();
    let error = actix_persistence::error::ErrorChain(&error).to_string();
    assert_eq!(
        error,
        "could not decode event 1 of \"Counter|1\", stored by serializer 1000 as \"test.counted:v1\": unknown \
         serializer id 1000, this program knows 1 (messagepack), 2 (json)"
    );
}

/// An event that names a format by its id.
#[derive(serde::Serialize, serde::Deserialize)]
struct Drawn;

impl Event for Drawn {
    const MANIFEST: &'static str = "test.drawn";
    const VERSION: u32 = 1;
    const SERIALIZER: Option<Serializer> = Some(Serializer::Registered(1_000));
}

struct Painter;

impl actix::Actor for Painter {
    type Context = PersistentContext<Self>;
}

impl PersistentActor for Painter {
    type Event = Drawn;
    type Snapshot = NoSnapshot;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of("Painter", "1")
    }

    fn on_event(&mut self, _: &Drawn) {}
}

#[actix::test]
async fn an_actor_whose_event_names_an_unknown_format_is_not_started() {
    let persistence = Persistence::memory().await.unwrap();
    let error = persistence.start(|| Painter).err().unwrap();
    assert_eq!(
        error.to_string(),
        "the actor with the persistence id \"Painter|1\" stores by the unknown serializer 1000, this program knows 1 \
         (messagepack), 2 (json); register it with the builder"
    );
    let builder = Persistence::builder().memory().serializer(Cbor);
    let persistence = builder.open().await.unwrap();
    assert!(persistence.start(|| Painter).is_ok());
}

#[actix::test]
async fn formats_that_collide_and_names_that_are_unknown_fail_the_opening() {
    let directory = tempfile::tempdir().unwrap();
    let colliding = on(directory.path(), "cbor").serializer(Cbor);
    let error = colliding.serializer(Impostor).open().await.err().unwrap();
    assert!(matches!(error, OpenError::Serializers(_)), "{error}");
    assert_eq!(
        actix_persistence::error::ErrorChain(&error).to_string(),
        "could not register the serializers: the serializers 1000 and 1001 have the same name 'cbor'"
    );
    let misspelt = on(directory.path(), "cbro").serializer(Cbor).open().await;
    let error = misspelt.err().unwrap().to_string();
    assert!(
        error.contains("unknown serializer \"cbro\"; did you mean \"cbor\"? known serializers: cbor, json, messagepack"),
        "{error}"
    );
    // A tool that decodes nothing needs no serializers.
    let tool = on(directory.path(), "json").open().await.unwrap();
    drop(tool);
    on(directory.path(), "cbor")
        .without_making()
        .open()
        .await
        .unwrap();
}
