//! A state store whose every call is answered by the test.

use std::time::Duration;

use actix_persistence_memory::MemoryStateStore;
use actix_persistence_storage_api::{
    CurrentState, Operation, PersistenceId, Revision, StateCapabilities, StateDelete, StateStore,
    StateUpdate, StateWrite, StorageError, StorageErrorKind,
};
use actix_persistence_testkit::{
    Held, HeldCall, Intercepted, Rule, StateAnswer, StateCall, StateStores, StoreCall,
};
use async_trait::async_trait;

/// Hands each call to the test and does what the test says.
pub(crate) struct ScriptedStore;

/// The test's end.
pub(crate) struct Calls {
    held: Held<StateStores>,
    pings: Rule,
}

/// A call under way.
pub(crate) struct Called {
    pub(crate) operation: Operation,
    /// The id that it is for; none for initialising.
    pub(crate) name: Option<String>,
    /// The revision that it writes; 0 if it writes none.
    pub(crate) revision: Revision,
    /// The changes of a group, by id and revision.
    pub(crate) changes: Vec<(String, Revision)>,
    held: HeldCall<StateStores>,
}

impl ScriptedStore {
    #[allow(clippy::new_ret_no_self)] // the store and the test's end of it
    pub(crate) fn new() -> (Intercepted<StateStores>, Calls) {
        Self::with(StateCapabilities::default().with_tags())
    }

    pub(crate) fn with(capabilities: StateCapabilities) -> (Intercepted<StateStores>, Calls) {
        Self::around(MemoryStateStore::new(), capabilities)
    }

    pub(crate) fn around(
        store: impl StateStore,
        capabilities: StateCapabilities,
    ) -> (Intercepted<StateStores>, Calls) {
        let store = Intercepted::state_store(store).with_capabilities(capabilities);
        // Away for good: what the tests see of outages comes from their own calls.
        let pings = store.on_ping().fail(StorageErrorKind::Unavailable);
        let held = store.on_every_call().hold();
        (store, Calls { held, pings })
    }
}

impl Calls {
    /// The next call; fails the test if none comes within a virtual hour.
    pub(crate) async fn next(&mut self) -> Called {
        let next = tokio::time::timeout(Duration::from_secs(3_600), self.held.next()).await;
        let held = next.expect("a call should have come");
        let ids = held.call().persistence_ids();
        Called {
            operation: held.call().operation(),
            name: ids.first().map(|id| id.entity_id().to_owned()),
            revision: match held.call() {
                StateCall::Upsert { update } => update.revision,
                StateCall::Delete { delete } => delete.revision,
                _ => 0,
            },
            changes: match held.call() {
                StateCall::WriteGroup { changes } => {
                    changes.iter().map(name_and_revision).collect()
                }
                _ => Vec::new(),
            },
            held,
        }
    }

    /// The next call, which must be for these changes.
    pub(crate) async fn expect_group(&mut self, expected: &[(&str, Revision)]) -> Called {
        let called = self.next().await;
        let changes = called.changes.iter();
        let seen: Vec<_> = changes
            .map(|(name, revision)| (name.as_str(), *revision))
            .collect();
        assert_eq!(seen, expected);
        called
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

    /// Returns whether there is no call that the test has not seen.
    pub(crate) async fn is_quiet(&mut self) -> bool {
        settle().await;
        self.held.waiting() == 0
    }

    /// Returns how often the store was asked whether it works.
    pub(crate) fn pings(&self) -> usize {
        self.pings.met()
    }
}

/// The name of an id whose changes go alone.
pub(crate) const ALONE: &str = "alone";

/// A store that makes the changes of one id alone.
pub(crate) struct Alone(pub(crate) MemoryStateStore);

#[async_trait]
impl StateStore for Alone {
    async fn initialize(&self) -> Result<(), StorageError> {
        self.0.initialize().await
    }

    async fn get(&self, persistence_id: &PersistenceId) -> Result<CurrentState, StorageError> {
        self.0.get(persistence_id).await
    }

    async fn upsert(&self, update: StateUpdate) -> Result<(), StorageError> {
        self.0.upsert(update).await
    }

    async fn delete(&self, delete: StateDelete) -> Result<(), StorageError> {
        self.0.delete(delete).await
    }

    async fn hard_delete(&self, persistence_id: &PersistenceId) -> Result<bool, StorageError> {
        self.0.hard_delete(persistence_id).await
    }

    fn goes_alone(&self, change: &StateWrite) -> bool {
        change.persistence_id().entity_id() == ALONE
    }
}

impl Called {
    pub(crate) fn works(self) {
        self.gives(0);
    }

    /// Works; what is read is a tombstone of this revision.
    pub(crate) fn gives(self, revision: Revision) {
        assert!(!self.held.is_abandoned(), "the call is over");
        self.held.answer(match self.operation {
            Operation::GetState => StateAnswer::Current(CurrentState::tombstone(revision)),
            Operation::HardDeleteState => StateAnswer::Removed(revision > 0),
            _ => StateAnswer::Done,
        });
    }

    /// Gives these outcomes of a group.
    pub(crate) fn gives_outcomes(self, outcomes: Vec<Result<(), StorageError>>) {
        assert!(!self.held.is_abandoned(), "the call is over");
        self.held.answer(StateAnswer::Outcomes(outcomes));
    }

    /// Makes every change of a group.
    pub(crate) fn makes_all(self) {
        let outcomes = self.changes.iter().map(|_| Ok(())).collect();
        self.gives_outcomes(outcomes);
    }

    pub(crate) fn fails(self, error: StorageError) {
        assert!(!self.held.is_abandoned(), "the call is over");
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

fn name_and_revision(change: &StateWrite) -> (String, Revision) {
    let name = change.persistence_id().entity_id().to_owned();
    match change {
        StateWrite::Upsert(update) => (name, update.revision),
        StateWrite::Delete(delete) => (name, delete.revision),
    }
}

/// Lets everything run that can: the paused clock moves only when nothing else does.
pub(crate) async fn settle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}
