//! Defects of what is kept.

use std::sync::{Arc, Mutex};

use actix_persistence_memory::MemoryStateStore;
use actix_persistence_storage_api::{
    CurrentState, MAX_TEXT_BYTES, Operation, Payload, PersistenceId, StateCapabilities,
    StateDelete, StateStore, StateUpdate, StorageError, StorageErrorKind, Timestamp,
};
use async_trait::async_trait;
use tokio::task::yield_now;

use super::defect;
use crate::broken_state_store::{StateDefect, force};

defect! {
    /// Writes a state in two halves.
    WritesInHalves,
    upsert(inner, update) {
        let mut half = update.clone();
        half.payload.bytes.truncate(update.payload.len() / 2);
        inner.upsert(half).await?;
        for _ in 0..20 {
            yield_now().await;
        }
        force(inner, update).await
    }
}

defect! {
    /// Stores a state, and forgets the event that was to come with it.
    ForgetsEvents,
    upsert(inner, update) {
        let mut update = update;
        update.change_event = None;
        inner.upsert(update).await
    }
}

defect! {
    /// Stores a tombstone, and drops the event that comes with it.
    ForgetsEventsOfDeletes,
    delete(inner, delete) {
        let mut delete = delete;
        delete.change_event = None;
        inner.delete(delete).await
    }
}

defect! {
    /// Cuts states at 64 KiB.
    CutsLargeStates,
    upsert(inner, update) {
        let mut cut = update;
        cut.payload.bytes.truncate(65_535);
        inner.upsert(cut).await
    }
}

defect! {
    /// Keeps bytes in a text column.
    KeepsBytesAsText,
    upsert(inner, update) {
        let mut text = update;
        text.payload.bytes = String::from_utf8_lossy(&text.payload.bytes).into_owned().into();
        inner.upsert(text).await
    }
}

defect! {
    /// Keeps the first 200 bytes of a manifest.
    CutsManifests,
    upsert(inner, update) {
        let mut update = update;
        let payload = update.payload.clone();
        let end = payload.manifest.floor_char_boundary(200);
        update.payload = Payload::new(payload.serializer_id, &payload.manifest[..end], payload.bytes);
        inner.upsert(update).await
    }
}

defect! {
    /// Knows two manifests: the first one stays.
    ReplacesBytesOnly,
    upsert(inner, update) {
        let before = inner.get(&update.persistence_id).await?.state;
        let mut update = update;
        if let Some(before) = before {
            let bytes = update.payload.bytes.clone();
            update.payload = Payload::new(before.payload.serializer_id, before.payload.manifest, bytes);
        }
        inner.upsert(update).await
    }
}

defect! {
    /// Declares tags and loses them.
    LosesTags,
    upsert(inner, update) {
        inner.upsert(update.with_tags([""; 0])).await
    }
}

defect! {
    /// Adds the tags of an update to those before.
    AddsTags,
    upsert(inner, update) {
        let before = inner.get(&update.persistence_id).await?.state;
        let mut update = update;
        let tags = before.map(|state| state.tags).unwrap_or_default();
        update.tags.extend(tags);
        update.tags.sort();
        update.tags.dedup();
        inner.upsert(update).await
    }
}

defect! {
    /// Keeps whole seconds.
    KeepsSeconds,
    get(inner, id) {
        let mut found = inner.get(id).await?;
        if let Some(state) = &mut found.state {
            let seconds = state.timestamp.as_micros() / 1_000_000;
            state.timestamp = Timestamp::from_micros(seconds * 1_000_000);
        }
        Ok(found)
    }
}

/// Declares a limit that it does not keep.
#[derive(Clone, Default)]
pub(crate) struct IgnoresItsOwnLimit;

impl StateDefect for IgnoresItsOwnLimit {
    fn capabilities(&self, declared: StateCapabilities) -> StateCapabilities {
        declared.with_max_state_bytes(100_000)
    }
}

/// Compares ids without regard to case and white space at the end.
#[derive(Clone, Default)]
pub(crate) struct MergesIds;

#[async_trait]
impl StateDefect for MergesIds {
    async fn get(
        &self,
        inner: &MemoryStateStore,
        id: &PersistenceId,
    ) -> Result<CurrentState, StorageError> {
        inner.get(&folded(id)).await
    }

    async fn upsert(
        &self,
        inner: &MemoryStateStore,
        mut update: StateUpdate,
    ) -> Result<(), StorageError> {
        update.persistence_id = folded(&update.persistence_id);
        inner.upsert(update).await
    }

    async fn delete(
        &self,
        inner: &MemoryStateStore,
        mut delete: StateDelete,
    ) -> Result<(), StorageError> {
        delete.persistence_id = folded(&delete.persistence_id);
        inner.delete(delete).await
    }

    async fn hard_delete(
        &self,
        inner: &MemoryStateStore,
        id: &PersistenceId,
    ) -> Result<bool, StorageError> {
        inner.hard_delete(&folded(id)).await
    }
}

fn folded(id: &PersistenceId) -> PersistenceId {
    PersistenceId::of_unique(id.as_str().to_lowercase().trim_end_matches(' '))
}

/// Loses a connection with every get that is dropped.
#[derive(Clone, Default)]
pub(crate) struct LeaksConnections {
    used: Arc<Mutex<usize>>,
}

#[async_trait]
impl StateDefect for LeaksConnections {
    async fn get(
        &self,
        inner: &MemoryStateStore,
        id: &PersistenceId,
    ) -> Result<CurrentState, StorageError> {
        if *self.used.lock().unwrap() >= 20 {
            let kind = StorageErrorKind::Unavailable;
            return Err(StorageError::new(kind, Operation::GetState));
        }
        *self.used.lock().unwrap() += 1;
        yield_now().await;
        *self.used.lock().unwrap() -= 1;
        inner.get(id).await
    }
}

defect! {
    /// Cuts texts off where the column ends, without a word.
    CutsLongTags,
    upsert(inner, update) {
        let mut update = update;
        for text in update.tags.iter_mut().chain([&mut update.payload.manifest]) {
            let fits = &text[..text.floor_char_boundary(MAX_TEXT_BYTES)];
            *text = fits.replace('\0', "").into();
        }
        inner.upsert(update).await
    }
}
