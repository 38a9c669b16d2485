//! The stores of one simulated process: those in memory, whose calls take their time and go wrong.

mod queries;

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use actix_persistence_memory::{
    MemoryJournal, MemorySnapshotStore, MemoryStateStore, MemoryStorage,
};
use actix_persistence_storage_api::{
    AtomicWrite, CurrentState, EventDeletion, Journal, JournalCapabilities, Operation, PageLimit,
    Payload, PersistenceId, Recovered, ReplayPage, ReplayRange, ResetProgress, Revision,
    SequenceNr, SnapshotCapabilities, SnapshotCriteria, SnapshotMetadata, SnapshotRecord,
    SnapshotStore, StateCapabilities, StateQueries, StateStore, StateUpdate, StateWrite,
    StorageError, StorageErrorKind, StreamHead, WriteOutcome, WriterId,
};
use async_trait::async_trait;
use fastrand::Rng;

use crate::run::hold;

/// The text by which an error of the simulation is known.
pub(super) const SIMULATED: &str = "simulated";

/// The longest time that a call takes which nothing is wrong with.
const LONGEST_LAG: Duration = Duration::from_millis(20);
/// The longest time after which something is done that is said to be unknown.
const LATEST: Duration = Duration::from_secs(20);
/// Longer than anybody waits for an answer.
const HANGS: Duration = Duration::from_secs(200);

/// The stores of one simulated process, on a storage that processes share.
///
/// What they do is done by the stores in memory: at a moment within the call, after it, or not at all. Without faults they
/// keep the contract.
pub struct SimStores {
    inner: Arc<Inner>,
}

struct Inner {
    journal: MemoryJournal,
    snapshots: MemorySnapshotStore,
    states: MemoryStateStore,
    random: Mutex<Rng>,
    /// One call in so many goes wrong.
    fault_in: Option<u32>,
    killed: AtomicBool,
}

/// The fate of a call.
#[derive(Clone, Copy)]
enum Fate {
    Works,
    Fails,
    /// Of a read: what is there cannot be read.
    Corrupt,
    UnknownDone,
    UnknownNotDone,
    /// It is done after the answer, such as after a later recovery.
    UnknownLater,
    PanicsBefore,
    PanicsAfter,
    /// It is done, long after the caller has given up.
    Hangs,
}

impl SimStores {
    /// Stores on this storage. One call in `fault_in` goes wrong; none if that is `None`.
    pub fn new(storage: &MemoryStorage, seed: u64, fault_in: Option<u32>) -> Arc<Self> {
        let inner = Inner {
            journal: storage.journal(),
            snapshots: storage.snapshot_store(),
            states: storage.state_store(),
            random: Mutex::new(Rng::with_seed(seed)),
            fault_in,
            killed: AtomicBool::new(false),
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
        work: impl Future<Output = Result<T, StorageError>>,
    ) -> Result<T, StorageError> {
        self.lag(operation).await?;
        let fates = [Fate::Fails, Fate::Corrupt, Fate::PanicsBefore, Fate::Hangs];
        match self.fate(&fates) {
            Fate::Fails => return Err(failure(StorageErrorKind::Unavailable, operation)),
            Fate::Corrupt => return Err(failure(StorageErrorKind::Corrupt, operation)),
            Fate::PanicsBefore => resume_unwind(Box::new(SIMULATED)),
            Fate::Hangs => tokio::time::sleep(HANGS).await,
            _ => {}
        }
        let result = work.await;
        self.lag(operation).await?;
        result
    }

    async fn write<T: Send>(
        &self,
        operation: Operation,
        work: impl Future<Output = Result<T, StorageError>> + Send + 'static,
    ) -> Result<T, StorageError> {
        self.lag(operation).await?;
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
        match self.fate(&fates) {
            Fate::Fails => return Err(unknown.not_stored()),
            Fate::UnknownNotDone => return Err(unknown),
            Fate::UnknownDone => {
                work.await?;
                return Err(unknown);
            }
            Fate::UnknownLater => {
                let wait = self.up_to(LATEST);
                tokio::spawn(async move {
                    tokio::time::sleep(wait).await;
                    // Nobody hears of it any more.
                    let _ = work.await;
                });
                return Err(unknown);
            }
            Fate::PanicsBefore => resume_unwind(Box::new(SIMULATED)),
            Fate::PanicsAfter => {
                work.await?;
                resume_unwind(Box::new(SIMULATED))
            }
            Fate::Hangs => tokio::time::sleep(HANGS).await,
            Fate::Works | Fate::Corrupt => {}
        }
        let result = work.await;
        self.lag(operation).await?;
        result
    }

    fn fate(&self, faults: &[Fate]) -> Fate {
        let mut random = hold(&self.inner.random);
        match self.inner.fault_in {
            Some(times) if random.u32(..times) == 0 => faults[random.usize(..faults.len())],
            _ => Fate::Works,
        }
    }

    fn up_to(&self, longest: Duration) -> Duration {
        longest.mul_f64(hold(&self.inner.random).f64())
    }

    async fn lag(&self, operation: Operation) -> Result<(), StorageError> {
        self.alive(operation)?;
        let wait = {
            let mut random = hold(&self.inner.random);
            random.bool().then(|| LONGEST_LAG.mul_f64(random.f64()))
        };
        if let Some(wait) = wait.filter(|_| self.inner.fault_in.is_some()) {
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

    /// Returns whether the events of this write are refused for what they are.
    fn rejects(&self) -> bool {
        let times = self.inner.fault_in.map(|times| times * 2);
        times.is_some_and(|times| hold(&self.inner.random).u32(..times) == 0)
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
        self.read(Operation::ReadHead, self.inner.journal.read_head(id))
            .await
    }

    async fn recover(
        &self,
        id: &PersistenceId,
        writer: WriterId,
    ) -> Result<Recovered, StorageError> {
        let (inner, id) = (Arc::clone(&self.inner), id.clone());
        let work = async move { inner.journal.recover(&id, writer).await };
        self.write(Operation::Recover, work).await
    }

    async fn write_messages(
        &self,
        writes: Vec<AtomicWrite>,
    ) -> Result<Vec<WriteOutcome>, StorageError> {
        if writes.len() == 1 && self.rejects() {
            self.lag(Operation::WriteMessages).await?;
            let refused = failure(StorageErrorKind::Unsupported, Operation::WriteMessages);
            return Ok(vec![WriteOutcome::Rejected(refused.not_stored())]);
        }
        let inner = Arc::clone(&self.inner);
        let work = async move { inner.journal.write_messages(writes).await };
        self.write(Operation::WriteMessages, work).await
    }

    async fn replay_messages(
        &self,
        id: &PersistenceId,
        range: ReplayRange,
        mut page: PageLimit,
    ) -> Result<ReplayPage, StorageError> {
        if self.inner.fault_in.is_some() {
            // Many steps, between which something may happen.
            page.max_events = page.max_events.min(5);
        }
        let work = self.inner.journal.replay_messages(id, range, page);
        self.read(Operation::ReplayMessages, work).await
    }

    async fn read_highest_sequence_nr(
        &self,
        id: &PersistenceId,
        from: SequenceNr,
    ) -> Result<SequenceNr, StorageError> {
        let work = self.inner.journal.read_highest_sequence_nr(id, from);
        self.read(Operation::ReadHighestSequenceNr, work).await
    }

    async fn delete_messages_to(
        &self,
        id: &PersistenceId,
        deletion: EventDeletion,
    ) -> Result<(), StorageError> {
        let (inner, id) = (Arc::clone(&self.inner), id.clone());
        let work = async move { inner.journal.delete_messages_to(&id, deletion).await };
        self.write(Operation::DeleteMessagesTo, work).await
    }

    async fn reset(&self, id: &PersistenceId) -> Result<ResetProgress, StorageError> {
        let (inner, id) = (Arc::clone(&self.inner), id.clone());
        let work = async move { inner.journal.reset(&id).await };
        self.write(Operation::Reset, work).await
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
        self.read(Operation::LoadSnapshot, work).await
    }

    async fn save(&self, metadata: SnapshotMetadata, payload: Payload) -> Result<(), StorageError> {
        let inner = Arc::clone(&self.inner);
        let work = async move { inner.snapshots.save(metadata, payload).await };
        self.write(Operation::SaveSnapshot, work).await
    }

    async fn delete(&self, metadata: &SnapshotMetadata) -> Result<(), StorageError> {
        let (inner, metadata) = (Arc::clone(&self.inner), metadata.clone());
        let work = async move { inner.snapshots.delete(&metadata).await };
        self.write(Operation::DeleteSnapshot, work).await
    }

    async fn delete_matching(
        &self,
        id: &PersistenceId,
        criteria: SnapshotCriteria,
    ) -> Result<(), StorageError> {
        let (inner, id) = (Arc::clone(&self.inner), id.clone());
        let work = async move { inner.snapshots.delete_matching(&id, criteria).await };
        self.write(Operation::DeleteMatchingSnapshots, work).await
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
        self.read(Operation::GetState, self.inner.states.get(id))
            .await
    }

    async fn upsert(&self, update: StateUpdate) -> Result<(), StorageError> {
        let inner = Arc::clone(&self.inner);
        let work = async move { inner.states.upsert(update).await };
        self.write(Operation::UpsertState, work).await
    }

    async fn delete(&self, id: &PersistenceId, revision: Revision) -> Result<(), StorageError> {
        let (inner, id) = (Arc::clone(&self.inner), id.clone());
        let work = async move { inner.states.delete(&id, revision).await };
        self.write(Operation::DeleteState, work).await
    }

    async fn write_group(
        &self,
        changes: Vec<StateWrite>,
    ) -> Result<Vec<Result<(), StorageError>>, StorageError> {
        let inner = Arc::clone(&self.inner);
        let work = async move { inner.states.write_group(changes).await };
        self.write(Operation::UpsertState, work).await
    }

    async fn hard_delete(&self, id: &PersistenceId) -> Result<bool, StorageError> {
        let (inner, id) = (Arc::clone(&self.inner), id.clone());
        let work = async move { inner.states.hard_delete(&id).await };
        self.write(Operation::HardDeleteState, work).await
    }

    fn capabilities(&self) -> StateCapabilities {
        self.inner.states.capabilities().with_groups(1, 4, 10_000)
    }

    fn queries(&self) -> Option<&dyn StateQueries> {
        Some(self)
    }
}
