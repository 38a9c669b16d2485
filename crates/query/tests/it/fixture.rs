//! A state store that counts how it is read and fails when it is told to, and queries over it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use actix_persistence_memory::MemoryStateStore;
use actix_persistence_persistent_actor::State;
use actix_persistence_query::{Changed, ChangesStream, QueryError, QuerySettings, StateQuery};
use actix_persistence_state_actor::{StateHandle, StateSettings};
use actix_persistence_storage_api::{
    CurrentState, Operation, Payload, PersistenceId, PersistenceIdsQuery, Revision,
    StateChangesPage, StateChangesQuery, StateQueries, StateStore, StateUpdate, StorageError,
    StorageErrorKind,
};
use actix_persistence_store_actor::StoreThread;
use async_trait::async_trait;
use futures_util::StreamExt;
use serde::{Deserialize, Serialize};
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

/// Longer than anything takes that works.
const LONG: Duration = Duration::from_secs(60);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Post {
    pub(crate) title: String,
}

impl State for Post {
    const MANIFEST: &'static str = "test.post";
    const VERSION: u32 = 1;
}

/// A store in memory whose queries fail as long as there are errors to give.
#[derive(Default)]
pub(crate) struct Store {
    states: MemoryStateStore,
    pub(crate) errors: Mutex<VecDeque<StorageErrorKind>>,
    pub(crate) pages: AtomicUsize,
    /// The most changes that are read in time; 0 for any number.
    pub(crate) most_in_time: AtomicUsize,
    pub(crate) threads: Mutex<Vec<String>>,
}

#[async_trait]
impl StateStore for Store {
    async fn initialize(&self) -> Result<(), StorageError> {
        Ok(())
    }

    async fn get(&self, id: &PersistenceId) -> Result<CurrentState, StorageError> {
        self.states.get(id).await
    }

    async fn upsert(&self, update: StateUpdate) -> Result<(), StorageError> {
        self.states.upsert(update).await
    }

    async fn delete(&self, id: &PersistenceId, revision: Revision) -> Result<(), StorageError> {
        self.states.delete(id, revision).await
    }

    async fn hard_delete(&self, id: &PersistenceId) -> Result<bool, StorageError> {
        self.states.hard_delete(id).await
    }

    fn queries(&self) -> Option<&dyn StateQueries> {
        Some(self)
    }
}

impl Store {
    fn called(&self, operation: Operation) -> Result<(), StorageError> {
        self.pages.fetch_add(1, Ordering::AcqRel);
        let thread = std::thread::current();
        let name = thread.name().unwrap_or_default().to_owned();
        self.threads.lock().unwrap().push(name);
        let error = self.errors.lock().unwrap().pop_front();
        error.map_or(Ok(()), |kind| Err(StorageError::new(kind, operation)))
    }
}

#[async_trait]
impl StateQueries for Store {
    async fn current_persistence_ids(
        &self,
        query: PersistenceIdsQuery,
    ) -> Result<Vec<PersistenceId>, StorageError> {
        self.called(Operation::CurrentPersistenceIds)?;
        self.states.current_persistence_ids(query).await
    }

    async fn changes(&self, query: StateChangesQuery) -> Result<StateChangesPage, StorageError> {
        self.called(Operation::StateChanges)?;
        let most = self.most_in_time.load(Ordering::Acquire);
        if most > 0 && query.limit > most {
            let kind = StorageErrorKind::Timeout;
            return Err(StorageError::new(kind, Operation::StateChanges));
        }
        self.states.changes(query).await
    }
}

/// A store with its actor, and queries that look again after an hour.
pub(crate) struct Fixture {
    pub(crate) store: Arc<Store>,
    pub(crate) handle: StateHandle,
    pub(crate) queries: StateQuery,
    runtime: Arc<Runtime>,
    _thread: StoreThread,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        Self::with(QuerySettings::default().refresh_interval(Duration::from_secs(3_600)))
    }

    pub(crate) fn with(settings: QuerySettings) -> Self {
        let store = Arc::new(Store::default());
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("stores")
            .enable_time()
            .build()
            .unwrap();
        let runtime = Arc::new(runtime);
        let thread = StoreThread::start("states").unwrap();
        let handle = StateHandle::start(
            Arc::clone(&store) as Arc<dyn StateStore>,
            StateSettings::new("tests"),
            runtime.handle().clone(),
            &thread,
        );
        let queries = StateQuery::new(
            handle.clone(),
            runtime.handle().clone(),
            Arc::clone(&runtime),
            settings,
        );
        Self {
            queries: queries.unwrap(),
            store,
            handle,
            runtime,
            _thread: thread,
        }
    }

    /// Runs a test on a thread without any timer, where nothing that belongs to the stores may run.
    pub(crate) fn run<T>(&self, test: impl Future<Output = T>) -> T {
        let runtime = Builder::new_current_thread().build().unwrap();
        let in_time = {
            let _context = self.runtime.enter();
            timeout(LONG, test)
        };
        runtime.block_on(in_time).unwrap()
    }

    /// Stores a post through the actor.
    pub(crate) async fn post(&self, id: &PersistenceId, revision: Revision) {
        self.handle.upsert(update(id, revision)).await.unwrap();
    }

    pub(crate) fn all_changes(&self) -> ChangesStream<Post> {
        let slices = 0..=1023;
        self.queries
            .current_changes_by_slices("Post", slices, Default::default())
    }

    pub(crate) fn live_changes(&self) -> ChangesStream<Post> {
        let slices = 0..=1023;
        self.queries
            .changes_by_slices("Post", slices, Default::default())
    }
}

pub(crate) fn id(number: usize) -> PersistenceId {
    PersistenceId::of("Post", &format!("{number:03}"))
}

pub(crate) fn title(revision: Revision) -> Post {
    Post {
        title: format!("revision {revision}"),
    }
}

/// A post as an actor would store it, in JSON.
pub(crate) fn update(id: &PersistenceId, revision: Revision) -> StateUpdate {
    let text = format!("{{\"title\":\"revision {revision}\"}}");
    StateUpdate::new(
        id.clone(),
        revision,
        Payload::new(2, "test.post:v1", text.into_bytes()),
    )
}

/// Takes so many changes, and gives ids with revisions.
pub(crate) async fn take(
    stream: &mut ChangesStream<Post>,
    number: usize,
) -> Vec<(PersistenceId, Revision)> {
    let mut taken = Vec::new();
    while taken.len() < number {
        let change = stream.next().await.unwrap().unwrap();
        taken.push(seen(&change));
    }
    taken
}

pub(crate) fn seen(change: &Changed<Post>) -> (PersistenceId, Revision) {
    if let Some(state) = change.state() {
        assert_eq!(*state, title(change.revision()));
    }
    (change.persistence_id().clone(), change.revision())
}

/// The last thing that a stream gives, which is an error.
pub(crate) async fn ends_with_error(stream: &mut ChangesStream<Post>) -> QueryError {
    let error = stream.next().await.unwrap().unwrap_err();
    assert!(stream.next().await.is_none());
    assert!(stream.next().await.is_none());
    error
}
