//! Defects of writing.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use actix_persistence_memory::MemoryJournal;
use actix_persistence_storage_api::{
    AtomicWrite, EventRecord, Journal, JournalCapabilities, MAX_TEXT_BYTES, Operation, PageLimit,
    PersistenceId, ReplayPage, ReplayRange, SequenceConflict, SequenceNr, StorageError,
    StorageErrorKind, WriteOutcome, WriterId, WriterPosition,
};
use async_trait::async_trait;
use tokio::task::yield_now;

use super::defect;
use crate::broken_journal::JournalDefect;

defect! {
    /// Answers for an event what is only true of its insert: a conflict counts as stored.
    SwallowsConflicts,
    write(inner, writes) {
        let outcomes = inner.write_messages(writes).await?;
        let swallow = |outcome| match outcome {
            WriteOutcome::Failed(_) => WriteOutcome::Stored,
            other => other,
        };
        Ok(outcomes.into_iter().map(swallow).collect())
    }
}

defect! {
    /// Takes every trouble for a rejection, so that actors go on.
    RejectsConflicts,
    write(inner, writes) {
        let outcomes = inner.write_messages(writes).await?;
        let reject = |outcome| match outcome {
            WriteOutcome::Failed(error) => WriteOutcome::Rejected(error),
            other => other,
        };
        Ok(outcomes.into_iter().map(reject).collect())
    }
}

defect! {
    /// Names no writer in a conflict.
    NamesNobody,
    write(inner, writes) {
        let outcomes = inner.write_messages(writes).await?;
        let forget = |outcome| match outcome {
            WriteOutcome::Failed(error) => {
                let bare = StorageError::new(error.kind(), error.operation()).not_stored();
                WriteOutcome::Failed(bare)
            }
            other => other,
        };
        Ok(outcomes.into_iter().map(forget).collect())
    }
}

defect! {
    /// Names the writer of the last event rather than the one who holds the id.
    NamesTheLastWriterOfAnEvent,
    write(inner, writes) {
        let mut outcomes = inner.write_messages(writes.clone()).await?;
        for (outcome, write) in outcomes.iter_mut().zip(&writes) {
            let WriteOutcome::Failed(error) = &*outcome else { continue };
            let Some(conflict) = error.sequence_conflict().copied() else { continue };
            let id = write.persistence_id();
            let limit = PageLimit::events(usize::MAX);
            let stored = inner.replay_messages(id, ReplayRange::ALL, limit).await?;
            let Some(last) = stored.events.last() else { continue };
            let stored = WriterPosition { writer: last.writer, ..conflict.stored };
            let conflict = SequenceConflict { stored, ..conflict };
            *outcome = WriteOutcome::Failed(StorageError::from_sequence_conflict(id.clone(), conflict));
        }
        Ok(outcomes)
    }
}

defect! {
    /// Does not say that a conflicting write is certainly not stored.
    LeavesConflictsUnknown,
    write(inner, writes) {
        let outcomes = inner.write_messages(writes).await?;
        let doubt = |outcome| match outcome {
            WriteOutcome::Failed(error) => WriteOutcome::Failed(
                error.with_effect(actix_persistence_storage_api::Effect::Unknown),
            ),
            other => other,
        };
        Ok(outcomes.into_iter().map(doubt).collect())
    }
}

defect! {
    /// Goes on with an id after one of its writes lost.
    GoesOnAfterConflict,
    write(inner, writes) {
        let mut outcomes = Vec::new();
        for write in writes {
            outcomes.append(&mut inner.write_messages(vec![write]).await?);
        }
        Ok(outcomes)
    }
}

defect! {
    /// Skips every write after a conflict, also those of other ids.
    SkipsNeighbours,
    write(inner, writes) {
        let mut outcomes = Vec::new();
        let mut failed = false;
        for write in writes {
            if failed {
                outcomes.push(WriteOutcome::Skipped);
                continue;
            }
            outcomes.append(&mut inner.write_messages(vec![write]).await?);
            failed = outcomes.last().is_some_and(|outcome| !outcome.is_stored());
        }
        Ok(outcomes)
    }
}

defect! {
    /// Answers every conflict by an error for the whole call, after having stored what stood before.
    FailsTheWholeCall,
    write(inner, writes) {
        let outcomes = inner.write_messages(writes).await?;
        for outcome in &outcomes {
            if let WriteOutcome::Failed(error) = outcome {
                return Err(error.clone());
            }
        }
        Ok(outcomes)
    }
}

defect! {
    /// Gives no outcome for a write that was skipped.
    AnswersNothingForSkippedWrites,
    write(inner, writes) {
        let mut outcomes = inner.write_messages(writes).await?;
        outcomes.retain(|outcome| !matches!(outcome, WriteOutcome::Skipped));
        Ok(outcomes)
    }
}

defect! {
    /// Fails on a call without writes.
    FailsOnAnEmptyBatch,
    write(inner, writes) {
        if writes.is_empty() {
            return Err(StorageError::new(StorageErrorKind::Backend, Operation::WriteMessages));
        }
        inner.write_messages(writes).await
    }
}

defect! {
    /// Takes no call with more writes than parameters fit into a statement.
    FailsOnLargeGroups,
    write(inner, writes) {
        let events: usize = writes.iter().map(|write| write.events().len()).sum();
        if events > 100 {
            return Err(StorageError::new(StorageErrorKind::Backend, Operation::WriteMessages));
        }
        inner.write_messages(writes).await
    }
}

defect! {
    /// Inserts the events of an atomic write one by one, and keeps those that fit.
    StoresHalfAnAtomicWrite,
    write(inner, writes) {
        let mut outcomes = Vec::new();
        for write in writes {
            let (id, mut fence) = (write.persistence_id().clone(), write.fence());
            let mut worst = WriteOutcome::Stored;
            for event in write.into_events() {
                let one = AtomicWrite::new(id.clone(), fence, vec![event]).unwrap();
                fence = fence.once_stored();
                let outcome = inner.write_messages(vec![one]).await?.remove(0);
                if worst.is_stored() {
                    worst = outcome;
                }
            }
            outcomes.push(worst);
        }
        Ok(outcomes)
    }
}

defect! {
    /// Inserts the events of an atomic write one by one without a transaction, and may be dropped in between.
    WritesWithoutTransaction,
    write(inner, writes) {
        let mut outcomes = Vec::new();
        for write in writes {
            let (id, mut fence) = (write.persistence_id().clone(), write.fence());
            let first = write.lowest_sequence_nr();
            let known = inner.read_highest_sequence_nr(&id).await? + 1 == first;
            if !known {
                outcomes.append(&mut inner.write_messages(vec![write]).await?);
                continue;
            }
            for event in write.into_events() {
                let last = event.sequence_nr == first;
                let one = AtomicWrite::new(id.clone(), fence, vec![event]).unwrap();
                fence = fence.once_stored();
                let outcome = inner.write_messages(vec![one]).await?.remove(0);
                if last {
                    outcomes.push(outcome);
                }
                yield_now().await;
            }
        }
        Ok(outcomes)
    }
}

/// Overwrites an event that is there already: `INSERT OR REPLACE`.
#[derive(Clone, Default)]
pub(crate) struct OverwritesDuplicates {
    replaced: Arc<Mutex<HashMap<(PersistenceId, SequenceNr), EventRecord>>>,
}

#[async_trait]
impl JournalDefect for OverwritesDuplicates {
    async fn write(
        &self,
        inner: &MemoryJournal,
        writes: Vec<AtomicWrite>,
    ) -> Result<Vec<WriteOutcome>, StorageError> {
        let mut outcomes = inner.write_messages(writes.clone()).await?;
        for (outcome, write) in outcomes.iter_mut().zip(writes) {
            let WriteOutcome::Failed(error) = &*outcome else {
                continue;
            };
            let conflict = error.sequence_conflict().unwrap();
            let known = write.highest_sequence_nr() <= conflict.stored.sequence_nr;
            if known && write.fence().expected() == conflict.stored.epoch {
                let id = write.persistence_id().clone();
                let mut replaced = self.replaced.lock().unwrap();
                for event in write.into_events() {
                    replaced.insert((id.clone(), event.sequence_nr), event);
                }
                *outcome = WriteOutcome::Stored;
            }
        }
        Ok(outcomes)
    }

    async fn replay(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
        range: ReplayRange,
        page: PageLimit,
    ) -> Result<ReplayPage, StorageError> {
        let mut found = inner.replay_messages(id, range, page).await?;
        let replaced = self.replaced.lock().unwrap();
        for event in &mut found.events {
            if let Some(other) = replaced.get(&(id.clone(), event.sequence_nr)) {
                *event = other.clone();
            }
        }
        Ok(found)
    }
}

/// Stores events above the highest number, which leaves gaps.
#[derive(Clone, Default)]
pub(crate) struct AcceptsGaps;

const FILLER: &str = "filler";

#[async_trait]
impl JournalDefect for AcceptsGaps {
    async fn write(
        &self,
        inner: &MemoryJournal,
        writes: Vec<AtomicWrite>,
    ) -> Result<Vec<WriteOutcome>, StorageError> {
        // One after the other within an id, as the gaps of later writes depend on earlier ones.
        for number in 0..writes.len() {
            let write = &writes[number];
            let id = write.persistence_id();
            let earlier = writes[..number].iter();
            let earlier = earlier.filter(|write| write.persistence_id() == id);
            if earlier.count() > 0 {
                continue;
            }
            let highest = inner.read_highest_sequence_nr(id).await?;
            let first = write.lowest_sequence_nr();
            // Not beyond what the test can fill.
            if first > highest + 1 && first < highest + 100 {
                let mut event = write.events()[0].clone().with_tags([FILLER]);
                let fillers = (highest + 1..first).map(|number| {
                    event.sequence_nr = number;
                    event.clone()
                });
                let fillers = fillers.collect();
                let filling = AtomicWrite::new(id.clone(), write.fence(), fillers).unwrap();
                inner.write_messages(vec![filling]).await?;
            }
        }
        inner.write_messages(writes).await
    }

    async fn replay(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
        range: ReplayRange,
        page: PageLimit,
    ) -> Result<ReplayPage, StorageError> {
        let mut found = inner.replay_messages(id, range, page).await?;
        found
            .events
            .retain(|event| !event.tags.iter().any(|tag| &**tag == FILLER));
        Ok(found)
    }
}

/// Declares that it cannot store atomic writes of several events, and stores them nevertheless.
#[derive(Clone, Default)]
pub(crate) struct StoresWhatItDoesNotSupport;

#[async_trait]
impl JournalDefect for StoresWhatItDoesNotSupport {
    fn capabilities(&self, mut declared: JournalCapabilities) -> JournalCapabilities {
        declared.atomic_batches = false;
        declared
    }
}

/// Declares a limit that it does not keep.
#[derive(Clone, Default)]
pub(crate) struct IgnoresItsOwnLimit;

#[async_trait]
impl JournalDefect for IgnoresItsOwnLimit {
    fn capabilities(&self, declared: JournalCapabilities) -> JournalCapabilities {
        declared.with_max_event_bytes(100_000)
    }
}

/// Answers a call for an id that is being written with a conflict that never was.
#[derive(Clone, Default)]
pub(crate) struct RefusesConcurrentCalls {
    writing: Arc<Mutex<Option<WriterId>>>,
}

#[async_trait]
impl JournalDefect for RefusesConcurrentCalls {
    async fn write(
        &self,
        inner: &MemoryJournal,
        writes: Vec<AtomicWrite>,
    ) -> Result<Vec<WriteOutcome>, StorageError> {
        let Some(writer) = writes.first().map(AtomicWrite::writer) else {
            return Ok(Vec::new());
        };
        let busy = |writing: &Option<WriterId>| writing.is_some_and(|other| other != writer);
        {
            let mut writing = self.writing.lock().unwrap();
            if busy(&writing) {
                let error =
                    StorageError::new(StorageErrorKind::Unavailable, Operation::WriteMessages);
                return Err(error.not_stored());
            }
            *writing = Some(writer);
        }
        for _ in 0..20 {
            yield_now().await;
        }
        let outcomes = inner.write_messages(writes).await;
        *self.writing.lock().unwrap() = None;
        outcomes
    }
}

defect! {
    /// Cuts texts off where the column ends, without a word.
    CutsLongTexts,
    write(inner, writes) {
        let cut_all = |write: AtomicWrite| {
            let (id, fence) = (write.persistence_id().clone(), write.fence());
            let mut events = write.into_events();
            for event in &mut events {
                cut(&mut event.adapter_manifest);
                cut(&mut event.payload.manifest);
                event.tags.iter_mut().for_each(cut);
                event.metadata.iter_mut().for_each(|metadata| cut(&mut metadata.manifest));
            }
            AtomicWrite::new(id, fence, events).expect("the numbers are the same")
        };
        inner.write_messages(writes.into_iter().map(cut_all).collect()).await
    }
}

/// Cuts a text as servers do that are told to be lenient.
fn cut(text: &mut Arc<str>) {
    *text = text[..text.floor_char_boundary(MAX_TEXT_BYTES)]
        .replace('\0', "")
        .into();
}
