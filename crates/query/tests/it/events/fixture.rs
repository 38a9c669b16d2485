//! A journal in memory that plays others, and queries over it.

use std::collections::VecDeque;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use actix_persistence_journal_actor::{JournalHandle, JournalSettings, WriteRequest};
use actix_persistence_memory::MemoryJournal;
use actix_persistence_persistent_actor::{Chain, Event, Upcasters};
use actix_persistence_query::{
    EventEnvelope, EventPlace, EventQuery, EventStream, QueryError, QuerySettings,
};
use actix_persistence_storage_api::{
    AtomicWrite, EventOffset, EventRecord, EventSelection, Fence, Journal, Payload, PersistenceId,
    SequenceNr, StorageError, StorageErrorKind, Timestamp, WriterId,
};
use actix_persistence_store_actor::{StoreThread, deadline_after};
use actix_persistence_testkit::{
    Fault, Hook, Intercepted, JournalAnswer, JournalCall, Journals, Next,
};
use async_trait::async_trait;
use futures_util::StreamExt;
use serde::{Deserialize, Serialize};
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

/// Longer than anything takes that works.
const LONG: Duration = Duration::from_secs(60);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Said {
    pub(crate) word: String,
}

impl Event for Said {
    const MANIFEST: &'static str = "test.said";
    const VERSION: u32 = 1;

    fn upcasters() -> Upcasters<Self> {
        Upcasters::new().retired("test.coughed").split(
            "test.talked",
            Chain::of::<Said>(1),
            |said: Said| said.word.split(' ').map(Said::of).collect::<Vec<_>>(),
        )
    }
}

impl Said {
    pub(crate) fn of(word: &str) -> Self {
        let word = word.to_owned();
        Self { word }
    }
}

/// A journal in memory that fails as long as there are errors to give.
#[derive(Default)]
pub(crate) struct Script {
    pub(crate) errors: Mutex<VecDeque<StorageErrorKind>>,
    /// Everything after this offset is held back by a transaction, for so many pages.
    pub(crate) held_back: Mutex<Option<(EventOffset, usize)>>,
    /// The newest offset that the journal returns in place of its own.
    pub(crate) newest: Mutex<Option<EventOffset>>,
    pub(crate) pages: AtomicUsize,
}

#[async_trait]
impl Hook<Journals> for Script {
    async fn call(
        &self,
        call: JournalCall,
        next: Next<Journals>,
    ) -> Result<JournalAnswer, StorageError> {
        let is_page = matches!(
            call,
            JournalCall::Events { .. } | JournalCall::ReplayMessages { .. }
        );
        let newest = self.newest.lock().unwrap().clone();
        if let (JournalCall::NewestOffset { .. }, Some(newest)) = (&call, newest) {
            return Ok(JournalAnswer::NewestOffset(newest));
        }
        if !is_page {
            return next.run(call).await;
        }
        self.pages.fetch_add(1, Ordering::AcqRel);
        let error = self.errors.lock().unwrap().pop_front();
        if let Some(kind) = error {
            return Err(Fault::new(kind).of(&call));
        }
        let answer = next.run(call).await?;
        let JournalAnswer::Events(mut page) = answer else {
            return Ok(answer);
        };
        if let Some((bound, pages)) = &mut *self.held_back.lock().unwrap()
            && *pages > 0
        {
            *pages -= 1;
            page.events.retain(|event| bound.has_reached(&event.offset));
            page.offset = bound.clone();
            page.more = false;
        }
        Ok(JournalAnswer::Events(page))
    }
}

/// A journal with its actor, and queries that look again after an hour.
pub(crate) struct Fixture {
    pub(crate) journal: Arc<Intercepted<Journals, Script>>,
    pub(crate) handle: JournalHandle,
    pub(crate) queries: EventQuery,
    runtime: Arc<Runtime>,
    _thread: StoreThread,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        Self::with(QuerySettings::default().with_refresh_interval(Duration::from_secs(3_600)))
    }

    pub(crate) fn with(settings: QuerySettings) -> Self {
        let journal = Intercepted::journal_with(MemoryJournal::new(), Script::default());
        let journal = Arc::new(journal);
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_time()
            .build()
            .unwrap();
        let runtime = Arc::new(runtime);
        let thread = StoreThread::start("events").unwrap();
        let handle = JournalHandle::start(
            Arc::clone(&journal) as Arc<dyn Journal>,
            JournalSettings::new("tests"),
            runtime.handle().clone(),
            &thread,
        );
        let queries = EventQuery::new(
            handle.clone(),
            runtime.handle().clone(),
            Arc::clone(&runtime),
            settings,
        );
        Self {
            queries: queries.unwrap(),
            journal,
            handle,
            runtime,
            _thread: thread,
        }
    }

    /// Runs a test on a thread without any timer, where nothing that belongs to the stores may run.
    pub(crate) fn run<T>(&self, test: impl Future<Output = T>) -> T {
        let runtime = Builder::new_current_thread().build().unwrap();
        let test: Pin<&mut dyn Future<Output = T>> = pin!(test);
        let in_time = {
            let _context = self.runtime.enter();
            timeout(LONG, test)
        };
        runtime.block_on(in_time).unwrap()
    }

    /// Stores an event through the actor.
    pub(crate) async fn say(&self, id: &PersistenceId, number: SequenceNr, word: &str) {
        self.store(id, said(number, word)).await;
    }

    pub(crate) async fn store(&self, id: &PersistenceId, record: EventRecord) {
        let request = WriteRequest {
            persistence_id: id.clone(),
            writes: vec![self.write(id, record).await],
            deadline: deadline_after(LONG),
        };
        let reply = self.handle.write(request).await;
        assert!(reply.outcomes[0].is_stored(), "{reply:?}");
    }

    /// Stores an event past the actor, as another process does.
    pub(crate) async fn say_elsewhere(&self, id: &PersistenceId, number: SequenceNr, word: &str) {
        let write = self.write(id, said(number, word)).await;
        let outcomes = self.journal.write_messages(vec![write]).await.unwrap();
        assert!(outcomes[0].is_stored(), "{outcomes:?}");
    }

    async fn write(&self, id: &PersistenceId, record: EventRecord) -> AtomicWrite {
        let from = self.journal.read_head(id).await.unwrap().epoch;
        AtomicWrite::new(id.clone(), Fence::TakesOver { from }, vec![record]).unwrap()
    }

    pub(crate) fn current(&self) -> EventStream<Said> {
        let start = EventOffset::start();
        self.queries.current_events(EventSelection::all(), start)
    }

    pub(crate) fn live(&self) -> EventStream<Said> {
        let start = EventOffset::start();
        self.queries.events(EventSelection::all(), start)
    }
}

pub(crate) fn id(name: &str) -> PersistenceId {
    PersistenceId::of("Talker", name)
}

/// An event as an actor would store it, in JSON.
pub(crate) fn said(number: SequenceNr, word: &str) -> EventRecord {
    stored_as("test.said:v1", number, word)
}

pub(crate) fn stored_as(manifest: &str, number: SequenceNr, word: &str) -> EventRecord {
    let text = format!("{{\"word\":\"{word}\"}}");
    let payload = Payload::new(2, manifest, text.into_bytes());
    EventRecord::new(number, Timestamp::now(), WriterId::NIL, payload)
}

/// Returns the words of an envelope, with the name and the number of the event.
pub(crate) fn heard<O>(envelope: &EventEnvelope<Said, O>) -> (PersistenceId, SequenceNr, String) {
    let words: Vec<_> = envelope.events.iter().map(|said| &*said.word).collect();
    let id = envelope.persistence_id.clone();
    (id, envelope.sequence_nr, words.join("+"))
}

/// Takes this many events.
pub(crate) async fn take<O: EventPlace>(
    stream: &mut EventStream<Said, O>,
    number: usize,
) -> Vec<(PersistenceId, SequenceNr, String)> {
    let mut taken = Vec::new();
    while taken.len() < number {
        taken.push(heard(&stream.next().await.unwrap().unwrap()));
    }
    taken
}

/// Takes all events of a stream that ends.
pub(crate) async fn all<O: EventPlace>(
    mut stream: EventStream<Said, O>,
) -> Vec<(PersistenceId, SequenceNr, String)> {
    let mut taken = Vec::new();
    while let Some(event) = stream.next().await {
        taken.push(heard(&event.unwrap()));
    }
    assert!(stream.next().await.is_none());
    taken
}

/// Returns the last thing that a stream gives, which is an error.
pub(crate) async fn ends_with_error<O: EventPlace>(
    stream: &mut EventStream<Said, O>,
) -> QueryError {
    let error = stream.next().await.unwrap().unwrap_err();
    assert!(stream.next().await.is_none());
    error
}
