//! The store of durable states.

use std::fmt;
use std::sync::{Arc, OnceLock};

use actix_persistence_storage_api::{
    CurrentState, Operation, PersistenceId, Revision, RevisionConflict, StateCapabilities,
    StateDelete, StateRecord, StateStore, StateUpdate, StorageError, StorageErrorKind, Timestamp,
};
use async_trait::async_trait;

use crate::FileOptions;
use crate::blocking::blocking;
use crate::directory::Directory;
use crate::failure::Failure;
use crate::file_options::MAX_PAYLOAD_BYTES;
use crate::state_file::{StateFile, Stored};

/// A state store with one file per id.
pub struct FileStateStore {
    options: FileOptions,
    /// Open from `initialize` on.
    directory: OnceLock<Arc<Directory>>,
}

impl FileStateStore {
    /// A store in a directory, which is opened or created when it is initialised.
    pub fn new(options: FileOptions) -> Self {
        Self {
            options,
            directory: OnceLock::new(),
        }
    }

    /// Works on the file of an id, alone.
    async fn on_file<T: Send + 'static>(
        &self,
        operation: Operation,
        id: &PersistenceId,
        work: impl FnOnce(&StateFile) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, StorageError> {
        let directory =
            Directory::opened(&self.directory).map_err(|failure| failure.of(operation))?;
        // Kept until the work is done, so that a change whose caller has gone does not come after a later one.
        let turn = directory.state_turn().await;
        let file = StateFile::new(directory.path(), id.clone(), self.options.sync);
        let result = blocking(operation, move || {
            // Ours for as long as somebody works in it.
            let _kept = (directory, turn);
            work(&file)
        });
        result
            .await
            .map_err(|error| error.with_persistence_id(id.clone()))
    }

    // ANCHOR: replace
    /// Puts what `make` returns in the place of the revision before, if that is the one that is stored.
    async fn replace(
        &self,
        operation: Operation,
        id: PersistenceId,
        revision: Revision,
        make: impl FnOnce(Timestamp) -> CurrentState + Send + 'static,
    ) -> Result<(), StorageError> {
        let Some(expected) = revision.checked_sub(1) else {
            return Err(StorageError::invalid_revision(operation, id));
        };
        let conflict = self.on_file(operation, &id, move |file| {
            let before = file.read()?;
            let found = before.current.revision;
            if found != expected {
                return Ok(Some(RevisionConflict { expected, found }));
            }
            let timestamp = before.next_timestamp();
            let current = make(timestamp);
            file.write(&Stored { current, timestamp })?;
            Ok(None)
        });
        match conflict.await? {
            Some(conflict) => Err(StorageError::from_revision_conflict(
                operation, id, conflict,
            )),
            None => Ok(()),
        }
    }
    // ANCHOR_END: replace
}

impl fmt::Debug for FileStateStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileStateStore")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

// ANCHOR: states
#[async_trait]
impl StateStore for FileStateStore {
    async fn initialize(&self) -> Result<(), StorageError> {
        Directory::initialize(&self.directory, &self.options).await
    }

    async fn get(&self, persistence_id: &PersistenceId) -> Result<CurrentState, StorageError> {
        let stored = self.on_file(Operation::GetState, persistence_id, StateFile::read);
        Ok(stored.await?.current)
    }

    async fn upsert(&self, update: StateUpdate) -> Result<(), StorageError> {
        let (operation, id) = (Operation::UpsertState, update.persistence_id.clone());
        if update.change_event.is_some() {
            return Err(StorageError::no_change_events(operation, id));
        }
        if let Some(error) = update.refusal() {
            return Err(error);
        }
        if update.payload.len() > MAX_PAYLOAD_BYTES {
            return Err(too_large().with_persistence_id(id));
        }
        let revision = update.revision;
        self.replace(operation, id, revision, move |timestamp| {
            let state = StateRecord::new(update.payload, timestamp).with_tags(update.tags);
            CurrentState::live(revision, state)
        })
        .await
    }

    async fn delete(&self, delete: StateDelete) -> Result<(), StorageError> {
        let (operation, id) = (Operation::DeleteState, delete.persistence_id);
        if delete.change_event.is_some() {
            return Err(StorageError::no_change_events(operation, id));
        }
        let revision = delete.revision;
        self.replace(operation, id, revision, move |_| {
            CurrentState::tombstone(revision)
        })
        .await
    }

    async fn hard_delete(&self, persistence_id: &PersistenceId) -> Result<bool, StorageError> {
        let operation = Operation::HardDeleteState;
        self.on_file(operation, persistence_id, StateFile::remove)
            .await
    }

    fn capabilities(&self) -> StateCapabilities {
        StateCapabilities::default()
            .with_tags()
            .with_max_state_bytes(MAX_PAYLOAD_BYTES)
    }
}
// ANCHOR_END: states

fn too_large() -> StorageError {
    let message = format!("a state has at most {MAX_PAYLOAD_BYTES} bytes, keep less in it");
    Failure::new(StorageErrorKind::TooLarge, message).of(Operation::UpsertState)
}
