//! A snapshot store whose every call is answered by the test.

use std::fmt;
use std::time::Duration;

use actix_persistence_storage_api::{
    Operation, Payload, PersistenceId, SnapshotCriteria, SnapshotMetadata, SnapshotRecord,
    SnapshotStore, StorageError, StorageErrorKind,
};
use async_trait::async_trait;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::time::timeout;

/// Hands each call to the test and does what the test says.
pub(crate) struct ScriptedStore {
    calls: UnboundedSender<Called>,
}

/// The test's end.
pub(crate) struct Calls(UnboundedReceiver<Called>);

/// A call under way.
pub(crate) struct Called {
    pub(crate) call: Call,
    answer: oneshot::Sender<Answer>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Call {
    Initialize,
    Load(PersistenceId),
    Save(SnapshotMetadata),
    Delete(SnapshotMetadata),
    DeleteMatching(PersistenceId),
}

enum Answer {
    Works,
    Fails(StorageError),
    Panics,
}

impl ScriptedStore {
    pub(crate) fn new() -> (Self, Calls) {
        let (calls, receiver) = unbounded_channel();
        (Self { calls }, Calls(receiver))
    }

    async fn ask(&self, call: Call) -> Result<(), StorageError> {
        let (answer, answered) = oneshot::channel();
        let _ = self.calls.send(Called { call, answer });
        match answered.await {
            Ok(Answer::Works) => Ok(()),
            Ok(Answer::Fails(error)) => Err(error),
            Ok(Answer::Panics) => panic!("scripted"),
            // The test has dropped the call: it hangs.
            Err(_) => std::future::pending().await,
        }
    }
}

impl Calls {
    /// The next call; fails the test if none comes within a virtual hour.
    pub(crate) async fn next(&mut self) -> Called {
        let next = timeout(Duration::from_secs(3_600), self.0.recv()).await;
        next.expect("a call should have come").expect("a store")
    }

    /// The next call, which must be this one.
    pub(crate) async fn expect(&mut self, call: Call) -> Called {
        let called = self.next().await;
        assert_eq!(called.call, call);
        called
    }

    /// Whether there is no call that the test has not seen.
    pub(crate) async fn is_quiet(&mut self) -> bool {
        settle().await;
        self.0.is_empty()
    }
}

impl Called {
    pub(crate) fn works(self) {
        self.gives(Answer::Works);
    }

    pub(crate) fn fails(self, error: StorageError) {
        self.gives(Answer::Fails(error));
    }

    pub(crate) fn panics(self) {
        self.gives(Answer::Panics);
    }

    /// Never gives anything.
    pub(crate) fn hangs(self) {
        drop(self);
    }

    fn gives(self, answer: Answer) {
        // Nobody is there any more if the runtime has ended.
        let _ = self.answer.send(answer);
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

#[async_trait]
impl SnapshotStore for ScriptedStore {
    async fn initialize(&self) -> Result<(), StorageError> {
        self.ask(Call::Initialize).await
    }

    /// Away for good: what the tests see of outages comes from their own calls.
    async fn ping(&self) -> Result<(), StorageError> {
        Err(StorageError::new(
            StorageErrorKind::Unavailable,
            Operation::LoadSnapshot,
        ))
    }

    async fn load(
        &self,
        persistence_id: &PersistenceId,
        _: SnapshotCriteria,
    ) -> Result<Option<SnapshotRecord>, StorageError> {
        self.ask(Call::Load(persistence_id.clone())).await?;
        Ok(None)
    }

    async fn save(&self, metadata: SnapshotMetadata, _: Payload) -> Result<(), StorageError> {
        self.ask(Call::Save(metadata)).await
    }

    async fn delete(&self, metadata: &SnapshotMetadata) -> Result<(), StorageError> {
        self.ask(Call::Delete(metadata.clone())).await
    }

    async fn delete_matching(
        &self,
        persistence_id: &PersistenceId,
        _: SnapshotCriteria,
    ) -> Result<(), StorageError> {
        self.ask(Call::DeleteMatching(persistence_id.clone())).await
    }
}
