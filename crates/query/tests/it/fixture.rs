//! A state store that counts how it is read and fails when it is told to, and queries over it.

use std::collections::VecDeque;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use actix_persistence_memory::MemoryStateStore;
use actix_persistence_persistent_actor::State;
use actix_persistence_query::{
    Changed, ChangesStream, DurableStateQuery, QueryError, QuerySettings,
};
use actix_persistence_state_actor::{StateHandle, StateSettings};
use actix_persistence_storage_api::{
    Payload, PersistenceId, Revision, StateStore, StateUpdate, StorageError, StorageErrorKind,
};
use actix_persistence_store_actor::StoreThread;
use actix_persistence_testkit::{
    Fault, Hook, Intercepted, Next, StateAnswer, StateCall, StateStores,
};
use async_trait::async_trait;
use futures_util::StreamExt;
use serde::{Deserialize, Serialize};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::RwLock;
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
pub(crate) type Store = Intercepted<StateStores, Queries>;

#[derive(Default)]
pub(crate) struct Queries {
    pub(crate) errors: Mutex<VecDeque<StorageErrorKind>>,
    pub(crate) pages: AtomicUsize,
    /// Holds back pages that were read, before they are given, while a test has it for writing.
    pub(crate) gate: RwLock<()>,
    /// The number of pages that were read, and given or held back.
    pub(crate) read: AtomicUsize,
    /// The most changes that are read in time; 0 for any number.
    pub(crate) most_in_time: AtomicUsize,
    pub(crate) threads: Mutex<Vec<String>>,
}

#[async_trait]
impl Hook<StateStores> for Queries {
    async fn call(
        &self,
        call: StateCall,
        next: Next<StateStores>,
    ) -> Result<StateAnswer, StorageError> {
        let limit = match &call {
            StateCall::CurrentPersistenceIds { .. } => 0,
            StateCall::Changes { query } => query.limit,
            _ => return next.run(call).await,
        };
        self.pages.fetch_add(1, Ordering::AcqRel);
        let thread = std::thread::current();
        let name = thread.name().unwrap_or_default().to_owned();
        self.threads.lock().unwrap().push(name);
        let error = self.errors.lock().unwrap().pop_front();
        let most = self.most_in_time.load(Ordering::Acquire);
        let late = (most > 0 && limit > most).then_some(StorageErrorKind::Timeout);
        match error.or(late) {
            Some(kind) => Err(Fault::new(kind).of(&call)),
            None => {
                let page = next.run(call).await;
                self.read.fetch_add(1, Ordering::AcqRel);
                let _gate = self.gate.read().await;
                page
            }
        }
    }
}

/// A store with its actor, and queries that look again after an hour.
pub(crate) struct Fixture {
    pub(crate) store: Arc<Store>,
    pub(crate) handle: StateHandle,
    pub(crate) queries: DurableStateQuery,
    runtime: Arc<Runtime>,
    _thread: StoreThread,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        Self::with(QuerySettings::default().with_refresh_interval(Duration::from_secs(3_600)))
    }

    pub(crate) fn with(settings: QuerySettings) -> Self {
        Self::with_actor(settings, StateSettings::new("tests"))
    }

    /// With these settings of the actor in front of the store.
    pub(crate) fn with_actor(settings: QuerySettings, of_actor: StateSettings) -> Self {
        let store = Arc::new(Intercepted::state_store_with(
            MemoryStateStore::new(),
            Queries::default(),
        ));
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
            of_actor,
            runtime.handle().clone(),
            &thread,
        );
        let queries = DurableStateQuery::new(
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
        self.run_within(LONG, test)
    }

    /// Runs a test as [`run`](Self::run) does, which fails if it takes longer than this.
    pub(crate) fn run_within<T>(&self, limit: Duration, test: impl Future<Output = T>) -> T {
        let runtime = Builder::new_current_thread().build().unwrap();
        // The type is erased, so that the runtime is compiled for all tests once.
        let test: Pin<&mut dyn Future<Output = T>> = pin!(test);
        let in_time = {
            let _context = self.runtime.enter();
            timeout(limit, test)
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

/// Takes this many changes, and returns ids with revisions.
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
