//! Defects of recovery and of the fence.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

use actix_persistence_memory::MemoryJournal;
use actix_persistence_storage_api::{
    AtomicWrite, Epoch, Journal, PersistenceId, Recovered, StorageError, WriteOutcome, WriterId,
};
use async_trait::async_trait;
use tokio::task::yield_now;

use crate::broken_journal::JournalDefect;

/// The epochs that the inner journal knows.
type Epochs = Arc<Mutex<HashMap<PersistenceId, Epoch>>>;

/// The write with the epoch that the inner journal wants.
fn with_epoch(write: AtomicWrite, epochs: &Epochs) -> AtomicWrite {
    let id = write.persistence_id().clone();
    let epoch = epochs.lock().unwrap().get(&id).copied();
    let epoch = epoch.unwrap_or(write.epoch());
    AtomicWrite::new(id, epoch, write.into_events()).unwrap()
}

/// Stores what follows on the highest number, whoever writes it.
#[derive(Clone, Default)]
pub(crate) struct IgnoresEpoch {
    epochs: Epochs,
}

#[async_trait]
impl JournalDefect for IgnoresEpoch {
    async fn recover(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
        writer: WriterId,
    ) -> Result<Recovered, StorageError> {
        let recovered = inner.recover(id, writer).await?;
        self.epochs
            .lock()
            .unwrap()
            .insert(id.clone(), recovered.epoch);
        Ok(recovered)
    }

    async fn write(
        &self,
        inner: &MemoryJournal,
        writes: Vec<AtomicWrite>,
    ) -> Result<Vec<WriteOutcome>, StorageError> {
        let writes = writes.into_iter();
        let writes = writes.map(|write| with_epoch(write, &self.epochs));
        inner.write_messages(writes.collect()).await
    }
}

/// Looks at the epoch first and writes afterwards, without a lock in between.
#[derive(Clone, Default)]
pub(crate) struct ChecksEpochTooEarly {
    epochs: Epochs,
}

#[async_trait]
impl JournalDefect for ChecksEpochTooEarly {
    async fn recover(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
        writer: WriterId,
    ) -> Result<Recovered, StorageError> {
        let recovered = inner.recover(id, writer).await?;
        self.epochs
            .lock()
            .unwrap()
            .insert(id.clone(), recovered.epoch);
        Ok(recovered)
    }

    async fn write(
        &self,
        inner: &MemoryJournal,
        writes: Vec<AtomicWrite>,
    ) -> Result<Vec<WriteOutcome>, StorageError> {
        let current = |write: &AtomicWrite| {
            let epochs = self.epochs.lock().unwrap();
            epochs.get(write.persistence_id()) == Some(&write.epoch())
        };
        if !writes.iter().all(current) {
            return inner.write_messages(writes).await;
        }
        // The time in which another recovers.
        for _ in 0..100 {
            yield_now().await;
        }
        let writes = writes.into_iter();
        let writes = writes.map(|write| with_epoch(write, &self.epochs));
        inner.write_messages(writes.collect()).await
    }
}

/// Finishes dropped writes when the next writer recovers, under the epoch of that one.
#[derive(Clone, Default)]
pub(crate) struct FinishesDroppedWritesTooLate {
    begun: Arc<Mutex<Vec<AtomicWrite>>>,
}

#[async_trait]
impl JournalDefect for FinishesDroppedWritesTooLate {
    async fn recover(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
        writer: WriterId,
    ) -> Result<Recovered, StorageError> {
        let recovered = inner.recover(id, writer).await?;
        let dropped: Vec<_> = {
            let mut begun = self.begun.lock().unwrap();
            begun
                .extract_if(.., |write| write.persistence_id() == id)
                .collect()
        };
        for write in dropped {
            let events = write.into_events();
            let late = AtomicWrite::new(id.clone(), recovered.epoch, events).unwrap();
            inner.write_messages(vec![late]).await?;
        }
        Ok(recovered)
    }

    async fn write(
        &self,
        inner: &MemoryJournal,
        writes: Vec<AtomicWrite>,
    ) -> Result<Vec<WriteOutcome>, StorageError> {
        self.begun.lock().unwrap().extend(writes.iter().cloned());
        yield_now().await;
        let outcomes = inner.write_messages(writes.clone()).await;
        let mut begun = self.begun.lock().unwrap();
        begun.retain(|write| !writes.contains(write));
        outcomes
    }
}

/// Raises the epoch of an id only when the writer is another one.
#[derive(Clone, Default)]
pub(crate) struct KeepsEpochOfTheSameWriter {
    last: Arc<Mutex<HashMap<PersistenceId, (WriterId, Epoch)>>>,
}

#[async_trait]
impl JournalDefect for KeepsEpochOfTheSameWriter {
    async fn recover(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
        writer: WriterId,
    ) -> Result<Recovered, StorageError> {
        let known = self.last.lock().unwrap().get(id).copied();
        match known {
            Some((last, epoch)) if last == writer => Ok(Recovered {
                highest_sequence_nr: inner.read_highest_sequence_nr(id, 0).await?,
                deleted_to: 0,
                epoch,
            }),
            _ => {
                let recovered = inner.recover(id, writer).await?;
                let entry = (writer, recovered.epoch);
                self.last.lock().unwrap().insert(id.clone(), entry);
                Ok(recovered)
            }
        }
    }
}

/// Gives every id an epoch of its own from one counter, starting anywhere.
#[derive(Clone, Default)]
pub(crate) struct StartsEpochsAnywhere;

#[async_trait]
impl JournalDefect for StartsEpochsAnywhere {
    async fn recover(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
        writer: WriterId,
    ) -> Result<Recovered, StorageError> {
        inner.recover(id, writer).await?;
        inner.recover(id, writer).await
    }
}

/// Has one epoch for the whole store, so that a recovery throws out the writers of all ids.
#[derive(Clone, Default)]
pub(crate) struct HasOneEpochForAll {
    /// Locked for the whole of a recovery, so that of two at the same time the later one throws out the earlier.
    ids: Arc<tokio::sync::Mutex<HashSet<PersistenceId>>>,
}

#[async_trait]
impl JournalDefect for HasOneEpochForAll {
    async fn recover(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
        writer: WriterId,
    ) -> Result<Recovered, StorageError> {
        let mut ids = self.ids.lock().await;
        for other in ids.iter().filter(|&other| other != id) {
            inner.recover(other, WriterId::random()).await?;
        }
        ids.insert(id.clone());
        inner.recover(id, writer).await
    }
}

/// Tells a writer of nothing that is deleted.
#[derive(Clone, Default)]
pub(crate) struct DoesNotTellWhatIsDeleted;

#[async_trait]
impl JournalDefect for DoesNotTellWhatIsDeleted {
    async fn recover(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
        writer: WriterId,
    ) -> Result<Recovered, StorageError> {
        let recovered = inner.recover(id, writer).await?;
        Ok(Recovered {
            deleted_to: 0,
            ..recovered
        })
    }
}

/// Answers several requests in the order of their ids.
#[derive(Clone, Default)]
pub(crate) struct MixesUpAnswers;

#[async_trait]
impl JournalDefect for MixesUpAnswers {
    fn order(&self, mut recovered: Vec<Recovered>) -> Vec<Recovered> {
        recovered.sort_by_key(|recovered| recovered.highest_sequence_nr);
        recovered
    }
}

/// Tells every writer of an id what it told the first one.
#[derive(Clone, Default)]
pub(crate) struct TellsWhatItToldBefore {
    told: Arc<Mutex<HashMap<PersistenceId, u64>>>,
}

#[async_trait]
impl JournalDefect for TellsWhatItToldBefore {
    async fn recover(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
        writer: WriterId,
    ) -> Result<Recovered, StorageError> {
        let recovered = inner.recover(id, writer).await?;
        let mut told = self.told.lock().unwrap();
        let highest = told.entry(id.clone());
        let highest = *highest.or_insert(recovered.highest_sequence_nr);
        Ok(Recovered {
            highest_sequence_nr: highest,
            ..recovered
        })
    }
}

/// Tells the writer of a new id what is deleted of another.
#[derive(Clone, Default)]
pub(crate) struct TellsWhatIsDeletedOfAnother {
    last: Arc<Mutex<u64>>,
}

#[async_trait]
impl JournalDefect for TellsWhatIsDeletedOfAnother {
    async fn recover(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
        writer: WriterId,
    ) -> Result<Recovered, StorageError> {
        let recovered = inner.recover(id, writer).await?;
        let last = *self.last.lock().unwrap();
        Ok(Recovered {
            deleted_to: recovered.deleted_to.max(last),
            ..recovered
        })
    }

    async fn delete(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
        to: u64,
    ) -> Result<(), StorageError> {
        let highest = inner.read_highest_sequence_nr(id, 0).await?;
        *self.last.lock().unwrap() = to.min(highest);
        inner.delete_messages_to(id, to).await
    }
}
