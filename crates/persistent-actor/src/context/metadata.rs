//! The metadata of what runs now.

use actix_persistence_storage_api::{Operation, StorageError, StorageErrorKind};

use crate::metadata::carried::Carried;
use crate::{Metadata, PersistentActor, PersistentContext, Stores};

impl<A: PersistentActor> PersistentContext<A> {
    /// Returns the metadata of the command that caused what runs now, with what the actor has set since; empty without
    /// any.
    ///
    /// In the handlers and the reply of a stored event its causation id is that event, `<persistence id>#<number>`,
    /// unless the actor has set another one for the command. What repeats or goes on by itself has none: streams,
    /// intervals, answers of stores, and the recovery.
    pub fn metadata(&self) -> Metadata {
        Metadata::current()
    }

    /// Sets the metadata for everything that the code at hand leads to from now on: what it persists and sends, with
    /// all that follows from that, what it defers and puts aside, and the futures and timers that it adds. A stream that
    /// actix polls, after `Self::add_stream(stream, ctx)`, is such a future: each of its items has it, while those of
    /// `ctx.add_stream(stream)` have none.
    ///
    /// A journal that keeps no metadata rejects what is persisted with metadata of the actor's own; what came with the
    /// command is left out there. A durable state keeps none, but its [change events](Self::persist_with_event) do; those
    /// of a journal that keeps none are stored without it, even if it is the actor's own.
    pub fn set_metadata(&mut self, metadata: Metadata) {
        Carried::set(metadata);
    }

    /// Returns whether the store keeps metadata with events.
    ///
    /// # Errors
    /// If a journal does not, and the actor has set some.
    pub(super) fn keeps_metadata(&mut self, carried: &Carried) -> Result<bool, StorageError> {
        let keeps_metadata = match &self.environment.stores {
            Stores::Events { journal, .. } => journal.capabilities().metadata,
            Stores::State(_) => return Ok(false),
        };
        if keeps_metadata || carried.is_empty() {
            return Ok(keeps_metadata);
        }
        if carried.is_own() {
            let error = StorageError::new(StorageErrorKind::Unsupported, Operation::WriteMessages)
                .not_stored()
                .with_persistence_id(self.persistence_id.clone())
                .with_message("this journal keeps no metadata, and the actor has set some");
            return Err(error);
        }
        if !std::mem::replace(&mut self.left_metadata_out, true) {
            tracing::debug!(
                persistence_id = %self.persistence_id,
                "events are stored without the metadata of their commands: this journal keeps none"
            );
        }
        Ok(false)
    }
}
