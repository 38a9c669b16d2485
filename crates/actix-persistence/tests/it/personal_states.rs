//! Durable states and their change events with personal data, in a database.

use std::borrow::Cow;
use std::collections::HashMap;
use std::error::Error;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use actix::prelude::*;
use actix_persistence::error::ErrorChain;
use actix_persistence::payload::{CurrentKey, EncryptionKey, FoundKey, KeyId, KeyStore, Shredded};
use actix_persistence::prelude::*;
use actix_persistence::query::{Changed, EventOffset, EventSelection, StateOffset};
use actix_persistence::storage_api::FindStates;
use actix_persistence::{Config, Persistence};
use futures_util::{StreamExt, TryStreamExt};
use serde::{Deserialize, Serialize};

/// A key for each patient, which can be destroyed.
#[derive(Default)]
struct Keys(Mutex<HashMap<KeyId, FoundKey>>);

impl KeyStore for Keys {
    fn current_key(&self, subject: &str) -> Result<CurrentKey, Box<dyn Error + Send + Sync>> {
        let id = KeyId::new(subject.as_bytes())?;
        let random = FoundKey::Key(EncryptionKey::random()?);
        let mut keys = self.0.lock().unwrap();
        match keys.entry(id.clone()).or_insert(random).clone() {
            FoundKey::Key(key) => Ok(CurrentKey { id, key }),
            _ => Err("the patient is forgotten".into()),
        }
    }

    fn find_key(&self, id: &KeyId) -> Result<FoundKey, Box<dyn Error + Send + Sync>> {
        let found = self.0.lock().unwrap().get(id).cloned();
        Ok(found.unwrap_or(FoundKey::Unknown))
    }
}

/// The same keys, which cannot be found for so many questions.
#[derive(Default)]
struct LateKeys {
    keys: Keys,
    failures: AtomicU32,
}

impl KeyStore for LateKeys {
    fn current_key(&self, subject: &str) -> Result<CurrentKey, Box<dyn Error + Send + Sync>> {
        self.keys.current_key(subject)
    }

    fn find_key(&self, id: &KeyId) -> Result<FoundKey, Box<dyn Error + Send + Sync>> {
        let one_less = |left: u32| left.checked_sub(1);
        let failures = &self.failures;
        match failures.fetch_update(Ordering::AcqRel, Ordering::Acquire, one_less) {
            Ok(_) => Err("the keys are locked".into()),
            Err(_) => self.keys.find_key(id),
        }
    }
}

const DIAGNOSIS: &str = "a broken arm; a broken arm; a broken arm; a broken arm; a broken arm";

/// The diagnosis of a patient.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Record {
    patient: String,
    diagnosis: String,
}

impl State for Record {
    const MANIFEST: &'static str = "clinic.record";
    const VERSION: u32 = 1;

    fn data_subject(&self) -> Option<Cow<'_, str>> {
        Some(self.patient.as_str().into())
    }

    fn shredded(_: &Shredded<'_>) -> Option<Self> {
        Some(Self::forgotten())
    }
}

impl Record {
    fn forgotten() -> Self {
        let (patient, diagnosis) = (String::new(), "forgotten".to_owned());
        Self { patient, diagnosis }
    }
}

/// The same state of a program that has nothing in the place of what is gone.
#[derive(Debug, Serialize, Deserialize)]
struct Unforgiving {
    patient: String,
}

impl State for Unforgiving {
    const MANIFEST: &'static str = "clinic.record";
    const VERSION: u32 = 1;
}

/// Says what was found.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Diagnosed {
    patient: String,
    diagnosis: String,
}

impl Event for Diagnosed {
    const MANIFEST: &'static str = "clinic.diagnosed";
    const VERSION: u32 = 1;

    fn data_subject(&self) -> Option<Cow<'_, str>> {
        Some(self.patient.as_str().into())
    }
}

struct Patient {
    name: &'static str,
    record: Option<Record>,
}

impl Patient {
    fn named(name: &'static str) -> Self {
        Self { name, record: None }
    }
}

impl Actor for Patient {
    type Context = PersistentContext<Self>;
}

impl DurableState for Patient {
    type State = Record;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of("Patient", self.name)
    }

    fn on_state(&mut self, state: Option<&Record>) {
        self.record = state.cloned();
    }
}

/// Stores the diagnosis, and an event of it; answers with the revision.
#[derive(Message)]
#[rtype(result = "Result<u64, PersistError>")]
struct Diagnose;

impl Handler<Diagnose> for Patient {
    type Result = Reply<Diagnose>;

    fn handle(&mut self, _: Diagnose, ctx: &mut Self::Context) -> Reply<Diagnose> {
        let (patient, diagnosis) = (self.name.to_owned(), DIAGNOSIS.to_owned());
        let event = Diagnosed {
            patient: patient.clone(),
            diagnosis: diagnosis.clone(),
        };
        ctx.persist_with_event(Record { patient, diagnosis }, &event)
            .reply_with(|_, ctx| Ok(ctx.revision()))
    }
}

async fn open(directory: &Path, keys: &Arc<impl KeyStore>) -> Persistence {
    let config = Config::new()
        .with("persistence.state.sqlite.change-event-journal", "sqlite")
        .with("persistence.state.sqlite.compression", "zstd")
        .with("persistence.state.sqlite.compression-min-bytes", "16");
    let builder = Persistence::builder().sqlite(directory.join("clinic.db"));
    let keys = Arc::clone(keys) as Arc<dyn KeyStore>;
    builder.config(config).key_store(keys).open().await.unwrap()
}

/// Returns the diagnoses that queries, SQL, a reader and a decoder beside actors see of ada.
async fn seen(persistence: &Persistence) -> Vec<String> {
    let id = PersistenceId::of("Patient", "ada");
    let queries = persistence.state_queries(None).unwrap();
    let changes =
        queries.current_changes_by_slices::<Record>("Patient", 0..=1023, StateOffset::start());
    let changes: Vec<Changed<Record>> = changes.try_collect().await.unwrap();
    let changed = changes.iter().find(|change| *change.persistence_id() == id);
    let found =
        persistence.find_states::<Record>(None, FindStates::new("Patient", "revision > 0", [], 10));
    let mut found = found.await.unwrap().into_iter();
    let found = found.find(|found| found.persistence_id == id).unwrap();
    let replayed = persistence.replay(Patient::named("ada")).await.unwrap();
    let current = persistence.states(None).unwrap().get(&id).await.unwrap();
    let payload = current.state.unwrap().payload;
    let serializers = persistence.serializers();
    let decoded = serializers.decode_state::<Record>(&id, current.revision, &payload);
    [
        changed.unwrap().state().cloned().unwrap(),
        found.state,
        replayed.actor.record.unwrap(),
        decoded.unwrap(),
    ]
    .map(|record| record.diagnosis)
    .to_vec()
}

#[actix::test]
async fn a_forgotten_patient_is_forgotten_by_states_events_and_queries() {
    let directory = tempfile::tempdir().unwrap();
    let keys = Arc::new(Keys::default());
    let persistence = open(directory.path(), &keys).await;
    for name in ["ada", "bob"] {
        let patient = persistence.start(move || Patient::named(name)).unwrap();
        assert_eq!(patient.send(Diagnose).await.unwrap().unwrap(), 1);
        assert_eq!(patient.send(Diagnose).await.unwrap().unwrap(), 2);
    }
    assert_eq!(seen(&persistence).await, [DIAGNOSIS; 4]);
    let ada = || PersistenceId::of("Patient", "ada");
    let mut events = Vec::new();
    let read = persistence.replay_events(ada(), |_, event: Diagnosed| events.push(event.diagnosis));
    read.await.unwrap();
    assert_eq!(events, [DIAGNOSIS; 2]);
    for entry in std::fs::read_dir(directory.path()).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        assert!(!bytes.windows(6).any(|part| part == b"broken"));
    }

    let ada_key = KeyId::new(b"ada").unwrap();
    keys.0.lock().unwrap().insert(ada_key, FoundKey::Destroyed);
    assert_eq!(seen(&persistence).await, ["forgotten"; 4]);
    let read = persistence.replay_events(ada(), |_, _: Diagnosed| ()).await;
    let error = ErrorChain(&read.unwrap_err()).to_string();
    assert!(error.contains("event 1 of \"Patient|ada\""), "{error}");
    assert!(error.contains("implement `shredded`"), "{error}");

    let queries = persistence.state_queries(None).unwrap();
    let changes =
        queries.current_changes_by_slices::<Unforgiving>("Patient", 0..=1023, StateOffset::start());
    let error = changes.try_collect::<Vec<_>>().await.unwrap_err();
    let error = ErrorChain(&error).to_string();
    assert!(
        error.contains("Patient|ada") && error.contains("shredded"),
        "{error}"
    );
    let found = persistence
        .find_states::<Unforgiving>(None, FindStates::new("Patient", "revision > 0", [], 10));
    let error = ErrorChain(&found.await.unwrap_err()).to_string();
    assert!(
        error.contains("Patient|ada") && error.contains("shredded"),
        "{error}"
    );
}

#[actix::test]
async fn a_live_query_waits_for_a_key_store_that_fails() {
    let directory = tempfile::tempdir().unwrap();
    let keys = Arc::new(LateKeys::default());
    let persistence = open(directory.path(), &keys).await;
    let patient = persistence.start(|| Patient::named("ada")).unwrap();
    assert_eq!(patient.send(Diagnose).await.unwrap().unwrap(), 1);

    keys.failures.store(2, Ordering::Release);
    let queries = persistence.state_queries(None).unwrap();
    let (slices, start) = (0..=1023, StateOffset::start());
    let mut changes =
        queries.current_changes_by_slices::<Record>("Patient", slices.clone(), start.clone());
    let error = changes.next().await.unwrap().unwrap_err();
    assert!(error.is_transient(), "{error:?}");
    assert!(changes.next().await.is_none());

    let mut changes = queries.changes_by_slices::<Record>("Patient", slices, start);
    let change = changes.next().await.unwrap().unwrap();
    assert_eq!(change.state().unwrap().diagnosis, DIAGNOSIS);
    assert_eq!(keys.failures.load(Ordering::Acquire), 0);
}

/// A stream that waits for a key stands still, and the tail goes on; it loses nothing.
#[actix::test]
async fn a_live_query_of_events_waits_for_a_key_store_that_fails() {
    let directory = tempfile::tempdir().unwrap();
    let keys = Arc::new(LateKeys::default());
    let persistence = open(directory.path(), &keys).await;
    let patient = persistence.start(|| Patient::named("ada")).unwrap();
    let queries = persistence.event_queries(None).unwrap();
    let start = EventOffset::start;
    let mut live = queries.events::<Diagnosed>(EventSelection::all(), start());
    for number in 1..=3 {
        keys.failures.store(2, Ordering::Release);
        assert_eq!(patient.send(Diagnose).await.unwrap().unwrap(), number);
        let envelope = live.next().await.unwrap().unwrap();
        assert_eq!(envelope.sequence_nr, number);
        assert_eq!(envelope.events[0].diagnosis, DIAGNOSIS);
        assert_eq!(keys.failures.load(Ordering::Acquire), 0);
    }
    keys.failures.store(1, Ordering::Release);
    let mut current = queries.current_events::<Diagnosed>(EventSelection::all(), start());
    let error = current.next().await.unwrap().unwrap_err();
    assert!(error.is_transient(), "{error:?}");
    assert!(current.next().await.is_none());
}
