//! The folder of one id's snapshots.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use actix_persistence_storage_api::{
    PersistenceId, SequenceNr, SnapshotCriteria, SnapshotRecord, Timestamp,
};

use crate::SyncMode;
use crate::durable_fs::{create_directory, sync_directory, write_temporary_and_rename};
use crate::failure::Failure;
use crate::snapshot_file::{encode, folder_of, name_of, number_in, read};

/// The snapshots of one id, in a folder of their own. The caller has locked the directory as is right.
pub(crate) struct SnapshotFolder {
    id: PersistenceId,
    folder: PathBuf,
    /// The file in which the next snapshot is written: one for all ids, because one snapshot is saved at a time.
    temporary: PathBuf,
    sync: SyncMode,
}

impl SnapshotFolder {
    /// The folder of an id in the directory of a store; it need not exist.
    pub(crate) fn new(directory: &Path, id: PersistenceId, sync: SyncMode) -> Self {
        let root = directory.join("snapshots");
        Self {
            folder: folder_of(&root, &id),
            temporary: directory.join("snapshot.new"),
            id,
            sync,
        }
    }

    // ANCHOR: load
    /// The one with the highest number of those that the criteria select.
    pub(crate) fn load(
        &self,
        criteria: &SnapshotCriteria,
    ) -> Result<Option<SnapshotRecord>, Failure> {
        let mut numbers = self.numbers(criteria)?;
        numbers.sort_unstable();
        for number in numbers.into_iter().rev() {
            let snapshot = self.read(number)?;
            if criteria.matches(number, snapshot.metadata.timestamp) {
                return Ok(Some(snapshot));
            }
        }
        Ok(None)
    }
    // ANCHOR_END: load

    // ANCHOR: save
    /// Puts a snapshot in its place, where it replaces one of the same number.
    pub(crate) fn save(&self, snapshot: &SnapshotRecord) -> Result<(), Failure> {
        let path = self.path(snapshot.metadata.sequence_nr);
        let failed = |error| Failure::io(format!("{} cannot be written", path.display()), error);
        create_directory(&self.folder, self.sync).map_err(failed)?;
        write_temporary_and_rename(&encode(snapshot), &self.temporary, &path, self.sync)
            .map_err(failed)?;
        // Whole and in its place, but a power cut may take the name away again.
        sync_directory(&self.folder, self.sync).map_err(|error| failed(error).unknown())
    }
    // ANCHOR_END: save

    // ANCHOR: delete
    /// Deletes all that the criteria select.
    pub(crate) fn delete(&self, criteria: &SnapshotCriteria) -> Result<(), Failure> {
        let any_time =
            criteria.min_timestamp == Timestamp::MIN && criteria.max_timestamp == Timestamp::MAX;
        for number in self.numbers(criteria)? {
            // Read only if its time decides, so that one that cannot be read can still be deleted.
            if any_time || criteria.matches(number, self.read(number)?.metadata.timestamp) {
                self.remove(number)?;
            }
        }
        Ok(())
    }
    // ANCHOR_END: delete

    /// The numbers within the criteria's bounds for numbers, in no order.
    fn numbers(&self, criteria: &SnapshotCriteria) -> Result<Vec<SequenceNr>, Failure> {
        let wanted = criteria.min_sequence_nr..=criteria.max_sequence_nr;
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries,
        };
        let numbers = entries.and_then(|entries| {
            let names = entries.map(|entry| entry.map(|entry| entry.file_name()));
            let numbers = names.filter_map(|name| name.map(|name| number_in(&name)).transpose());
            numbers.collect::<io::Result<Vec<_>>>()
        });
        let mut numbers = numbers.map_err(|error| self.failure("cannot be listed", error))?;
        numbers.retain(|number| wanted.contains(number));
        Ok(numbers)
    }

    fn read(&self, number: SequenceNr) -> Result<SnapshotRecord, Failure> {
        let path = self.path(number);
        let unreadable = |error| Failure::io(format!("{} cannot be read", path.display()), error);
        read(&path, &self.id, number)
            .map_err(unreadable)?
            .ok_or_else(|| {
                let path = path.display();
                Failure::corrupt(format!("{path} is damaged, delete that snapshot"))
            })
    }

    fn remove(&self, number: SequenceNr) -> Result<(), Failure> {
        fs::remove_file(self.path(number))
            .and_then(|()| sync_directory(&self.folder, self.sync))
            .map_err(|error| self.failure("cannot be emptied", error).unknown())
    }

    fn path(&self, number: SequenceNr) -> PathBuf {
        self.folder.join(name_of(number))
    }

    fn failure(&self, what: &str, error: io::Error) -> Failure {
        Failure::io(format!("{} {what}", self.folder.display()), error)
    }
}
