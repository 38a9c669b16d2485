//! The snapshot store.

use std::fmt;
use std::sync::{Arc, OnceLock, PoisonError};

use actix_persistence_storage_api::{
    Operation, Payload, PersistenceId, SnapshotCapabilities, SnapshotCriteria, SnapshotMetadata,
    SnapshotRecord, SnapshotStore, StorageError, StorageErrorKind, Timestamp,
};
use async_trait::async_trait;

use crate::FileOptions;
use crate::blocking::blocking;
use crate::directory::Directory;
use crate::failure::Failure;
use crate::file_options::MAX_PAYLOAD_BYTES;
use crate::snapshot_folder::SnapshotFolder;

/// A snapshot store with one file per snapshot.
pub struct FileSnapshotStore {
    options: FileOptions,
    /// Open from `initialize` on.
    directory: OnceLock<Arc<Directory>>,
}

impl FileSnapshotStore {
    /// A store in a directory, which is opened or created when it is initialised.
    pub fn new(options: FileOptions) -> Self {
        Self {
            options,
            directory: OnceLock::new(),
        }
    }

    /// Reads from an id's folder, while nobody changes it.
    async fn reading<T: Send + 'static>(
        &self,
        operation: Operation,
        id: &PersistenceId,
        work: impl FnOnce(&SnapshotFolder) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, StorageError> {
        self.working(operation, id, |directory, folder| {
            // The lock guards no memory that a panic could leave half-changed.
            let _lock = directory
                .snapshots
                .read()
                .unwrap_or_else(PoisonError::into_inner);
            work(&folder)
        })
        .await
    }

    /// Changes an id's folder, alone.
    async fn changing<T: Send + 'static>(
        &self,
        operation: Operation,
        id: &PersistenceId,
        work: impl FnOnce(&SnapshotFolder) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, StorageError> {
        self.working(operation, id, |directory, folder| {
            let _lock = directory
                .snapshots
                .write()
                .unwrap_or_else(PoisonError::into_inner);
            work(&folder)
        })
        .await
    }

    async fn working<T: Send + 'static>(
        &self,
        operation: Operation,
        id: &PersistenceId,
        work: impl FnOnce(&Directory, SnapshotFolder) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, StorageError> {
        let directory =
            Directory::opened(&self.directory).map_err(|failure| failure.of(operation))?;
        let folder = SnapshotFolder::new(directory.path(), id.clone(), self.options.sync);
        blocking(operation, move || work(&directory, folder))
            .await
            .map_err(|error| error.with_persistence_id(id.clone()))
    }
}

impl fmt::Debug for FileSnapshotStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileSnapshotStore")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl SnapshotStore for FileSnapshotStore {
    async fn initialize(&self) -> Result<(), StorageError> {
        let options = self.options.clone();
        let directory = blocking(Operation::Initialize, move || {
            Directory::open(&options.directory, options.sync)
        })
        .await?;
        self.directory.get_or_init(|| directory);
        Ok(())
    }

    // ANCHOR: snapshots
    async fn load(
        &self,
        persistence_id: &PersistenceId,
        criteria: SnapshotCriteria,
    ) -> Result<Option<SnapshotRecord>, StorageError> {
        self.reading(Operation::LoadSnapshot, persistence_id, move |folder| {
            folder.load(&criteria)
        })
        .await
    }

    async fn save(&self, metadata: SnapshotMetadata, payload: Payload) -> Result<(), StorageError> {
        let id = metadata.persistence_id.clone();
        if payload.len() > MAX_PAYLOAD_BYTES {
            return Err(too_large().with_persistence_id(id));
        }
        let snapshot = SnapshotRecord::new(metadata, payload);
        self.changing(Operation::SaveSnapshot, &id, move |folder| {
            folder.save(&snapshot)
        })
        .await
    }

    async fn delete(&self, metadata: &SnapshotMetadata) -> Result<(), StorageError> {
        let number = metadata.sequence_nr;
        let mut one = SnapshotCriteria::up_to(number).with_min_sequence_nr(number);
        if metadata.timestamp != Timestamp::UNSET {
            one.min_timestamp = metadata.timestamp;
            one.max_timestamp = metadata.timestamp;
        }
        self.changing(
            Operation::DeleteSnapshot,
            &metadata.persistence_id,
            move |folder| folder.delete(&one),
        )
        .await
    }

    async fn delete_matching(
        &self,
        persistence_id: &PersistenceId,
        criteria: SnapshotCriteria,
    ) -> Result<(), StorageError> {
        self.changing(
            Operation::DeleteMatchingSnapshots,
            persistence_id,
            move |folder| folder.delete(&criteria),
        )
        .await
    }
    // ANCHOR_END: snapshots

    fn capabilities(&self) -> SnapshotCapabilities {
        SnapshotCapabilities::default()
            .with_metadata()
            .with_max_snapshot_bytes(MAX_PAYLOAD_BYTES)
    }
}

fn too_large() -> StorageError {
    let message = format!("a snapshot has at most {MAX_PAYLOAD_BYTES} bytes, keep less in it");
    Failure::new(StorageErrorKind::TooLarge, message).of(Operation::SaveSnapshot)
}
