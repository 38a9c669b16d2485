//! Defects of looking at an id, of taking it over with a write, and of deletes at an epoch.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use actix_persistence_memory::MemoryJournal;
use actix_persistence_storage_api::{
    AtomicWrite, Epoch, EventDeletion, Fence, Journal, PageLimit, PersistenceId, PurgeProgress,
    ReplayRange, SequenceConflict, SequenceNr, StorageError, StreamHead, TakenOver, WriteOutcome,
    WriterId, WriterPosition,
};
use actix_persistence_tck::TakeOverOne;
use async_trait::async_trait;
use tokio::task::yield_now;

use super::defect;
use crate::broken_journal::JournalDefect;

defect! {
    /// Takes the id over when it is only looked at.
    TakesOverWhenLooking,
    head(inner, id) {
        inner.take_over_one(id, WriterId::random()).await?;
        inner.read_head(id).await
    }
}

defect! {
    /// Takes the highest number of what is left for the highest ever stored.
    LooksAtWhatIsLeft,
    head(inner, id) {
        let page = inner.replay_messages(id, ReplayRange::ALL, PageLimit::events(usize::MAX));
        let last = page.await?.events.last().map_or(0, |event| event.sequence_nr);
        Ok(StreamHead { highest_sequence_nr: last, ..inner.read_head(id).await? })
    }
}

defect! {
    /// Tells nothing of what is deleted.
    LooksPastDeletes,
    head(inner, id) {
        Ok(StreamHead { deleted_to: 0, ..inner.read_head(id).await? })
    }
}

defect! {
    /// Reads the number first and the epoch later.
    LooksTwice,
    head(inner, id) {
        let first = inner.read_head(id).await?;
        for _ in 0..100 {
            yield_now().await;
        }
        let second = inner.read_head(id).await?;
        Ok(StreamHead { highest_sequence_nr: first.highest_sequence_nr, ..second })
    }
}

/// Remembers what it saw, until it changes the id itself.
#[derive(Default)]
pub(crate) struct RemembersHeads {
    seen: Mutex<HashMap<PersistenceId, StreamHead>>,
}

/// Opening starts with nothing.
impl Clone for RemembersHeads {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl RemembersHeads {
    fn forget(&self, id: &PersistenceId) {
        self.seen.lock().unwrap().remove(id);
    }
}

#[async_trait]
impl JournalDefect for RemembersHeads {
    async fn head(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
    ) -> Result<StreamHead, StorageError> {
        let head = inner.read_head(id).await?;
        Ok(*self.seen.lock().unwrap().entry(id.clone()).or_insert(head))
    }

    async fn take_over(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
        writer: WriterId,
    ) -> Result<TakenOver, StorageError> {
        self.forget(id);
        inner.take_over_one(id, writer).await
    }

    async fn write(
        &self,
        inner: &MemoryJournal,
        writes: Vec<AtomicWrite>,
    ) -> Result<Vec<WriteOutcome>, StorageError> {
        for write in &writes {
            self.forget(write.persistence_id());
        }
        inner.write_messages(writes).await
    }

    async fn delete(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
        deletion: EventDeletion,
    ) -> Result<(), StorageError> {
        self.forget(id);
        inner.delete_messages_to(id, deletion).await
    }

    async fn purge(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
    ) -> Result<PurgeProgress, StorageError> {
        self.forget(id);
        inner.purge(id).await
    }
}

/// The write at another fence.
fn at(fence: Fence, write: AtomicWrite) -> AtomicWrite {
    let id = write.persistence_id().clone();
    AtomicWrite::new(id, fence, write.into_events()).unwrap()
}

fn takes_over(write: &AtomicWrite) -> bool {
    matches!(write.fence(), Fence::TakesOver { .. })
}

defect! {
    /// Lets everybody take over who knows the number.
    TakesOverFromAnyEpoch,
    write(inner, writes) {
        let mut present = Vec::new();
        for write in writes {
            let first = !present
                .iter()
                .any(|before: &AtomicWrite| before.persistence_id() == write.persistence_id());
            if takes_over(&write) && first {
                let from = inner.read_head(write.persistence_id()).await?.epoch;
                present.push(at(Fence::TakesOver { from }, write));
            } else {
                present.push(write);
            }
        }
        inner.write_messages(present).await
    }
}

defect! {
    /// Raises the epoch in one step and stores the events in another.
    TakesOverInTwoSteps,
    write(inner, writes) {
        let mut steps = Vec::new();
        for write in writes {
            let id = write.persistence_id();
            let present = inner.read_head(id).await?.epoch;
            if !takes_over(&write) || present != write.fence().expected() {
                steps.push(write);
                continue;
            }
            let epoch = inner.take_over_one(id, write.writer()).await?.epoch;
            yield_now().await;
            steps.push(at(Fence::Holds(epoch), write));
        }
        inner.write_messages(steps).await
    }
}

defect! {
    /// Takes a row that another made meanwhile for its own.
    TellsTheSecondThatItTookOver,
    write(inner, writes) {
        let expected: Vec<_> = writes
            .iter()
            .map(|write| {
                let position = (write.fence().afterwards(), write.highest_sequence_nr());
                takes_over(write).then_some(position)
            })
            .collect();
        let mut outcomes = inner.write_messages(writes).await?;
        for (outcome, expected) in outcomes.iter_mut().zip(expected) {
            let WriteOutcome::Failed(error) = &*outcome else {
                continue;
            };
            let stored = error.sequence_conflict().unwrap().stored;
            if expected == Some((stored.epoch, stored.sequence_nr)) {
                *outcome = WriteOutcome::Stored;
            }
        }
        Ok(outcomes)
    }
}

defect! {
    /// Lets an id change hands at most once in a call, and with its first write only.
    TakesOverWithTheFirstWriteOfACallOnly,
    write(inner, writes) {
        let mut allowed = Vec::new();
        for write in writes {
            let first = !allowed
                .iter()
                .any(|before: &AtomicWrite| before.persistence_id() == write.persistence_id());
            let later = takes_over(&write) && !first;
            allowed.push(if later { at(Fence::Holds(0), write) } else { write });
        }
        inner.write_messages(allowed).await
    }
}

defect! {
    /// Has a statement of its own for writes that take over, in which columns are missing.
    DropsWhatComesWithEventsThatTakeOver,
    write(inner, writes) {
        let dropped = writes.into_iter().map(|write| {
            if !takes_over(&write) {
                return write;
            }
            let (id, fence) = (write.persistence_id().clone(), write.fence());
            let mut events = write.into_events();
            for event in &mut events {
                event.tags.clear();
                event.metadata = None;
            }
            AtomicWrite::new(id, fence, events).unwrap()
        });
        inner.write_messages(dropped.collect()).await
    }
}

/// Remembers only what take_overs tell it: who has an id, and at which epoch.
#[derive(Clone, Default)]
struct TakeOvers(Arc<Mutex<HashMap<PersistenceId, (WriterId, Epoch)>>>);

impl TakeOvers {
    async fn take_over(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
        writer: WriterId,
    ) -> Result<TakenOver, StorageError> {
        let taken = inner.take_over_one(id, writer).await?;
        let mut known = self.0.lock().unwrap();
        known.insert(id.clone(), (writer, taken.epoch));
        Ok(taken)
    }

    fn last(&self, id: &PersistenceId) -> (WriterId, Epoch) {
        let known = self.0.lock().unwrap();
        known.get(id).copied().unwrap_or((WriterId::NIL, 0))
    }
}

/// Does not note who took an id over with a write.
#[derive(Clone, Default)]
pub(crate) struct ForgetsWhoTookOver {
    take_overs: TakeOvers,
}

#[async_trait]
impl JournalDefect for ForgetsWhoTookOver {
    async fn take_over(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
        writer: WriterId,
    ) -> Result<TakenOver, StorageError> {
        self.take_overs.take_over(inner, id, writer).await
    }

    async fn write(
        &self,
        inner: &MemoryJournal,
        writes: Vec<AtomicWrite>,
    ) -> Result<Vec<WriteOutcome>, StorageError> {
        let ids: Vec<_> = writes
            .iter()
            .map(|write| write.persistence_id().clone())
            .collect();
        let mut outcomes = inner.write_messages(writes).await?;
        for (outcome, id) in outcomes.iter_mut().zip(ids) {
            if let WriteOutcome::Failed(error) = &*outcome {
                let conflict = *error.sequence_conflict().unwrap();
                let (writer, _) = self.take_overs.last(&id);
                let stored = WriterPosition {
                    writer,
                    ..conflict.stored
                };
                let conflict = SequenceConflict { stored, ..conflict };
                *outcome = WriteOutcome::Failed(StorageError::from_sequence_conflict(id, conflict));
            }
        }
        Ok(outcomes)
    }
}

/// Lets whoever called `take_over` last go on writing, even if another took the id over since.
#[derive(Clone, Default)]
pub(crate) struct FencesWithTakeOversOnly {
    take_overs: TakeOvers,
}

#[async_trait]
impl JournalDefect for FencesWithTakeOversOnly {
    async fn take_over(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
        writer: WriterId,
    ) -> Result<TakenOver, StorageError> {
        self.take_overs.take_over(inner, id, writer).await
    }

    async fn write(
        &self,
        inner: &MemoryJournal,
        writes: Vec<AtomicWrite>,
    ) -> Result<Vec<WriteOutcome>, StorageError> {
        let mut present = Vec::new();
        for write in writes {
            let (_, epoch) = self.take_overs.last(write.persistence_id());
            let head = inner.read_head(write.persistence_id()).await?;
            let fence = match write.fence() {
                Fence::Holds(held) if held == epoch && held > 0 => Fence::Holds(head.epoch),
                fence => fence,
            };
            present.push(at(fence, write));
        }
        inner.write_messages(present).await
    }
}

defect! {
    /// Deletes whoever asks for it.
    DeletesAtAnyEpoch,
    delete(inner, id, deletion) {
        inner.delete_messages_to(id, EventDeletion::up_to(deletion.to)).await
    }
}

defect! {
    /// Looks at the epoch first and deletes afterwards, without a lock in between.
    ChecksTheEpochOfADeleteTooEarly,
    delete(inner, id, deletion) {
        let present = inner.read_head(id).await?.epoch;
        if deletion.epoch != Some(present) {
            return inner.delete_messages_to(id, deletion).await;
        }
        for _ in 0..100 {
            yield_now().await;
        }
        inner.delete_messages_to(id, EventDeletion::up_to(deletion.to)).await
    }
}

defect! {
    /// Takes an id without a writer for one whose events must not be deleted.
    DeletesOnlyWhereThereIsARow,
    delete(inner, id, deletion) {
        match deletion.epoch {
            Some(0) => inner.delete_messages_to(id, deletion.at_epoch(Epoch::MAX)).await,
            _ => inner.delete_messages_to(id, deletion).await,
        }
    }
}

/// Knows the epochs of take_overs only when it deletes.
#[derive(Clone, Default)]
pub(crate) struct DeletesForWhoTookOver {
    take_overs: TakeOvers,
}

#[async_trait]
impl JournalDefect for DeletesForWhoTookOver {
    async fn take_over(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
        writer: WriterId,
    ) -> Result<TakenOver, StorageError> {
        self.take_overs.take_over(inner, id, writer).await
    }

    async fn delete(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
        deletion: EventDeletion,
    ) -> Result<(), StorageError> {
        let (_, epoch) = self.take_overs.last(id);
        if deletion.epoch.is_none_or(|asked| asked == epoch) {
            return inner
                .delete_messages_to(id, EventDeletion::up_to(deletion.to))
                .await;
        }
        let sequence_nr: SequenceNr = inner.read_highest_sequence_nr(id).await?;
        let stored = WriterPosition {
            writer: WriterId::NIL,
            epoch,
            sequence_nr,
        };
        Err(StorageError::from_deletion_conflict(
            id.clone(),
            deletion,
            stored,
        ))
    }
}
