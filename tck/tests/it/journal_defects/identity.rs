//! Defects of telling ids apart.

use std::marker::PhantomData;

use actix_persistence_memory::MemoryJournal;
use actix_persistence_storage_api::{
    AtomicWrite, EventDeletion, Journal, PageLimit, PersistenceId, ReplayPage, ReplayRange,
    SequenceNr, StorageError, StreamHead, TakenOver, WriteOutcome, WriterId,
};
use actix_persistence_tck::TakeOverOne;
use async_trait::async_trait;

use crate::broken_journal::JournalDefect;

/// Changes an id as a database might.
pub(crate) trait Fold: Send + Sync + 'static {
    fn fold(id: &str) -> String;
}

/// Compares ids without white space at the end, as a `CHAR` column does.
pub(crate) struct Trimmed;

impl Fold for Trimmed {
    fn fold(id: &str) -> String {
        id.trim_end_matches(' ').to_owned()
    }
}

/// Compares ids without regard to case.
pub(crate) struct LowerCase;

impl Fold for LowerCase {
    fn fold(id: &str) -> String {
        id.to_lowercase()
    }
}

/// Cuts ids at 254 bytes.
pub(crate) struct Cut;

impl Fold for Cut {
    fn fold(id: &str) -> String {
        let end = id.floor_char_boundary(254);
        id[..end].to_owned()
    }
}

/// Keeps ids in a file name, with slashes made harmless.
pub(crate) struct FileName;

impl Fold for FileName {
    fn fold(id: &str) -> String {
        id.replace(['/', ':', '*', '?'], "_")
    }
}

/// A journal to which different ids are the same.
pub(crate) struct MergesIds<F>(PhantomData<fn() -> F>);

impl<F> Clone for MergesIds<F> {
    fn clone(&self) -> Self {
        Self(PhantomData)
    }
}

impl<F> Default for MergesIds<F> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

fn folded<F: Fold>(id: &PersistenceId) -> PersistenceId {
    PersistenceId::of_unique(&F::fold(id.as_str()))
}

#[async_trait]
impl<F: Fold> JournalDefect for MergesIds<F> {
    async fn head(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
    ) -> Result<StreamHead, StorageError> {
        inner.read_head(&folded::<F>(id)).await
    }

    async fn take_over(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
        writer: WriterId,
    ) -> Result<TakenOver, StorageError> {
        inner.take_over_one(&folded::<F>(id), writer).await
    }

    async fn write(
        &self,
        inner: &MemoryJournal,
        writes: Vec<AtomicWrite>,
    ) -> Result<Vec<WriteOutcome>, StorageError> {
        let writes = writes.into_iter().map(|write| {
            let id = folded::<F>(write.persistence_id());
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
        let id = folded::<F>(id);
        inner.replay_messages(&id, range, page).await
    }

    async fn highest(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
    ) -> Result<SequenceNr, StorageError> {
        let id = folded::<F>(id);
        inner.read_highest_sequence_nr(&id).await
    }

    async fn delete(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
        deletion: EventDeletion,
    ) -> Result<(), StorageError> {
        inner.delete_messages_to(&folded::<F>(id), deletion).await
    }
}
