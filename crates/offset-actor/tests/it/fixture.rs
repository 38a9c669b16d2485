//! An offset actor on the test's own thread before a store whose calls the test answers, and requests for it.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use actix_persistence_memory::MemoryOffsetStore;
use actix_persistence_offset_actor::{OffsetHandle, OffsetSettings};
use actix_persistence_storage_api::{
    Operation, Progress, ProgressCommit, ProjectionKey, ProjectionRecord, ShareClaim, StorageError,
    StorageErrorKind,
};
use actix_persistence_store_actor::{Reply, StoreThread};
use actix_persistence_testkit::{Held, HeldCall, Intercepted, OffsetAnswer, OffsetStores};
use actix_rt::{System, SystemRunner};
use futures_util::FutureExt;
use tokio::runtime::{Builder, Handle};
use tokio::time::timeout;

pub(crate) struct Fixture {
    pub(crate) handle: OffsetHandle,
    pub(crate) calls: Calls,
}

/// The test's end of the store.
pub(crate) struct Calls(Held<OffsetStores>);

pub(crate) type Called = HeldCall<OffsetStores>;
pub(crate) type Changed = Reply<Result<(), StorageError>>;

pub(crate) const LEASE: Duration = seconds(10);

/// Runs a test whose clock moves only when nothing else does.
pub(crate) fn on_paused_clock<T>(test: impl Future<Output = T>) -> T {
    // The type is erased, so that the runtime is compiled for all tests once.
    let test: Pin<&mut dyn Future<Output = T>> = pin!(test);
    paused().block_on(test)
}

fn paused() -> SystemRunner {
    let runtime = Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    System::with_tokio_rt(|| runtime)
}

pub(crate) fn settings() -> OffsetSettings {
    OffsetSettings::new("scripted")
}

/// Returns a store that does nothing until the test says so, and the test's end of it.
pub(crate) fn scripted_store() -> (Intercepted<OffsetStores>, Calls) {
    let store = Intercepted::offset_store(MemoryOffsetStore::new());
    // Away for good: what the tests see of outages comes from their own calls.
    store.on_ping().fail(StorageErrorKind::Unavailable);
    let calls = Calls(store.on_every_call().hold());
    (store, calls)
}

impl Fixture {
    /// Before the first attempt to initialise has been answered.
    pub(crate) fn starting(settings: OffsetSettings) -> Self {
        let (store, calls) = scripted_store();
        let handle = OffsetHandle::start(
            Arc::new(store),
            settings,
            Handle::current(),
            &StoreThread::on_current_arbiter(),
        );
        Self { handle, calls }
    }

    /// Returns an initialised offset actor.
    pub(crate) async fn ready_with(settings: OffsetSettings) -> Self {
        let mut fixture = Self::starting(settings);
        done(fixture.calls.expect(Operation::Initialize).await);
        fixture.handle.ready().await.unwrap();
        fixture
    }

    /// Initialised, with default settings.
    pub(crate) async fn ready() -> Self {
        Self::ready_with(settings()).await
    }

    /// Commits a step of a share that the store need not know.
    pub(crate) fn commit(&self, share: u16) -> Changed {
        self.handle.commit(step(share), None)
    }

    pub(crate) fn attend(&self) -> Reply<Result<ProjectionRecord, StorageError>> {
        self.handle.attend(key(), "a".into(), LEASE)
    }
}

impl Calls {
    /// The next call; fails the test if none comes within a virtual hour.
    pub(crate) async fn next(&mut self) -> Called {
        let next = timeout(seconds(3_600), self.0.next()).await;
        next.expect("a call should have come")
    }

    /// The next call, which must be of this operation.
    pub(crate) async fn expect(&mut self, operation: Operation) -> Called {
        use actix_persistence_testkit::StoreCall;
        let called = self.next().await;
        assert_eq!(called.call().operation(), operation);
        called
    }

    /// Returns whether there is no call that the test has not seen.
    pub(crate) async fn is_quiet(&mut self) -> bool {
        settle().await;
        self.0.waiting() == 0
    }
}

/// Works, for a call that returns nothing.
pub(crate) fn done(called: Called) {
    called.answer(OffsetAnswer::Done);
}

pub(crate) fn key() -> ProjectionKey {
    ProjectionKey::new("balances").unwrap()
}

pub(crate) fn claim(share: u16) -> ShareClaim {
    ShareClaim::new(key(), share, "a", 1)
}

pub(crate) fn step(share: u16) -> ProgressCommit {
    let progress = |offset| Progress::new(0..=1023, offset);
    ProgressCommit::new(claim(share), progress("0"), progress("1"))
}

/// The answer, which must be there by now.
pub(crate) async fn now<T>(reply: Reply<T>) -> T {
    settle().await;
    reply.now_or_never().expect("an answer by now")
}

/// Lets everything run that can: the paused clock moves only when nothing else does.
pub(crate) async fn settle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

pub(crate) const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}
