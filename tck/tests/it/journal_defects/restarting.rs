//! Defects that show when a store is opened again, or twice at once.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use actix_persistence_memory::{MemoryJournal, MemoryStorage};
use actix_persistence_storage_api::{
    AtomicWrite, Epoch, EventDeletion, Journal, Operation, PageLimit, PersistenceId, ReplayPage,
    ReplayRange, SequenceNr, StorageError, StorageErrorKind, StreamHead, TakenOver, WriteOutcome,
    WriterId,
};
use actix_persistence_tck::TakeOverOne;
use async_trait::async_trait;
use tokio::task::yield_now;

use crate::broken_journal::JournalDefect;

/// Counts epochs in memory, from one again after a restart.
#[derive(Default)]
pub(crate) struct ForgetsEpochs {
    /// The epochs given by this instance, and those that they stand for.
    epochs: Mutex<HashMap<PersistenceId, (Epoch, Epoch)>>,
}

/// Opening starts with nothing.
impl Clone for ForgetsEpochs {
    fn clone(&self) -> Self {
        Self::default()
    }
}

#[async_trait]
impl JournalDefect for ForgetsEpochs {
    async fn take_over(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
        writer: WriterId,
    ) -> Result<TakenOver, StorageError> {
        let taken = inner.take_over_one(id, writer).await?;
        let mut epochs = self.epochs.lock().unwrap();
        let (given, stored) = epochs.entry(id.clone()).or_default();
        *given += 1;
        *stored = taken.epoch;
        Ok(TakenOver {
            epoch: *given,
            ..taken
        })
    }

    async fn write(
        &self,
        inner: &MemoryJournal,
        writes: Vec<AtomicWrite>,
    ) -> Result<Vec<WriteOutcome>, StorageError> {
        let writes = writes.into_iter().map(|write| {
            let id = write.persistence_id().clone();
            let epoch = match self.epochs.lock().unwrap().get(&id) {
                Some(&(given, stored)) if given == write.fence().expected() => stored,
                _ => 0,
            };
            AtomicWrite::new(id, epoch, write.into_events()).unwrap()
        });
        inner.write_messages(writes.collect()).await
    }
}

/// Keeps deletes in memory, so that deleted events come back after a restart.
#[derive(Default)]
pub(crate) struct ForgetsDeletes {
    deleted: Mutex<HashMap<PersistenceId, SequenceNr>>,
}

/// Opening starts with nothing.
impl Clone for ForgetsDeletes {
    fn clone(&self) -> Self {
        Self::default()
    }
}

#[async_trait]
impl JournalDefect for ForgetsDeletes {
    async fn take_over(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
        writer: WriterId,
    ) -> Result<TakenOver, StorageError> {
        let taken = inner.take_over_one(id, writer).await?;
        let deleted_to = self.deleted.lock().unwrap().get(id).copied().unwrap_or(0);
        Ok(TakenOver {
            deleted_to,
            ..taken
        })
    }

    async fn replay(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
        range: ReplayRange,
        page: PageLimit,
    ) -> Result<ReplayPage, StorageError> {
        let deleted_to = self.deleted.lock().unwrap().get(id).copied().unwrap_or(0);
        let range = ReplayRange::new(range.from.max(deleted_to + 1), range.to);
        let mut found = inner.replay_messages(id, range, page).await?;
        found.deleted_to = deleted_to;
        Ok(found)
    }

    async fn delete(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
        deletion: EventDeletion,
    ) -> Result<(), StorageError> {
        let highest = inner.read_highest_sequence_nr(id).await?;
        let mut deleted = self.deleted.lock().unwrap();
        let deleted_to = deleted.entry(id.clone()).or_default();
        *deleted_to = deletion.to.min(highest).max(*deleted_to);
        Ok(())
    }
}

/// Stores nothing beyond the instance.
#[derive(Default)]
pub(crate) struct KeepsNothing {
    own: MemoryStorage,
}

/// Opening starts with nothing.
impl Clone for KeepsNothing {
    fn clone(&self) -> Self {
        Self::default()
    }
}

#[async_trait]
impl JournalDefect for KeepsNothing {
    async fn head(
        &self,
        _inner: &MemoryJournal,
        id: &PersistenceId,
    ) -> Result<StreamHead, StorageError> {
        self.own.journal().read_head(id).await
    }

    async fn take_over(
        &self,
        _inner: &MemoryJournal,
        id: &PersistenceId,
        writer: WriterId,
    ) -> Result<TakenOver, StorageError> {
        self.own.journal().take_over_one(id, writer).await
    }

    async fn write(
        &self,
        _inner: &MemoryJournal,
        writes: Vec<AtomicWrite>,
    ) -> Result<Vec<WriteOutcome>, StorageError> {
        self.own.journal().write_messages(writes).await
    }

    async fn replay(
        &self,
        _inner: &MemoryJournal,
        id: &PersistenceId,
        range: ReplayRange,
        page: PageLimit,
    ) -> Result<ReplayPage, StorageError> {
        let journal = self.own.journal();
        journal.replay_messages(id, range, page).await
    }

    async fn highest(
        &self,
        _inner: &MemoryJournal,
        id: &PersistenceId,
    ) -> Result<SequenceNr, StorageError> {
        let journal = self.own.journal();
        journal.read_highest_sequence_nr(id).await
    }

    async fn delete(
        &self,
        _inner: &MemoryJournal,
        id: &PersistenceId,
        deletion: EventDeletion,
    ) -> Result<(), StorageError> {
        self.own.journal().delete_messages_to(id, deletion).await
    }
}

/// Creates its tables without looking whether they are there, so that a second initialisation empties them.
#[derive(Clone, Default)]
pub(crate) struct EmptiesOnInitialize {
    /// One storage for each time that the place was emptied, the present one last.
    generations: Arc<Mutex<Vec<MemoryStorage>>>,
}

impl EmptiesOnInitialize {
    fn present(&self) -> MemoryJournal {
        let generations = self.generations.lock().unwrap();
        generations.last().unwrap().journal()
    }
}

#[async_trait]
impl JournalDefect for EmptiesOnInitialize {
    async fn head(
        &self,
        _inner: &MemoryJournal,
        id: &PersistenceId,
    ) -> Result<StreamHead, StorageError> {
        self.present().read_head(id).await
    }

    async fn initialize(&self, _inner: &MemoryJournal) -> Result<(), StorageError> {
        self.generations.lock().unwrap().push(MemoryStorage::new());
        Ok(())
    }

    async fn take_over(
        &self,
        _inner: &MemoryJournal,
        id: &PersistenceId,
        writer: WriterId,
    ) -> Result<TakenOver, StorageError> {
        self.present().take_over_one(id, writer).await
    }

    async fn write(
        &self,
        _inner: &MemoryJournal,
        writes: Vec<AtomicWrite>,
    ) -> Result<Vec<WriteOutcome>, StorageError> {
        self.present().write_messages(writes).await
    }

    async fn replay(
        &self,
        _inner: &MemoryJournal,
        id: &PersistenceId,
        range: ReplayRange,
        page: PageLimit,
    ) -> Result<ReplayPage, StorageError> {
        self.present().replay_messages(id, range, page).await
    }

    async fn highest(
        &self,
        _inner: &MemoryJournal,
        id: &PersistenceId,
    ) -> Result<SequenceNr, StorageError> {
        self.present().read_highest_sequence_nr(id).await
    }

    async fn delete(
        &self,
        _inner: &MemoryJournal,
        id: &PersistenceId,
        deletion: EventDeletion,
    ) -> Result<(), StorageError> {
        self.present().delete_messages_to(id, deletion).await
    }
}

/// Two instances that migrate at once trip over each other.
#[derive(Clone, Default)]
pub(crate) struct FailsWhenInitializedTwiceAtOnce {
    initializing: Arc<AtomicUsize>,
}

#[async_trait]
impl JournalDefect for FailsWhenInitializedTwiceAtOnce {
    async fn initialize(&self, _inner: &MemoryJournal) -> Result<(), StorageError> {
        let others = self.initializing.fetch_add(1, Ordering::SeqCst);
        // Until the other instances of the case have begun, too; for ever if there is none.
        let mut turns = 0;
        while turns < 1_000 && self.initializing.load(Ordering::SeqCst) == 1 {
            yield_now().await;
            turns += 1;
        }
        self.initializing.fetch_sub(1, Ordering::SeqCst);
        if others == 0 {
            return Ok(());
        }
        let kind = StorageErrorKind::SchemaMismatch;
        Err(StorageError::new(kind, Operation::Initialize))
    }
}

/// A dropped initialisation leaves a lock behind.
#[derive(Clone, Default)]
pub(crate) struct LeavesALockWhenDropped {
    locked: Arc<AtomicBool>,
}

#[async_trait]
impl JournalDefect for LeavesALockWhenDropped {
    async fn initialize(&self, _inner: &MemoryJournal) -> Result<(), StorageError> {
        let mut turns = 0;
        while self.locked.swap(true, Ordering::SeqCst) {
            turns += 1;
            if turns > 1_000 {
                let kind = StorageErrorKind::Unavailable;
                return Err(StorageError::new(kind, Operation::Initialize));
            }
            yield_now().await;
        }
        yield_now().await;
        self.locked.store(false, Ordering::SeqCst);
        Ok(())
    }
}

/// A dropped call never gives its connection back, and there are eight.
#[derive(Clone)]
pub(crate) struct LeaksConnections {
    free: Arc<AtomicUsize>,
}

impl Default for LeaksConnections {
    fn default() -> Self {
        Self {
            free: Arc::new(AtomicUsize::new(8)),
        }
    }
}

#[async_trait]
impl JournalDefect for LeaksConnections {
    async fn replay(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
        range: ReplayRange,
        page: PageLimit,
    ) -> Result<ReplayPage, StorageError> {
        let take = |free: usize| free.checked_sub(1);
        if (self.free)
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, take)
            .is_err()
        {
            let kind = StorageErrorKind::Unavailable;
            return Err(StorageError::new(kind, Operation::ReplayMessages));
        }
        yield_now().await;
        let found = inner.replay_messages(id, range, page).await;
        self.free.fetch_add(1, Ordering::SeqCst);
        found
    }
}

/// Answers reads from what the instance has seen itself.
#[derive(Default)]
pub(crate) struct CachesHighest {
    seen: Mutex<HashMap<PersistenceId, SequenceNr>>,
}

/// Opening starts with nothing.
impl Clone for CachesHighest {
    fn clone(&self) -> Self {
        Self::default()
    }
}

#[async_trait]
impl JournalDefect for CachesHighest {
    async fn highest(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
    ) -> Result<SequenceNr, StorageError> {
        let seen = self.seen.lock().unwrap().get(id).copied();
        if let Some(highest) = seen {
            return Ok(highest);
        }
        let highest = inner.read_highest_sequence_nr(id).await?;
        self.seen.lock().unwrap().insert(id.clone(), highest);
        Ok(highest)
    }

    async fn write(
        &self,
        inner: &MemoryJournal,
        writes: Vec<AtomicWrite>,
    ) -> Result<Vec<WriteOutcome>, StorageError> {
        let outcomes = inner.write_messages(writes.clone()).await?;
        let mut seen = self.seen.lock().unwrap();
        for (outcome, write) in outcomes.iter().zip(&writes) {
            if outcome.is_stored() {
                let id = write.persistence_id().clone();
                seen.insert(id, write.highest_sequence_nr());
            }
        }
        Ok(outcomes)
    }
}
