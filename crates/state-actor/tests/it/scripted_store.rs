//! A state store whose every call is answered by the test.

use std::time::Duration;

use actix_persistence_storage_api::{
    ChangeEvent, CurrentState, Operation, PersistenceId, Revision, StateCapabilities, StateStore,
    StateUpdate, StorageError, StorageErrorKind,
};
use async_trait::async_trait;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

/// Hands each call to the test and does what the test says; a call whose answer the test drops hangs.
pub(crate) struct ScriptedStore(UnboundedSender<Called>);

/// The test's end.
pub(crate) struct Calls(UnboundedReceiver<Called>);

/// A call under way.
pub(crate) struct Called {
    pub(crate) operation: Operation,
    /// Of which id; none for initialising.
    pub(crate) name: Option<String>,
    /// At which revision it writes; 0 if it does not.
    pub(crate) revision: Revision,
    answer: oneshot::Sender<Answer>,
}

type Answer = Box<dyn FnOnce() -> Result<Revision, StorageError> + Send>;

impl ScriptedStore {
    pub(crate) fn new() -> (Self, Calls) {
        let (calls, receiver) = unbounded_channel();
        (Self(calls), Calls(receiver))
    }

    async fn ask(
        &self,
        operation: Operation,
        persistence_id: Option<&PersistenceId>,
        revision: Revision,
    ) -> Result<Revision, StorageError> {
        let (answer, answered) = oneshot::channel();
        let _ = self.0.send(Called {
            operation,
            name: persistence_id.map(|id| id.entity_id().to_owned()),
            revision,
            answer,
        });
        match answered.await {
            Ok(answer) => answer(),
            Err(_) => std::future::pending().await,
        }
    }
}

impl Calls {
    /// The next call; fails the test if none comes within a virtual hour.
    pub(crate) async fn next(&mut self) -> Called {
        let next = tokio::time::timeout(Duration::from_secs(3_600), self.0.recv()).await;
        next.expect("a call should have come").expect("a store")
    }

    /// The next call, which must be this one.
    pub(crate) async fn expect(
        &mut self,
        operation: Operation,
        name: &str,
        revision: Revision,
    ) -> Called {
        let called = self.next().await;
        let seen = (called.operation, called.name.as_deref(), called.revision);
        assert_eq!(seen, (operation, Some(name), revision));
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
        self.gives(0);
    }

    /// Works; what is read is a tombstone of this revision.
    pub(crate) fn gives(self, revision: Revision) {
        self.answers(Box::new(move || Ok(revision)));
    }

    pub(crate) fn fails(self, error: StorageError) {
        self.answers(Box::new(move || Err(error)));
    }

    pub(crate) fn panics(self) {
        self.answers(Box::new(|| panic!("scripted")));
    }

    /// Never gives anything.
    pub(crate) fn hangs(self) {
        drop(self);
    }

    fn answers(self, answer: Answer) {
        assert!(self.answer.send(answer).is_ok(), "the call is over");
    }
}

/// Lets everything run that can: the paused clock moves only when nothing else does.
pub(crate) async fn settle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

#[async_trait]
impl StateStore for ScriptedStore {
    async fn initialize(&self) -> Result<(), StorageError> {
        self.ask(Operation::Initialize, None, 0).await.map(drop)
    }

    /// Away for good: what the tests see of outages comes from their own calls.
    async fn ping(&self) -> Result<(), StorageError> {
        Err(StorageError::new(
            StorageErrorKind::Unavailable,
            Operation::GetState,
        ))
    }

    async fn get(&self, persistence_id: &PersistenceId) -> Result<CurrentState, StorageError> {
        let id = Some(persistence_id);
        let revision = self.ask(Operation::GetState, id, 0).await?;
        Ok(CurrentState::tombstone(revision))
    }

    async fn upsert(&self, update: StateUpdate) -> Result<(), StorageError> {
        let id = Some(&update.persistence_id);
        let call = self.ask(Operation::UpsertState, id, update.revision);
        call.await.map(drop)
    }

    async fn delete(
        &self,
        persistence_id: &PersistenceId,
        revision: Revision,
    ) -> Result<(), StorageError> {
        let id = Some(persistence_id);
        let call = self.ask(Operation::DeleteState, id, revision);
        call.await.map(drop)
    }

    async fn delete_with_event(
        &self,
        persistence_id: &PersistenceId,
        revision: Revision,
        _: ChangeEvent,
    ) -> Result<(), StorageError> {
        self.delete(persistence_id, revision).await
    }

    async fn hard_delete(&self, persistence_id: &PersistenceId) -> Result<bool, StorageError> {
        let id = Some(persistence_id);
        let removed = self.ask(Operation::HardDeleteState, id, 0).await?;
        Ok(removed > 0)
    }

    fn capabilities(&self) -> StateCapabilities {
        StateCapabilities::default().with_tags()
    }
}
