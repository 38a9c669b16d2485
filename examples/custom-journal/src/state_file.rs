//! The state of one id in one file.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use actix_persistence_storage_api::{CurrentState, PersistenceId, StateRecord, Timestamp};
use bytes::{BufMut, Bytes};

use crate::SyncMode;
use crate::durable_fs::{create_directory, sync_directory, write_temporary_and_rename};
use crate::encoding::{Decoder, put_bytes, put_optional_payload};
use crate::failure::Failure;
use crate::frame;
use crate::snapshot_file::folder_of;

/// The version of the format.
const VERSION: u8 = 1;

/// The content of the file: the state, or the tombstone, and when it was stored.
pub(crate) struct Stored {
    pub(crate) current: CurrentState,
    /// The time of the state, and of the tombstone, too, so that the next state is later.
    pub(crate) timestamp: Timestamp,
}

impl Stored {
    /// The content of a file that does not exist.
    const NOTHING: Stored = Stored {
        current: CurrentState::NEVER_SEEN,
        timestamp: Timestamp::MIN,
    };

    // ANCHOR: next_timestamp
    /// Now, but later than this one, whatever became of the clock.
    pub(crate) fn next_timestamp(&self) -> Timestamp {
        let next = self.timestamp.as_micros().saturating_add(1);
        Timestamp::now().max(Timestamp::from_micros(next))
    }
    // ANCHOR_END: next_timestamp
}

/// The file of one id. The caller has the turn to work on states.
pub(crate) struct StateFile {
    id: PersistenceId,
    folder: PathBuf,
    /// The file in which the next state is collected: one place for all ids, because one is stored at a time.
    temporary: PathBuf,
    sync: SyncMode,
}

impl StateFile {
    /// The file of an id in the directory of a store; it need not exist.
    pub(crate) fn new(directory: &Path, id: PersistenceId, sync: SyncMode) -> Self {
        Self {
            folder: folder_of(&directory.join("states"), &id),
            temporary: directory.join("state.new"),
            id,
            sync,
        }
    }

    /// Returns what is stored of the id.
    pub(crate) fn read(&self) -> Result<Stored, Failure> {
        let path = self.path();
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Stored::NOTHING),
            Err(error) => {
                let message = format!("{} cannot be read", path.display());
                return Err(Failure::io(message, error));
            }
        };
        self.decode(&bytes).ok_or_else(|| {
            let path = path.display();
            Failure::corrupt(format!("{path} is damaged, take it from a backup"))
        })
    }

    // ANCHOR: write
    /// Puts a state, or a tombstone, in the place of what is there.
    pub(crate) fn write(&self, stored: &Stored) -> Result<(), Failure> {
        let path = self.path();
        let failed = |error| Failure::io(format!("{} cannot be written", path.display()), error);
        create_directory(&self.folder, self.sync).map_err(failed)?;
        write_temporary_and_rename(&self.encode(stored), &self.temporary, &path, self.sync)
            .map_err(failed)?;
        // Whole and in its place, but a power cut may bring back what was there before.
        sync_directory(&self.folder, self.sync).map_err(|error| failed(error).unknown())
    }
    // ANCHOR_END: write

    /// Removes every trace of the id; returns whether there was one.
    pub(crate) fn remove(&self) -> Result<bool, Failure> {
        let path = self.path();
        let failed = |error| Failure::io(format!("{} cannot be removed", path.display()), error);
        match fs::remove_file(&path) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(failed(error)),
        }
        sync_directory(&self.folder, self.sync).map_err(|error| failed(error).unknown())?;
        Ok(true)
    }

    /// Returns the path of the file. One id's folder may be within another's; its name in hexadecimal is never this
    /// one.
    fn path(&self) -> PathBuf {
        self.folder.join("state")
    }

    /// The whole file, which is one frame.
    fn encode(&self, stored: &Stored) -> Vec<u8> {
        let state = stored.current.state.as_ref();
        let tags = state.map_or(&[][..], |state| &state.tags);
        let mut body = vec![VERSION];
        put_bytes(&mut body, self.id.as_str().as_bytes());
        body.put_u64(stored.current.revision);
        body.put_i64(stored.timestamp.as_micros());
        put_optional_payload(&mut body, state.map(|state| &state.payload));
        body.put_u64(tags.len() as u64);
        for tag in tags {
            put_bytes(&mut body, tag.as_bytes());
        }
        let mut file = Vec::new();
        frame::put(&mut file, 0, 0, &body);
        file
    }

    /// `None` if the file is damaged, or holds the state of another id.
    fn decode(&self, bytes: &[u8]) -> Option<Stored> {
        let length = bytes.len() as u64;
        let frame = frame::read(&mut &bytes[..], 0, length).ok()??;
        if frame.len() != length {
            return None;
        }
        self.decode_body(frame.body)
    }

    fn decode_body(&self, body: Bytes) -> Option<Stored> {
        let mut decoder = Decoder::new(body);
        if decoder.u8()? != VERSION || decoder.persistence_id()? != self.id {
            return None;
        }
        let revision = decoder.u64()?;
        let timestamp = Timestamp::from_micros(decoder.i64()?);
        let payload = decoder.optional_payload()?;
        let count = decoder.u64()?;
        let tags: Option<Vec<_>> = (0..count).map(|_| decoder.text()).collect();
        let tags = tags?;
        decoder.end()?;
        let current = match payload {
            Some(payload) => {
                let state = StateRecord::new(payload, timestamp).with_tags(tags);
                CurrentState::live(revision, state)
            }
            None => CurrentState::tombstone(revision),
        };
        Some(Stored { current, timestamp })
    }
}

#[cfg(test)]
mod tests {
    use actix_persistence_storage_api::Payload;

    use super::*;

    fn file(directory: &Path) -> StateFile {
        StateFile::new(directory, PersistenceId::of("T", "1"), SyncMode::Never)
    }

    #[test]
    fn a_file_that_is_cut_off_or_has_a_flipped_bit_is_corrupt() {
        let place = tempfile::tempdir().unwrap();
        let file = file(place.path());
        let timestamp = Timestamp::now();
        let state = StateRecord::new(Payload::new(1, "name", "text"), timestamp);
        let current = CurrentState::live(3, state.with_tags(["red"]));
        file.write(&Stored {
            current: current.clone(),
            timestamp,
        })
        .unwrap();
        assert_eq!(file.read().unwrap().current, current);
        let whole = fs::read(file.path()).unwrap();
        for at in 0..whole.len() {
            fs::write(file.path(), &whole[..at]).unwrap();
            assert!(file.read().is_err(), "cut off after {at} bytes");
            let mut flipped = whole.clone();
            flipped[at] ^= 1;
            fs::write(file.path(), flipped).unwrap();
            assert!(file.read().is_err(), "byte {at}");
        }
    }

    #[test]
    fn a_state_is_later_than_the_one_before_when_the_clock_was_set_back() {
        let before = Stored {
            timestamp: Timestamp::from_micros(Timestamp::now().as_micros() + 3_600_000_000),
            ..Stored::NOTHING
        };
        assert!(before.next_timestamp() > before.timestamp);
    }
}
