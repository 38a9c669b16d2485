//! A snapshot store whose every call is answered by the test.

use std::fmt;
use std::time::Duration;

use actix_persistence_memory::MemorySnapshotStore;
use actix_persistence_storage_api::{
    PersistenceId, SnapshotCapabilities, SnapshotMetadata, StorageError, StorageErrorKind,
};
use actix_persistence_testkit::{
    Held, HeldCall, Intercepted, SnapshotAnswer, SnapshotCall, SnapshotStores,
};
use tokio::time::timeout;

/// Hands each call to the test and does what the test says.
pub(crate) struct ScriptedStore;

/// The test's end.
pub(crate) struct Calls(Held<SnapshotStores>);

/// A call under way.
pub(crate) struct Called {
    pub(crate) call: Call,
    held: HeldCall<SnapshotStores>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Call {
    Initialize,
    Load(PersistenceId),
    Save(SnapshotMetadata),
    Delete(SnapshotMetadata),
    DeleteMatching(PersistenceId),
}

impl ScriptedStore {
    #[allow(clippy::new_ret_no_self)] // the store and the test's end of it
    pub(crate) fn new() -> (Intercepted<SnapshotStores>, Calls) {
        let store = Intercepted::snapshot_store(MemorySnapshotStore::new())
            .with_capabilities(SnapshotCapabilities::default());
        // Away for good: what the tests see of outages comes from their own calls.
        store.on_ping().fail(StorageErrorKind::Unavailable);
        let calls = Calls(store.on_every_call().hold());
        (store, calls)
    }
}

impl Calls {
    /// The next call; fails the test if none comes within a virtual hour.
    pub(crate) async fn next(&mut self) -> Called {
        let next = timeout(Duration::from_secs(3_600), self.0.next()).await;
        Called::of(next.expect("a call should have come"))
    }

    /// The next call, which must be this one.
    pub(crate) async fn expect(&mut self, call: Call) -> Called {
        let called = self.next().await;
        assert_eq!(called.call, call);
        called
    }

    /// Returns whether there is no call that the test has not seen.
    pub(crate) async fn is_quiet(&mut self) -> bool {
        settle().await;
        self.0.waiting() == 0
    }
}

impl Called {
    fn of(held: HeldCall<SnapshotStores>) -> Self {
        let call = match held.call().clone() {
            SnapshotCall::Initialize => Call::Initialize,
            SnapshotCall::Load { persistence_id, .. } => Call::Load(persistence_id),
            SnapshotCall::Save { metadata, .. } => Call::Save(metadata),
            SnapshotCall::Delete { metadata } => Call::Delete(metadata),
            SnapshotCall::DeleteMatching { persistence_id, .. } => {
                Call::DeleteMatching(persistence_id)
            }
            other => panic!("no test leads to {other:?}"),
        };
        Self { call, held }
    }

    /// Works; a load gives no snapshot.
    pub(crate) fn works(self) {
        self.held.answer(match self.call {
            Call::Load(_) => SnapshotAnswer::Loaded(None),
            _ => SnapshotAnswer::Done,
        });
    }

    pub(crate) fn fails(self, error: StorageError) {
        self.held.fail(error);
    }

    pub(crate) fn panics(self) {
        self.held.panic("scripted");
    }

    /// Never gives anything.
    pub(crate) fn hangs(self) {
        self.held.hang();
    }
}

impl fmt::Debug for Called {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.call.fmt(f)
    }
}

/// Lets everything run that can: the paused clock moves only when nothing else does.
pub(crate) async fn settle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}
