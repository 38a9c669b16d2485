//! A journal actor on the test's own thread, and requests for it.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use actix_persistence_journal_actor::{JournalHandle, JournalSettings, WriteReply, WriteRequest};
use actix_persistence_storage_api::{
    AtomicWrite, EventRecord, JournalCapabilities, Operation, Payload, PersistenceId, SequenceNr,
    StorageError, StorageErrorKind, Timestamp, WriteOutcome, WriterId,
};
use actix_persistence_store_actor::{Reply, StoreThread};
use actix_rt::{System, SystemRunner};
use futures_util::FutureExt;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::time::Instant;

use crate::scripted_journal::{Call, Called, Calls, ScriptedJournal, settle};

pub(crate) struct Fixture {
    pub(crate) handle: JournalHandle,
    pub(crate) calls: Calls,
}

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

/// Returns a runtime with so many threads, for tests in which several run at once.
pub(crate) fn threads(number: usize) -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(number)
        .enable_all()
        .build()
        .unwrap()
}

pub(crate) fn settings() -> JournalSettings {
    JournalSettings::new("scripted")
}

impl Fixture {
    /// Before the first attempt to initialise has been answered.
    pub(crate) fn starting(settings: JournalSettings, capabilities: JournalCapabilities) -> Self {
        let (journal, calls) = ScriptedJournal::new(capabilities);
        let handle = JournalHandle::start(
            Arc::new(journal),
            settings,
            Handle::current(),
            &StoreThread::on_current_arbiter(),
        );
        Self { handle, calls }
    }

    /// Returns an initialised journal actor.
    pub(crate) async fn ready_with(
        settings: JournalSettings,
        capabilities: JournalCapabilities,
    ) -> Self {
        let mut fixture = Self::starting(settings, capabilities);
        let called = fixture.calls.next().await;
        assert_eq!(called.call, Call::Initialize);
        called.works();
        fixture.handle.ready().await.unwrap();
        fixture
    }

    /// Initialised, with default settings.
    pub(crate) async fn ready() -> Self {
        Self::ready_with(settings(), JournalCapabilities::default()).await
    }

    /// Asks for one event of this many bytes to be stored.
    pub(crate) fn write_bytes(&self, name: &str, bytes: usize) -> Reply<WriteReply> {
        self.write_all(name, vec![atomic_write(name, 1, 1, bytes)])
    }

    pub(crate) fn write(&self, name: &str) -> Reply<WriteReply> {
        self.write_bytes(name, 1)
    }

    /// Asks for one event with this number to be stored.
    pub(crate) fn write_nr(&self, name: &str, sequence_nr: SequenceNr) -> Reply<WriteReply> {
        self.write_all(name, vec![atomic_write(name, sequence_nr, 1, 1)])
    }

    pub(crate) fn write_all(&self, name: &str, writes: Vec<AtomicWrite>) -> Reply<WriteReply> {
        let deadline = Instant::now() + self.handle.settings().write_timeout;
        self.write_until(name, writes, deadline)
    }

    pub(crate) fn write_until(
        &self,
        name: &str,
        writes: Vec<AtomicWrite>,
        deadline: Instant,
    ) -> Reply<WriteReply> {
        write(&self.handle, name, writes, deadline)
    }

    /// Occupies the lane with a write, so that what comes next is collected.
    pub(crate) async fn busy(&mut self) -> (Called, Reply<WriteReply>) {
        let reply = self.write("busy");
        let (called, ids) = self.calls.next_write().await;
        assert_eq!(ids, ["busy"]);
        (called, reply)
    }

    /// Fails this many writes one after the other, each alone.
    pub(crate) async fn fail_writes(&mut self, times: usize, error: &StorageError) {
        for _ in 0..times {
            let reply = self.write("failing");
            self.calls.next().await.fails(error.clone());
            assert!(!reply.await.outcomes[0].is_stored());
        }
    }
}

pub(crate) fn write(
    handle: &JournalHandle,
    name: &str,
    writes: Vec<AtomicWrite>,
    deadline: Instant,
) -> Reply<WriteReply> {
    handle.write(WriteRequest {
        persistence_id: id(name),
        writes,
        deadline,
    })
}

pub(crate) fn id(name: &str) -> PersistenceId {
    PersistenceId::of_unique(name)
}

/// `events` events from `first` on, each of this many bytes.
pub(crate) fn atomic_write(
    name: &str,
    first: SequenceNr,
    events: u64,
    bytes: usize,
) -> AtomicWrite {
    let event = |sequence_nr| {
        let payload = Payload::new(0, "", vec![0; bytes]);
        EventRecord::new(sequence_nr, Timestamp::UNSET, WriterId::NIL, payload)
    };
    AtomicWrite::new(id(name), 1, (first..first + events).map(event).collect()).unwrap()
}

/// A failed write of unknown effect.
pub(crate) fn unknown(kind: StorageErrorKind) -> StorageError {
    StorageError::new(kind, Operation::WriteMessages)
}

/// A failed write that certainly stored nothing.
pub(crate) fn not_stored(kind: StorageErrorKind) -> StorageError {
    unknown(kind).not_stored()
}

/// The answer, which must be there by now.
pub(crate) async fn now<T>(reply: Reply<T>) -> T {
    settle().await;
    reply.now_or_never().expect("an answer by now")
}

/// The one outcome, which must be a failure.
pub(crate) fn failure(reply: WriteReply) -> StorageError {
    match reply.outcomes.as_slice() {
        [WriteOutcome::Failed(error)] => error.clone(),
        other => panic!("one failure was due, not {other:?}"),
    }
}

pub(crate) fn is_stored(reply: &WriteReply) -> bool {
    reply.outcomes.iter().all(WriteOutcome::is_stored)
}

pub(crate) const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}
