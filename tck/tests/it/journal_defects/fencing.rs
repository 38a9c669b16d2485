//! Defects of taking over and of the fence.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

use actix_persistence_memory::MemoryJournal;
use actix_persistence_storage_api::{
    AtomicWrite, Epoch, EventDeletion, Fence, Journal, PersistenceId, StorageError, TakenOver,
    WriteOutcome, WriterId,
};
use actix_persistence_tck::TakeOverOne;
use async_trait::async_trait;
use tokio::task::yield_now;

use super::defect;
use crate::broken_journal::JournalDefect;

/// The write as the inner journal wants it now, whatever epoch it carries.
async fn with_present_epoch(
    inner: &MemoryJournal,
    write: AtomicWrite,
) -> Result<AtomicWrite, StorageError> {
    let id = write.persistence_id().clone();
    let from = inner.read_head(&id).await?.epoch;
    let fence = match write.fence() {
        Fence::Holds(epoch) if from == 0 => Fence::Holds(epoch),
        Fence::Holds(_) => Fence::Holds(from),
        Fence::TakesOver { .. } => Fence::TakesOver { from },
    };
    Ok(AtomicWrite::new(id, fence, write.into_events()).unwrap())
}

defect! {
    /// Stores what follows on the highest number, whoever writes it.
    IgnoresEpoch,
    write(inner, writes) {
        let mut present = Vec::new();
        let mut taken = HashMap::new();
        for write in writes {
            let id = write.persistence_id().clone();
            let write = with_present_epoch(inner, write).await?;
            // What the writes before it in the call come to.
            let raised: &mut Epoch = taken.entry(id.clone()).or_default();
            let epoch = write.fence().expected() + *raised;
            let fence = match write.fence() {
                Fence::Holds(_) => Fence::Holds(epoch),
                Fence::TakesOver { .. } => {
                    *raised += 1;
                    Fence::TakesOver { from: epoch }
                }
            };
            present.push(AtomicWrite::new(id, fence, write.into_events()).unwrap());
        }
        inner.write_messages(present).await
    }
}

defect! {
    /// Looks at the epoch first and writes afterwards, without a lock in between.
    ChecksEpochTooEarly,
    write(inner, writes) {
        let [write] = &writes[..] else {
            return inner.write_messages(writes).await;
        };
        let head = inner.read_head(write.persistence_id()).await?;
        if !write.fence().allows(head.epoch) {
            return inner.write_messages(writes).await;
        }
        // The time in which another takes the id.
        for _ in 0..100 {
            yield_now().await;
        }
        let write = with_present_epoch(inner, write.clone()).await?;
        inner.write_messages(vec![write]).await
    }
}

/// Finishes dropped writes when the next writer takes over, under the epoch of that one.
#[derive(Clone, Default)]
pub(crate) struct FinishesDroppedWritesTooLate {
    begun: Arc<Mutex<Vec<AtomicWrite>>>,
}

#[async_trait]
impl JournalDefect for FinishesDroppedWritesTooLate {
    async fn take_over(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
        writer: WriterId,
    ) -> Result<TakenOver, StorageError> {
        let taken = inner.take_over_one(id, writer).await?;
        let dropped: Vec<_> = {
            let mut begun = self.begun.lock().unwrap();
            begun
                .extract_if(.., |write| write.persistence_id() == id)
                .collect()
        };
        for write in dropped {
            let events = write.into_events();
            let late = AtomicWrite::new(id.clone(), taken.epoch, events).unwrap();
            inner.write_messages(vec![late]).await?;
        }
        Ok(taken)
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
    async fn take_over(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
        writer: WriterId,
    ) -> Result<TakenOver, StorageError> {
        let known = self.last.lock().unwrap().get(id).copied();
        match known {
            Some((last, epoch)) if last == writer => Ok(TakenOver {
                highest_sequence_nr: inner.read_highest_sequence_nr(id).await?,
                deleted_to: 0,
                epoch,
            }),
            _ => {
                let taken = inner.take_over_one(id, writer).await?;
                let entry = (writer, taken.epoch);
                self.last.lock().unwrap().insert(id.clone(), entry);
                Ok(taken)
            }
        }
    }
}

/// Gives every id an epoch of its own from one counter, starting anywhere.
#[derive(Clone, Default)]
pub(crate) struct StartsEpochsAnywhere;

#[async_trait]
impl JournalDefect for StartsEpochsAnywhere {
    async fn take_over(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
        writer: WriterId,
    ) -> Result<TakenOver, StorageError> {
        inner.take_over_one(id, writer).await?;
        inner.take_over_one(id, writer).await
    }
}

/// Has one epoch for the whole store, so that taking over throws out the writers of all ids.
#[derive(Clone, Default)]
pub(crate) struct HasOneEpochForAll {
    /// Locked for the whole of taking over, so that of two at the same time the later one throws out the earlier.
    ids: Arc<tokio::sync::Mutex<HashSet<PersistenceId>>>,
}

#[async_trait]
impl JournalDefect for HasOneEpochForAll {
    async fn take_over(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
        writer: WriterId,
    ) -> Result<TakenOver, StorageError> {
        let mut ids = self.ids.lock().await;
        for other in ids.iter().filter(|&other| other != id) {
            inner.take_over_one(other, WriterId::random()).await?;
        }
        ids.insert(id.clone());
        inner.take_over_one(id, writer).await
    }
}

/// Tells a writer of nothing that is deleted.
#[derive(Clone, Default)]
pub(crate) struct DoesNotTellWhatIsDeleted;

#[async_trait]
impl JournalDefect for DoesNotTellWhatIsDeleted {
    async fn take_over(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
        writer: WriterId,
    ) -> Result<TakenOver, StorageError> {
        let taken = inner.take_over_one(id, writer).await?;
        Ok(TakenOver {
            deleted_to: 0,
            ..taken
        })
    }
}

/// Answers several requests in the order of their ids.
#[derive(Clone, Default)]
pub(crate) struct MixesUpAnswers;

#[async_trait]
impl JournalDefect for MixesUpAnswers {
    fn order(&self, mut taken: Vec<TakenOver>) -> Vec<TakenOver> {
        taken.sort_by_key(|taken| taken.highest_sequence_nr);
        taken
    }
}

/// Tells every writer of an id what it told the first one.
#[derive(Clone, Default)]
pub(crate) struct TellsWhatItToldBefore {
    told: Arc<Mutex<HashMap<PersistenceId, u64>>>,
}

#[async_trait]
impl JournalDefect for TellsWhatItToldBefore {
    async fn take_over(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
        writer: WriterId,
    ) -> Result<TakenOver, StorageError> {
        let taken = inner.take_over_one(id, writer).await?;
        let mut told = self.told.lock().unwrap();
        let highest = told.entry(id.clone());
        let highest = *highest.or_insert(taken.highest_sequence_nr);
        Ok(TakenOver {
            highest_sequence_nr: highest,
            ..taken
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
    async fn take_over(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
        writer: WriterId,
    ) -> Result<TakenOver, StorageError> {
        let taken = inner.take_over_one(id, writer).await?;
        let last = *self.last.lock().unwrap();
        Ok(TakenOver {
            deleted_to: taken.deleted_to.max(last),
            ..taken
        })
    }

    async fn delete(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
        deletion: EventDeletion,
    ) -> Result<(), StorageError> {
        let highest = inner.read_highest_sequence_nr(id).await?;
        *self.last.lock().unwrap() = deletion.to.min(highest);
        inner.delete_messages_to(id, deletion).await
    }
}
