//! The snapshot store in a folder of files.

use std::fmt;
use std::sync::{Arc, OnceLock};

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
    /// Returns a store in a directory, which is opened or created when it is initialised.
    pub fn new(options: FileOptions) -> Self {
        Self {
            options,
            directory: OnceLock::new(),
        }
    }

    /// Reads from an id's folder, while no other call changes it.
    async fn reading<T: Send + 'static>(
        &self,
        operation: Operation,
        id: &PersistenceId,
        work: impl FnOnce(&SnapshotFolder) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, StorageError> {
        let lock = Arc::clone(&self.opened(operation)?.snapshots);
        let lock = lock.read_owned().await;
        self.working(operation, id, move |folder| {
            let _lock = lock;
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
        // Kept until the work is done, so that a change whose caller has gone does not come after a later one.
        let lock = Arc::clone(&self.opened(operation)?.snapshots);
        let lock = lock.write_owned().await;
        self.working(operation, id, move |folder| {
            let _lock = lock;
            work(&folder)
        })
        .await
    }

    fn opened(&self, operation: Operation) -> Result<Arc<Directory>, StorageError> {
        Directory::opened(&self.directory).map_err(|failure| failure.of(operation))
    }

    async fn working<T: Send + 'static>(
        &self,
        operation: Operation,
        id: &PersistenceId,
        work: impl FnOnce(SnapshotFolder) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, StorageError> {
        let directory = self.opened(operation)?;
        let folder = SnapshotFolder::new(directory.path(), id.clone(), self.options.sync);
        let result = blocking(operation, move || {
            // Ours for as long as somebody works in it.
            let _directory = directory;
            work(folder)
        });
        result
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
        Directory::initialize(&self.directory, &self.options).await
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
        if let Some(error) = metadata.refusal(&payload) {
            return Err(error);
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
