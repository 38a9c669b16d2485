//! Defects of deleting.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

use actix_persistence_memory::MemoryJournal;
use actix_persistence_storage_api::{
    AtomicWrite, EventDeletion, Journal, PageLimit, PersistenceId, ReplayPage, ReplayRange,
    SequenceNr, StorageError, StreamHead, TakenOver, WriteOutcome, WriterId,
};
use actix_persistence_tck::TakeOverOne;
use async_trait::async_trait;
use tokio::task::yield_now;

use super::defect;
use crate::broken_journal::JournalDefect;

defect! {
    /// Keeps the event at the bound.
    DeletesExclusively,
    delete(inner, id, deletion) {
        inner.delete_messages_to(id, EventDeletion { to: deletion.to.saturating_sub(1), ..deletion }).await
    }
}

defect! {
    /// Takes 0 for the first event, as it does when it replays.
    DeletesTheFirstForZero,
    delete(inner, id, deletion) {
        inner.delete_messages_to(id, EventDeletion { to: deletion.to.max(1), ..deletion }).await
    }
}

defect! {
    /// Makes a row for an id it never saw.
    LeavesATrace,
    delete(inner, id, deletion) {
        if inner.read_highest_sequence_nr(id).await? == 0 {
            inner.take_over_one(id, WriterId::random()).await?;
        }
        inner.delete_messages_to(id, deletion).await
    }
}

defect! {
    /// Deletes in steps that replays can see.
    DeletesInSteps,
    delete(inner, id, deletion) {
        let highest = inner.read_highest_sequence_nr(id).await?;
        let to = deletion.to.min(highest);
        let page = inner
            .replay_messages(id, ReplayRange::ALL, PageLimit::events(0))
            .await?;
        for step in page.deleted_to + 1..=to {
            inner.delete_messages_to(id, EventDeletion { to: step, ..deletion }).await?;
            yield_now().await;
        }
        Ok(())
    }
}

/// Raises the deleted number to what was asked for, also above what is there.
#[derive(Clone, Default)]
pub(crate) struct DeletesInAdvance {
    deleted: Arc<Mutex<HashMap<PersistenceId, SequenceNr>>>,
}

#[async_trait]
impl JournalDefect for DeletesInAdvance {
    async fn delete(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
        deletion: EventDeletion,
    ) -> Result<(), StorageError> {
        {
            let mut deleted = self.deleted.lock().unwrap();
            let deleted_to = deleted.entry(id.clone()).or_default();
            *deleted_to = deletion.to.max(*deleted_to);
        }
        inner.delete_messages_to(id, deletion).await
    }

    async fn replay(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
        range: ReplayRange,
        page: PageLimit,
    ) -> Result<ReplayPage, StorageError> {
        let mut found = inner.replay_messages(id, range, page).await?;
        let deleted_to = self.deleted.lock().unwrap().get(id).copied().unwrap_or(0);
        found.deleted_to = deleted_to;
        found.events.retain(|event| event.sequence_nr > deleted_to);
        Ok(found)
    }
}

/// Lets a later, lower delete lower the deleted number.
#[derive(Clone, Default)]
pub(crate) struct LowersDeletedTo {
    deleted: Arc<Mutex<HashMap<PersistenceId, SequenceNr>>>,
}

#[async_trait]
impl JournalDefect for LowersDeletedTo {
    async fn delete(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
        deletion: EventDeletion,
    ) -> Result<(), StorageError> {
        let highest = inner.read_highest_sequence_nr(id).await?;
        let to = deletion.to.min(highest);
        self.deleted.lock().unwrap().insert(id.clone(), to);
        inner.delete_messages_to(id, deletion).await
    }

    async fn replay(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
        range: ReplayRange,
        page: PageLimit,
    ) -> Result<ReplayPage, StorageError> {
        let mut found = inner.replay_messages(id, range, page).await?;
        found.deleted_to = self.deleted.lock().unwrap().get(id).copied().unwrap_or(0);
        Ok(found)
    }
}

/// Deletes of every id.
#[derive(Clone, Default)]
pub(crate) struct DeletesOfAllIds {
    ids: Arc<Mutex<HashSet<PersistenceId>>>,
}

#[async_trait]
impl JournalDefect for DeletesOfAllIds {
    async fn take_over(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
        writer: WriterId,
    ) -> Result<TakenOver, StorageError> {
        self.ids.lock().unwrap().insert(id.clone());
        inner.take_over_one(id, writer).await
    }

    async fn delete(
        &self,
        inner: &MemoryJournal,
        _id: &PersistenceId,
        deletion: EventDeletion,
    ) -> Result<(), StorageError> {
        let ids: Vec<_> = self.ids.lock().unwrap().iter().cloned().collect();
        for id in &ids {
            inner.delete_messages_to(id, deletion).await?;
        }
        Ok(())
    }
}

/// Starts again at number 1 when everything was deleted, because the number stood in the rows.
#[derive(Clone, Default)]
pub(crate) struct ReusesNumbersAfterFullDelete {
    generations: Arc<Mutex<HashMap<PersistenceId, u32>>>,
}

impl ReusesNumbersAfterFullDelete {
    /// The id under which the inner journal knows the present life of `id`.
    fn life(&self, id: &PersistenceId) -> PersistenceId {
        let generations = self.generations.lock().unwrap();
        let generation = generations.get(id).copied().unwrap_or(0);
        match generation {
            0 => id.clone(),
            _ => PersistenceId::of_unique(&format!("{id}#{generation}")),
        }
    }
}

#[async_trait]
impl JournalDefect for ReusesNumbersAfterFullDelete {
    async fn head(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
    ) -> Result<StreamHead, StorageError> {
        inner.read_head(&self.life(id)).await
    }

    async fn take_over(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
        writer: WriterId,
    ) -> Result<TakenOver, StorageError> {
        inner.take_over_one(&self.life(id), writer).await
    }

    async fn write(
        &self,
        inner: &MemoryJournal,
        writes: Vec<AtomicWrite>,
    ) -> Result<Vec<WriteOutcome>, StorageError> {
        let writes = writes.into_iter().map(|write| {
            let id = self.life(write.persistence_id());
            let fence = write.fence();
            AtomicWrite::new(id, fence, write.into_events()).unwrap()
        });
        inner.write_messages(writes.collect()).await
    }

    async fn replay(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
        range: ReplayRange,
        page: PageLimit,
    ) -> Result<ReplayPage, StorageError> {
        inner.replay_messages(&self.life(id), range, page).await
    }

    async fn highest(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
    ) -> Result<SequenceNr, StorageError> {
        inner.read_highest_sequence_nr(&self.life(id)).await
    }

    async fn delete(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
        deletion: EventDeletion,
    ) -> Result<(), StorageError> {
        let life = self.life(id);
        let highest = inner.read_highest_sequence_nr(&life).await?;
        if highest == 0 || deletion.to < highest {
            return inner.delete_messages_to(&life, deletion).await;
        }
        *self
            .generations
            .lock()
            .unwrap()
            .entry(id.clone())
            .or_default() += 1;
        Ok(())
    }
}
