//! The stores of one simulated process: those in memory, whose calls take their time and go wrong.

mod fates;
mod queries;

use std::hash::Hash;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use actix_persistence_memory::{
    MemoryJournal, MemorySnapshotStore, MemoryStateStore, MemoryStorage,
};
use actix_persistence_storage_api::{
    AtomicWrite, CurrentState, EventDeletion, EventQueries, Journal, JournalCapabilities,
    Operation, PageLimit, Payload, PersistenceId, PurgeProgress, ReplayPage, ReplayRange,
    SequenceNr, SnapshotCapabilities, SnapshotCriteria, SnapshotMetadata, SnapshotRecord,
    SnapshotStore, StateCapabilities, StateDelete, StateQueries, StateStore, StateUpdate,
    StateWrite, StorageError, StorageErrorKind, StreamHead, TakeOverRequest, TakenOver,
    WriteOutcome,
};
use async_trait::async_trait;
use tokio::time::Instant;

use crate::run::hold;
use fates::{Draw, Fate, Fates};

/// The text by which an error of the simulation is known.
pub(super) const SIMULATED: &str = "simulated";

/// Longer than anybody waits for an answer.
const HANGS: Duration = Duration::from_secs(200);

/// The stores of one simulated process, on a storage that processes share.
///
/// The stores in memory do their work: at a moment within the call, after it, or not at all. Without faults they
/// keep the contract.
pub struct SimStores {
    inner: Arc<Inner>,
}

struct Inner {
    journal: MemoryJournal,
    snapshots: MemorySnapshotStore,
    states: MemoryStateStore,
    fates: Fates,
    killed: AtomicBool,
    /// The calls that hang, or have hung, and are blamed for no time-out yet.
    hung: Mutex<Vec<Hung>>,
}

/// A call that hangs.
struct Hung {
    operation: Operation,
    until: Instant,
}

impl SimStores {
    /// Stores on this storage. One call in `fault_in` goes wrong; none if that is `None`.
    pub fn new(storage: &MemoryStorage, seed: u64, fault_in: Option<u32>) -> Arc<Self> {
        let inner = Inner {
            journal: storage.journal(),
            snapshots: storage.snapshot_store(),
            states: storage.state_store(),
            fates: Fates::new(seed, fault_in),
            killed: AtomicBool::new(false),
            hung: Mutex::default(),
        };
        Arc::new(Self {
            inner: Arc::new(inner),
        })
    }

    /// The process is killed: its calls do nothing more. What is on its way may still be done.
    ///
    /// They fail, so that whatever is left of the process ends soon; what it makes of that is seen nowhere.
    pub(super) fn kill(&self) {
        self.inner.killed.store(true, Ordering::Relaxed);
    }

    async fn read<T>(
        &self,
        operation: Operation,
        about: impl Hash,
        work: impl Future<Output = Result<T, StorageError>>,
    ) -> Result<T, StorageError> {
        let mut draw = self.inner.fates.draw(operation, about);
        self.lag(&mut draw, operation).await?;
        let fates = [Fate::Fails, Fate::Corrupt, Fate::PanicsBefore, Fate::Hangs];
        match draw.fate(&fates) {
            Fate::Fails => return Err(failure(StorageErrorKind::Unavailable, operation)),
            Fate::Corrupt => return Err(failure(StorageErrorKind::Corrupt, operation)),
            Fate::PanicsBefore => resume_unwind(Box::new(SIMULATED)),
            Fate::Hangs => self.hang(operation).await,
            _ => {}
        }
        let result = work.await;
        self.lag(&mut draw, operation).await?;
        result
    }

    async fn write<T: Send>(
        &self,
        operation: Operation,
        about: impl Hash,
        work: impl Future<Output = Result<T, StorageError>> + Send + 'static,
    ) -> Result<T, StorageError> {
        let mut draw = self.inner.fates.draw(operation, about);
        self.lag(&mut draw, operation).await?;
        let fates = [
            Fate::Fails,
            Fate::UnknownDone,
            Fate::UnknownNotDone,
            Fate::UnknownLater,
            Fate::PanicsBefore,
            Fate::PanicsAfter,
            Fate::Hangs,
        ];
        let unknown = failure(StorageErrorKind::Unavailable, operation);
        match draw.fate(&fates) {
            Fate::Fails => return Err(unknown.not_stored()),
            Fate::UnknownNotDone => return Err(unknown),
            Fate::UnknownDone => {
                work.await?;
                return Err(unknown);
            }
            Fate::UnknownLater => {
                let wait = draw.lateness();
                tokio::spawn(async move {
                    tokio::time::sleep(wait).await;
                    // No caller hears of it any more.
                    let _ = work.await;
                });
                return Err(unknown);
            }
            Fate::PanicsBefore => resume_unwind(Box::new(SIMULATED)),
            Fate::PanicsAfter => {
                work.await?;
                resume_unwind(Box::new(SIMULATED))
            }
            Fate::Hangs => self.hang(operation).await,
            Fate::Works | Fate::Corrupt => {}
        }
        let result = work.await;
        self.lag(&mut draw, operation).await?;
        result
    }

    /// Returns whether a call of this operation has been without an answer until its caller may have
    /// given up just now; it is blamed once.
    pub(super) fn explains_a_time_out(&self, operation: Operation) -> bool {
        let now = Instant::now();
        let mut hung = hold(&self.inner.hung);
        hung.retain(|hung| hung.until > now);
        let blamed = hung.iter().position(|hung| hung.operation == operation);
        blamed.map(|blamed| hung.remove(blamed)).is_some()
    }

    async fn hang(&self, operation: Operation) {
        let until = Instant::now() + HANGS;
        hold(&self.inner.hung).push(Hung { operation, until });
        tokio::time::sleep_until(until).await;
    }

    async fn lag(&self, draw: &mut Draw, operation: Operation) -> Result<(), StorageError> {
        self.alive(operation)?;
        if let Some(wait) = draw.lag() {
            tokio::time::sleep(wait).await;
        }
        self.alive(operation)
    }

    fn alive(&self, operation: Operation) -> Result<(), StorageError> {
        match self.inner.killed.load(Ordering::Relaxed) {
            // Nothing tries again what is refused.
            true => Err(failure(StorageErrorKind::AccessDenied, operation)),
            false => Ok(()),
        }
    }
}

fn failure(kind: StorageErrorKind, operation: Operation) -> StorageError {
    StorageError::new(kind, operation).with_message(SIMULATED)
}

#[async_trait]
impl Journal for SimStores {
    async fn initialize(&self) -> Result<(), StorageError> {
        Ok(())
    }

    async fn read_head(&self, id: &PersistenceId) -> Result<StreamHead, StorageError> {
        let work = self.inner.journal.read_head(id);
        self.read(Operation::ReadHead, id, work).await
    }

    async fn take_over(
        &self,
        requests: &[TakeOverRequest],
    ) -> Result<Vec<TakenOver>, StorageError> {
        let (inner, requests) = (Arc::clone(&self.inner), requests.to_vec());
        let ids: Vec<_> = requests
            .iter()
            .map(|request| request.persistence_id.clone())
            .collect();
        let work = async move { inner.journal.take_over(&requests).await };
        self.write(Operation::TakeOver, ids, work).await
    }

    async fn write_messages(
        &self,
        writes: Vec<AtomicWrite>,
    ) -> Result<Vec<WriteOutcome>, StorageError> {
        let operation = Operation::WriteMessages;
        let id = writes.first().map(|write| write.persistence_id().clone());
        // Whether they are refused for what they are.
        let mut draw = self.inner.fates.draw(operation, ("refused", &id));
        if writes.len() == 1 && draw.once_in(2) {
            self.lag(&mut draw, operation).await?;
            let refused = failure(StorageErrorKind::Unsupported, operation);
            return Ok(vec![WriteOutcome::Rejected(refused.not_stored())]);
        }
        let inner = Arc::clone(&self.inner);
        let work = async move { inner.journal.write_messages(writes).await };
        self.write(operation, id, work).await
    }

    async fn replay_messages(
        &self,
        id: &PersistenceId,
        range: ReplayRange,
        mut page: PageLimit,
    ) -> Result<ReplayPage, StorageError> {
        if self.inner.fates.is_cruel() {
            // Many steps, between which something may happen.
            page.max_events = page.max_events.min(5);
        }
        let work = self.inner.journal.replay_messages(id, range, page);
        self.read(Operation::ReplayMessages, id, work).await
    }

    async fn read_highest_sequence_nr(
        &self,
        id: &PersistenceId,
    ) -> Result<SequenceNr, StorageError> {
        let work = self.inner.journal.read_highest_sequence_nr(id);
        self.read(Operation::ReadHighestSequenceNr, id, work).await
    }

    async fn delete_messages_to(
        &self,
        id: &PersistenceId,
        deletion: EventDeletion,
    ) -> Result<(), StorageError> {
        let (inner, of) = (Arc::clone(&self.inner), id.clone());
        let work = async move { inner.journal.delete_messages_to(&of, deletion).await };
        self.write(Operation::DeleteMessagesTo, id, work).await
    }

    async fn purge(&self, id: &PersistenceId) -> Result<PurgeProgress, StorageError> {
        let (inner, of) = (Arc::clone(&self.inner), id.clone());
        let work = async move { inner.journal.purge(&of).await };
        self.write(Operation::Purge, id, work).await
    }

    fn event_queries(&self) -> Option<&dyn EventQueries> {
        Some(self)
    }

    fn capabilities(&self) -> JournalCapabilities {
        self.inner.journal.capabilities()
    }
}

#[async_trait]
impl SnapshotStore for SimStores {
    async fn initialize(&self) -> Result<(), StorageError> {
        Ok(())
    }

    async fn load(
        &self,
        id: &PersistenceId,
        criteria: SnapshotCriteria,
    ) -> Result<Option<SnapshotRecord>, StorageError> {
        let work = self.inner.snapshots.load(id, criteria);
        self.read(Operation::LoadSnapshot, id, work).await
    }

    async fn save(&self, metadata: SnapshotMetadata, payload: Payload) -> Result<(), StorageError> {
        let (inner, id) = (Arc::clone(&self.inner), metadata.persistence_id.clone());
        let work = async move { inner.snapshots.save(metadata, payload).await };
        self.write(Operation::SaveSnapshot, id, work).await
    }

    async fn delete(&self, metadata: &SnapshotMetadata) -> Result<(), StorageError> {
        let (inner, of) = (Arc::clone(&self.inner), metadata.clone());
        let work = async move { inner.snapshots.delete(&of).await };
        self.write(Operation::DeleteSnapshot, &metadata.persistence_id, work)
            .await
    }

    async fn delete_matching(
        &self,
        id: &PersistenceId,
        criteria: SnapshotCriteria,
    ) -> Result<(), StorageError> {
        let (inner, of) = (Arc::clone(&self.inner), id.clone());
        let work = async move { inner.snapshots.delete_matching(&of, criteria).await };
        self.write(Operation::DeleteMatchingSnapshots, id, work)
            .await
    }

    fn capabilities(&self) -> SnapshotCapabilities {
        self.inner.snapshots.capabilities()
    }
}

#[async_trait]
impl StateStore for SimStores {
    async fn initialize(&self) -> Result<(), StorageError> {
        Ok(())
    }

    async fn get(&self, id: &PersistenceId) -> Result<CurrentState, StorageError> {
        let work = self.inner.states.get(id);
        self.read(Operation::GetState, id, work).await
    }

    async fn upsert(&self, update: StateUpdate) -> Result<(), StorageError> {
        let (inner, id) = (Arc::clone(&self.inner), update.persistence_id.clone());
        let work = async move { inner.states.upsert(update).await };
        self.write(Operation::UpsertState, id, work).await
    }

    async fn delete(&self, delete: StateDelete) -> Result<(), StorageError> {
        let (inner, id) = (Arc::clone(&self.inner), delete.persistence_id.clone());
        let work = async move { inner.states.delete(delete).await };
        self.write(Operation::DeleteState, id, work).await
    }

    async fn write_group(
        &self,
        changes: Vec<StateWrite>,
    ) -> Result<Vec<Result<(), StorageError>>, StorageError> {
        let first = changes.first().map(|first| first.persistence_id().clone());
        let inner = Arc::clone(&self.inner);
        let work = async move { inner.states.write_group(changes).await };
        self.write(Operation::UpsertState, first, work).await
    }

    async fn hard_delete(&self, id: &PersistenceId) -> Result<bool, StorageError> {
        let (inner, of) = (Arc::clone(&self.inner), id.clone());
        let work = async move { inner.states.hard_delete(&of).await };
        self.write(Operation::HardDeleteState, id, work).await
    }

    fn capabilities(&self) -> StateCapabilities {
        self.inner.states.capabilities().with_groups(1, 4, 10_000)
    }

    fn queries(&self) -> Option<&dyn StateQueries> {
        Some(self)
    }
}
