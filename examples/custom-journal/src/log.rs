//! The one file of a journal, and the index of what is in it.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use actix_persistence_storage_api::{
    EventRecord, PageLimit, PersistenceId, ReplayPage, ReplayRange,
};

use crate::SyncMode;
use crate::durable_fs::{sync_directory, sync_file, write_temporary_and_rename};
use crate::failure::Failure;
use crate::frame;
use crate::index::Index;
use crate::record::Record;
use crate::scan::{HEADER, damaged, scan};

/// An append-only file of records. Nothing is ever changed or removed in it, but for what a failed append left.
#[derive(Debug)]
pub(crate) struct Log {
    path: PathBuf,
    file: File,
    /// The start of the next append: the end of the last one that succeeded.
    end: u64,
    /// True if the file may go on after `end`, with some of an append that failed.
    remains: bool,
    index: Index,
}

impl Log {
    /// Opens or creates the log in a directory, cuts off what a crash left half-written, and reads the rest.
    pub(crate) fn open(directory: &Path, sync: SyncMode) -> Result<Self, Failure> {
        let path = directory.join("journal.log");
        let unusable = |error| Failure::io(format!("{} cannot be opened", path.display()), error);
        if !path.try_exists().map_err(unusable)? {
            // Renamed when it is whole, so that there is never a log without its header.
            let temporary = directory.join("journal.new");
            write_temporary_and_rename(&HEADER, &temporary, &path, sync).map_err(unusable)?;
        }
        let mut options = File::options();
        let file = options
            .read(true)
            .write(true)
            .open(&path)
            .map_err(unusable)?;
        let mut index = Index::default();
        let end = scan(&path, &file, |record, position| {
            index.apply(&record, position);
        })?;
        let mut log = Self {
            file,
            end,
            remains: true,
            index,
            path: path.clone(),
        };
        // Synced even if nothing is cut off: a process that was killed may have written what is not on the disk yet,
        // and from now on it counts as stored.
        log.cut_off_remains(sync).map_err(unusable)?;
        sync_directory(directory, sync).map_err(unusable)?;
        Ok(log)
    }

    /// Returns the length of the log, without what an append that failed may have left after its end.
    pub(crate) fn bytes(&self) -> u64 {
        self.end
    }

    /// Returns the index of the ids.
    pub(crate) fn index(&self) -> &Index {
        &self.index
    }

    // ANCHOR: append
    /// Stores records, all with one write and one sync, and adds them to the index.
    ///
    /// On a failure none is stored, as far as the failure's effect says so.
    pub(crate) fn append(&mut self, records: &[Record], sync: SyncMode) -> Result<(), Failure> {
        if records.is_empty() {
            return Ok(());
        }
        self.cut_off_remains(sync)
            .map_err(|error| self.failure("cannot be cleaned of a write that failed", error))?;
        let mut bytes = Vec::new();
        let mut positions = Vec::with_capacity(records.len());
        for record in records {
            let position = self.end + bytes.len() as u64;
            frame::put(&mut bytes, position, self.end, &record.encode());
            positions.push(position);
        }
        self.remains = true;
        if let Err(error) = self.write(&bytes, sync) {
            let failure = self.failure("cannot be written", error);
            // Some of it may be in the file, and whole records of it would be found after a restart.
            return Err(match self.cut_off_remains(sync) {
                Ok(()) => failure,
                Err(_) => failure.unknown(),
            });
        }
        self.remains = false;
        self.end += bytes.len() as u64;
        for (record, position) in records.iter().zip(positions) {
            self.index.apply(record, position);
        }
        Ok(())
    }
    // ANCHOR_END: append

    // ANCHOR: page
    /// Reads one page of the events that are not deleted.
    pub(crate) fn page(
        &self,
        id: &PersistenceId,
        range: ReplayRange,
        limit: PageLimit,
    ) -> Result<ReplayPage, Failure> {
        let Some(stream) = self.index.get(id) else {
            return Ok(ReplayPage::default());
        };
        let last = range.to.min(stream.highest);
        // The lowest number that is wanted and not on the page yet.
        let mut next = range.from.max(stream.deleted_to + 1);
        let mut events: Vec<EventRecord> = Vec::new();
        let mut bytes = 0_usize;
        'page: for position in stream.positions(next..=last) {
            for event in self.events_at(position)? {
                if event.sequence_nr < next {
                    continue;
                }
                bytes = bytes.saturating_add(event.size());
                let too_many = events.len() >= limit.max_events;
                let too_large = bytes > limit.max_bytes && !events.is_empty();
                if event.sequence_nr > last || too_many || too_large {
                    break 'page;
                }
                next += 1;
                events.push(event);
            }
        }
        Ok(ReplayPage::new(events, next <= last, stream.deleted_to))
    }
    // ANCHOR_END: page

    /// The events of one atomic write, checked again: what was whole at the start may be damaged by now.
    fn events_at(&self, position: u64) -> Result<Vec<EventRecord>, Failure> {
        let frame = self
            .frame_at(position)
            .map_err(|error| self.failure("cannot be read", error))?;
        match frame.and_then(|frame| Record::decode(frame.body)) {
            Some(Record::Written { events, .. }) => Ok(events),
            _ => Err(damaged(&self.path, position)),
        }
    }

    fn frame_at(&self, position: u64) -> io::Result<Option<frame::Frame>> {
        let mut file = &self.file;
        file.seek(SeekFrom::Start(position))?;
        frame::read(&mut file, position, self.end - position)
    }

    fn write(&self, bytes: &[u8], sync: SyncMode) -> io::Result<()> {
        let mut file = &self.file;
        file.seek(SeekFrom::Start(self.end))?;
        file.write_all(bytes)?;
        sync_file(file, sync)
    }

    /// Synced too: otherwise what was cut off might be there again after a power cut.
    fn cut_off_remains(&mut self, sync: SyncMode) -> io::Result<()> {
        if self.remains {
            self.file.set_len(self.end)?;
            sync_file(&self.file, sync)?;
            self.remains = false;
        }
        Ok(())
    }

    fn failure(&self, what: &str, error: io::Error) -> Failure {
        Failure::io(format!("{} {what}", self.path.display()), error)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use actix_persistence_storage_api::{Effect, Operation, SequenceNr};

    use super::*;

    fn deleted(to: SequenceNr) -> Record {
        let id = PersistenceId::of("T", "1");
        Record::Deleted { id, to }
    }

    fn deleted_to(log: &Log) -> SequenceNr {
        let id = PersistenceId::of("T", "1");
        log.index().get(&id).unwrap().deleted_to
    }

    fn effect(result: Result<(), Failure>) -> Option<Effect> {
        let failure = result.unwrap_err();
        failure.of(Operation::WriteMessages).effect()
    }

    #[test]
    fn a_failed_append_that_cannot_be_undone_stops_all_others_until_it_can() {
        let place = tempfile::tempdir().unwrap();
        let mut log = Log::open(place.path(), SyncMode::Always).unwrap();
        log.append(&[deleted(1)], SyncMode::Always).unwrap();
        let path = place.path().join("journal.log");
        let length = fs::metadata(&path).unwrap().len();

        // A file opened to be read takes neither bytes nor another length.
        let good = std::mem::replace(&mut log.file, File::open(&path).unwrap());
        let failed = log.append(&[deleted(2)], SyncMode::Always);
        assert_eq!(effect(failed), Some(Effect::Unknown));
        // Not tried any more: this one is certain.
        let failed = log.append(&[deleted(3)], SyncMode::Always);
        assert_eq!(effect(failed), Some(Effect::NotStored));
        assert_eq!(deleted_to(&log), 1);

        // A whole record of the failed append has reached the file all the same.
        let mut late = Vec::new();
        frame::put(&mut late, length, length, &deleted(2).encode());
        let mut file = File::options().append(true).open(&path).unwrap();
        file.write_all(&late).unwrap();

        log.file = good;
        log.append(&[deleted(4)], SyncMode::Always).unwrap();
        assert_eq!(deleted_to(&log), 4);
        drop(log);
        let mut found = Vec::new();
        let file = File::open(&path).unwrap();
        scan(&path, &file, |record, _| found.push(record)).unwrap();
        assert_eq!(found, [deleted(1), deleted(4)]);
    }
}
