//! A journal in memory, an offset store that can be told to fail, and projections over both.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use actix_persistence_journal_actor::{JournalHandle, JournalSettings, WriteRequest};
use actix_persistence_memory::MemoryStorage;
use actix_persistence_persistent_actor::Event;
use actix_persistence_projection::{
    AtLeastOnceHandler, EventSource, Projection, ProjectionBuilder, ProjectionSettings,
};
use actix_persistence_query::{EventEnvelope, EventQuery, QuerySettings};
use actix_persistence_storage_api::{
    AtomicWrite, EventDeletion, EventOffset, EventRecord, EventSelection, ExtensionError, Fence,
    Journal, OffsetStore, Payload, PersistenceId, ProjectionKey, ProjectionRecord, PurgeProgress,
    SequenceNr, Timestamp, WriterId,
};
use actix_persistence_store_actor::{StoreThread, deadline_after};
use actix_persistence_testkit::{Intercepted, Journals, OffsetStores};
use async_trait::async_trait;
use futures_util::StreamExt;
use serde::{Deserialize, Serialize};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::task::yield_now;
use tokio::time::timeout;

/// Longer than anything takes that works.
pub(crate) const LONG: Duration = Duration::from_secs(60);

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Said {
    word: String,
}

impl Event for Said {
    const MANIFEST: &'static str = "test.said";
    const VERSION: u32 = 1;
}

/// A journal, and an offset store in front of which each test puts its rules.
pub(crate) struct Fixture {
    pub(crate) storage: MemoryStorage,
    journal: JournalHandle,
    rules: Arc<Intercepted<Journals>>,
    queries: EventQuery,
    _thread: StoreThread,
}

impl Fixture {
    /// Makes stores on the runtime of the test.
    pub(crate) fn new() -> Self {
        let storage = MemoryStorage::new();
        let thread = StoreThread::start("projections").unwrap();
        let settings = JournalSettings::new("tests");
        let rules = Arc::new(Intercepted::journal(storage.journal()));
        let journal = Arc::clone(&rules);
        let handle = JournalHandle::start(journal, settings, Handle::current(), &thread);
        let queries = EventQuery::new(
            handle.clone(),
            Handle::current(),
            (),
            QuerySettings::default(),
        );
        Self {
            storage,
            journal: handle,
            rules,
            queries: queries.unwrap(),
            _thread: thread,
        }
    }

    /// Returns an offset store as another process has it.
    pub(crate) fn offset_store(&self) -> Arc<Intercepted<OffsetStores>> {
        Arc::new(Intercepted::offset_store(self.storage.offset_store()))
    }

    /// Returns the queries of the journal.
    pub(crate) fn queries(&self) -> EventQuery {
        self.queries.clone()
    }

    /// Returns the journal, in front of which tests put their rules.
    pub(crate) fn journal_rules(&self) -> &Intercepted<Journals> {
        &self.rules
    }

    /// Starts a projection of all events, with a lease that is renewed all the time.
    pub(crate) fn start(
        &self,
        store: Arc<impl OffsetStore>,
        handler: Arc<Heard>,
        change: impl FnOnce(&mut ProjectionSettings),
    ) -> Projection {
        self.start_of(EventSelection::all(), store, handler, change)
    }

    /// Starts a projection of the events of a selection.
    pub(crate) fn start_of(
        &self,
        selection: EventSelection,
        store: Arc<impl OffsetStore>,
        handler: Arc<Heard>,
        change: impl FnOnce(&mut ProjectionSettings),
    ) -> Projection {
        let source = EventSource::<Said>::new(self.queries.clone(), selection);
        let new = ProjectionBuilder::new(key(), source, store, Handle::current(), ());
        let quick = new.with(|settings| {
            settings.lease = Duration::from_secs(4);
            settings.min_back_off = Duration::from_millis(1);
            settings.max_back_off = Duration::from_millis(5);
        });
        quick.with(change).at_least_once(Shared(handler)).unwrap()
    }

    /// Stores an event.
    pub(crate) async fn say(&self, id: &PersistenceId, number: SequenceNr, word: &str) {
        self.store(id, number, "test.said:v1", word).await;
    }

    /// Stores an event of a type that no projection here can decode.
    pub(crate) async fn cough(&self, id: &PersistenceId, number: SequenceNr) {
        self.store(id, number, "test.coughed:v1", "").await;
    }

    async fn store(&self, id: &PersistenceId, number: SequenceNr, manifest: &str, word: &str) {
        let text = format!("{{\"word\":\"{word}\"}}");
        let payload = Payload::new(2, manifest, text.into_bytes());
        let record = EventRecord::new(number, Timestamp::now(), WriterId::NIL, payload);
        let from = self.journal.journal().read_head(id).await.unwrap().epoch;
        let write = AtomicWrite::new(id.clone(), Fence::TakesOver { from }, vec![record]);
        let request = WriteRequest {
            persistence_id: id.clone(),
            writes: vec![write.unwrap()],
            deadline: deadline_after(LONG),
        };
        let reply = self.journal.write(request).await;
        assert!(reply.outcomes[0].is_stored(), "{reply:?}");
    }

    /// Deletes the events of an id up to a number.
    pub(crate) async fn delete(&self, id: &PersistenceId, number: SequenceNr) {
        let deletion = EventDeletion::up_to(number);
        let journal = self.storage.journal();
        journal.delete_messages_to(id, deletion).await.unwrap();
    }

    /// Purges an id.
    pub(crate) async fn purge(&self, id: &PersistenceId) {
        let journal = self.storage.journal();
        while journal.purge(id).await.unwrap() != PurgeProgress::Done {}
    }

    /// Returns the text of the offset after so many events.
    pub(crate) async fn offset_after(&self, events: usize) -> String {
        let queries = &self.queries;
        let all = queries.current_event_records(EventSelection::all(), EventOffset::start());
        let event = all.skip(events - 1).next().await;
        event.unwrap().unwrap().offset.to_string()
    }

    /// Returns the projection as it is stored.
    pub(crate) async fn record(&self) -> Option<ProjectionRecord> {
        let read = self.storage.offset_store().read(&key()).await;
        read.unwrap()
    }
}

/// Remembers what it hears, and may be held.
pub(crate) struct Heard {
    words: Mutex<Vec<String>>,
    begun: Mutex<Vec<String>>,
    refused: Mutex<Vec<String>>,
    /// A permit for each word.
    pub(crate) turns: Semaphore,
}

impl Heard {
    /// Makes one that hears at once.
    pub(crate) fn new() -> Arc<Self> {
        Self::with_turns(Semaphore::MAX_PERMITS)
    }

    /// Makes one that hears so many words, and waits with the next one.
    pub(crate) fn with_turns(turns: usize) -> Arc<Self> {
        Arc::new(Self {
            words: Mutex::default(),
            begun: Mutex::default(),
            refused: Mutex::default(),
            turns: Semaphore::new(turns),
        })
    }

    pub(crate) fn words(&self) -> Vec<String> {
        self.words.lock().unwrap().clone()
    }

    /// Lets it refuse a word from now on.
    pub(crate) fn refuse(&self, word: &str) {
        self.refused.lock().unwrap().push(word.to_owned());
    }

    /// Lets it hear every word again.
    pub(crate) fn refuse_nothing(&self) {
        self.refused.lock().unwrap().clear();
    }

    /// Returns the words that it was given, heard or not.
    pub(crate) fn begun(&self) -> Vec<String> {
        self.begun.lock().unwrap().clone()
    }
}

/// A handler that tests look into.
struct Shared(Arc<Heard>);

#[async_trait]
impl AtLeastOnceHandler<EventEnvelope<Said>> for Shared {
    async fn handle(&self, item: &EventEnvelope<Said>) -> Result<(), ExtensionError> {
        let word = item.events.as_slice()[0].word.clone();
        self.0.begun.lock().unwrap().push(word.clone());
        self.0.turns.acquire().await?.forget();
        if self.0.refused.lock().unwrap().contains(&word) {
            return Err(format!("{word} is not to be heard").into());
        }
        self.0.words.lock().unwrap().push(word);
        Ok(())
    }
}

/// Returns the key of every projection here.
pub(crate) fn key() -> ProjectionKey {
    ProjectionKey::new("heard").unwrap()
}

/// Returns an id whose slice is in this one of two shares.
pub(crate) fn id_in(share: u16) -> PersistenceId {
    let mut ids = (0..).map(|nr| PersistenceId::of("Talker", &format!("{nr}")));
    ids.find(|id| id.slice() / 512 == share).unwrap()
}

/// Waits until something is so.
pub(crate) async fn until(mut is_so: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !is_so().await {
            yield_now().await;
        }
    };
    timeout(LONG, waiting).await.unwrap();
}
