//! A state store that counts how it is read and fails when it is told to, and queries over it.

use std::sync::Arc;
use std::time::Duration;

use actix_persistence_memory::MemoryStateStore;
use actix_persistence_persistent_actor::State;
use actix_persistence_query::{
    Changed, ChangesStream, DurableStateQuery, QueryError, QuerySettings,
};
use actix_persistence_state_actor::{StateHandle, StateSettings};
use actix_persistence_storage_api::{
    Operation, Payload, PersistenceId, Revision, StateStore, StateUpdate, StorageErrorKind,
};
use actix_persistence_store_actor::StoreThread;
use actix_persistence_testkit::{Intercepted, Recorded, Script, StateStores, Verdict};
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

/// The operations that read a page.
pub(crate) const PAGES: [Operation; 2] =
    [Operation::CurrentPersistenceIds, Operation::StateChanges];

/// A store with its actor, and queries that look again after an hour.
pub(crate) struct Fixture {
    pub(crate) store: Arc<Intercepted<StateStores>>,
    /// The pages that were asked for.
    pub(crate) pages: Recorded<StateStores>,
    /// The fate of the next pages.
    script: Script<StateStores>,
    pub(crate) handle: StateHandle,
    pub(crate) queries: DurableStateQuery,
    runtime: Arc<Runtime>,
    _thread: StoreThread,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        Self::with(QuerySettings::default().refresh_interval(Duration::from_secs(3_600)))
    }

    pub(crate) fn with(settings: QuerySettings) -> Self {
        let store = Arc::new(Intercepted::state_store(MemoryStateStore::new()));
        let pages = store.on(PAGES).record();
        let script = store.on(PAGES).script([]);
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
        let queries = DurableStateQuery::new(
            handle.clone(),
            runtime.handle().clone(),
            Arc::clone(&runtime),
            settings,
        );
        Self {
            queries: queries.unwrap(),
            store,
            pages,
            script,
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

    /// Lets the next pages fail like this, one after the other.
    pub(crate) fn fail(&self, kinds: impl IntoIterator<Item = StorageErrorKind>) {
        for kind in kinds {
            self.script.then(Verdict::fail(kind));
        }
    }

    /// Returns the number of failures that are still to come.
    pub(crate) fn failures_left(&self) -> usize {
        self.script.left()
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
