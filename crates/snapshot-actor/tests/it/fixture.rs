//! A snapshot actor on the test's own thread, and requests for it.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use actix_persistence_snapshot_actor::{SnapshotHandle, SnapshotSettings};
use actix_persistence_storage_api::{
    Operation, Payload, PersistenceId, SequenceNr, SnapshotCriteria, SnapshotMetadata,
    SnapshotRecord, StorageError, StorageErrorKind, Timestamp,
};
use actix_persistence_store_actor::{Reply, StoreThread};
use actix_rt::{System, SystemRunner};
use futures_util::FutureExt;
use tokio::runtime::{Builder, Handle};

use crate::scripted_store::{Call, Calls, ScriptedStore, settle};

pub(crate) struct Fixture {
    pub(crate) handle: SnapshotHandle,
    pub(crate) calls: Calls,
}

pub(crate) type Changed = Reply<Result<(), StorageError>>;
pub(crate) type Loaded = Reply<Result<Option<SnapshotRecord>, StorageError>>;

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

pub(crate) fn settings() -> SnapshotSettings {
    SnapshotSettings::new("scripted")
}

impl Fixture {
    /// Before the first attempt to initialise has been answered.
    pub(crate) fn starting(settings: SnapshotSettings) -> Self {
        Self::starting_on(&StoreThread::on_current_arbiter(), settings)
    }

    /// As [`starting`](Self::starting), with the actor on this thread.
    pub(crate) fn starting_on(thread: &StoreThread, settings: SnapshotSettings) -> Self {
        let (store, calls) = ScriptedStore::new();
        let handle = SnapshotHandle::start(Arc::new(store), settings, Handle::current(), thread);
        Self { handle, calls }
    }

    /// Returns an initialised snapshot actor.
    pub(crate) async fn ready_with(settings: SnapshotSettings) -> Self {
        let mut fixture = Self::starting(settings);
        fixture.calls.expect(Call::Initialize).await.works();
        fixture.handle.ready().await.unwrap();
        fixture
    }

    /// Initialised, with default settings.
    pub(crate) async fn ready() -> Self {
        Self::ready_with(settings()).await
    }

    pub(crate) fn save(&self, name: &str, sequence_nr: SequenceNr) -> Changed {
        let payload = Payload::new(0, "", "state");
        self.handle.save(metadata(name, sequence_nr), payload)
    }

    pub(crate) fn load(&self, name: &str) -> Loaded {
        self.handle.load(id(name), SnapshotCriteria::LATEST)
    }
}

pub(crate) fn id(name: &str) -> PersistenceId {
    PersistenceId::of_unique(name)
}

pub(crate) fn metadata(name: &str, sequence_nr: SequenceNr) -> SnapshotMetadata {
    SnapshotMetadata::new(id(name), sequence_nr, Timestamp::from_micros(17))
}

pub(crate) fn error(kind: StorageErrorKind, operation: Operation) -> StorageError {
    StorageError::new(kind, operation)
}

/// The answer, which must be there by now.
pub(crate) async fn now<T>(reply: Reply<T>) -> T {
    settle().await;
    reply.now_or_never().expect("an answer by now")
}

pub(crate) const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}
