//! The stores of one test, on an actix system with a paused clock.

use std::pin::{Pin, pin};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use actix::{Addr, System, SystemRunner};
use actix_persistence_journal_actor::{JournalHandle, JournalSettings};
use actix_persistence_memory::MemoryStorage;
use actix_persistence_persistent_actor::{Environment, PersistentActor, StartError, start};
use actix_persistence_snapshot_actor::{SnapshotHandle, SnapshotSettings};
use actix_persistence_storage_api::{Journal, SnapshotStore};
use actix_persistence_store_actor::StoreThread;
use tokio::runtime::Handle;

use crate::scripted_journal::{Scripted, ScriptedJournal};

/// Runs a test on a clock that stands still unless everybody waits for it: back-off takes no time.
pub(crate) fn run<F: Future<Output = ()> + 'static>(test: impl FnOnce() -> F + 'static) {
    // Nothing here takes an hour; a test that hangs fails instead.
    let limit = Duration::from_secs(24 * 3_600);
    run_on(&on_paused_clock(), limit, pin!(async move { test().await }));
}

/// Runs a test whose other threads go by the real clock; one that hangs fails after two minutes.
pub(crate) fn run_in_real_time<F: Future<Output = ()> + 'static>(test: F) {
    run_on(&System::new(), Duration::from_secs(120), pin!(test));
}

/// Runs a test that must end within the limit.
///
/// The type of the future is erased, so that the runtime is compiled for all tests once.
fn run_on(system: &SystemRunner, limit: Duration, test: Pin<&mut dyn Future<Output = ()>>) {
    let result = system.block_on(async move { tokio::time::timeout(limit, test).await });
    assert!(result.is_ok(), "the test did not end");
}

fn on_paused_clock() -> SystemRunner {
    System::with_tokio_rt(|| {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .unwrap()
    })
}

/// Runs a test in real time beside stores that have one thread, on the given runtime; calls that wait for the receiver
/// block it until the test ends, or fails because something waits for them without end.
pub(crate) fn run_with_one_store_thread<F: Future<Output = ()> + 'static>(
    test: impl FnOnce(Handle, mpsc::Receiver<()>) -> F + 'static,
) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let (unblock, until) = mpsc::channel();
    let handle = runtime.handle().clone();
    let test = async move {
        test(handle, until).await;
        drop(unblock);
    };
    run_on(&System::new(), Duration::from_secs(20), pin!(test));
    runtime.shutdown_background();
}

#[derive(Clone)]
pub(crate) struct World {
    pub(crate) storage: MemoryStorage,
    pub(crate) environment: Arc<Environment>,
}

impl World {
    /// The memory plugin as it is.
    pub(crate) fn new() -> Self {
        let storage = MemoryStorage::new();
        let journal = Arc::new(storage.journal());
        Self::on(storage, journal, |_| {})
    }

    /// A journal that the test directs.
    pub(crate) fn scripted() -> (Self, Arc<Scripted>) {
        let storage = MemoryStorage::new();
        let journal = ScriptedJournal::new(storage.journal());
        (Self::on(storage, journal.clone(), |_| {}), journal)
    }

    /// A journal that holds back every write.
    pub(crate) fn held() -> (Self, Arc<Scripted>) {
        let storage = MemoryStorage::new();
        let journal = ScriptedJournal::held(storage.journal());
        (Self::on(storage, journal.clone(), |_| {}), journal)
    }

    /// Any journal, with settings of the test's own.
    pub(crate) fn on(
        storage: MemoryStorage,
        journal: Arc<dyn Journal>,
        change: impl FnOnce(&mut Environment),
    ) -> Self {
        let snapshots = Arc::new(storage.snapshot_store());
        Self::tuned(storage, journal, snapshots, |_, _| {}, change)
    }

    /// Any journal and snapshot store, with settings of the test's own.
    pub(crate) fn tuned(
        storage: MemoryStorage,
        journal: Arc<dyn Journal>,
        snapshot_store: Arc<dyn SnapshotStore>,
        tune: impl FnOnce(&mut JournalSettings, &mut SnapshotSettings),
        change: impl FnOnce(&mut Environment),
    ) -> Self {
        let mut journal_settings = JournalSettings::new("test");
        let mut snapshot_settings = SnapshotSettings::new("test");
        tune(&mut journal_settings, &mut snapshot_settings);
        let thread = StoreThread::on_current_arbiter();
        let runtime = tokio::runtime::Handle::current();
        let journal = JournalHandle::start(journal, journal_settings, runtime.clone(), &thread);
        let snapshot_store =
            SnapshotHandle::start(snapshot_store, snapshot_settings, runtime, &thread);
        let mut environment = Environment::new(journal, Some(snapshot_store));
        change(&mut environment);
        Self {
            storage,
            environment: Arc::new(environment),
        }
    }

    pub(crate) fn start<A: PersistentActor>(
        &self,
        factory: impl FnMut() -> A + Unpin + 'static,
    ) -> Result<Addr<A>, StartError> {
        let environment = Arc::clone(&self.environment);
        start(factory, move |_| Ok(environment))
    }
}
