//! Reading a whole log: what is found whole, what a crash left, and what is damage.
//!
//! One call makes one append, and an append is synced before the next one begins.
//! So when a frame is not whole, one question decides: is there a later append?
//!
//! - None: this is what a crash left of the last append. It was never reported that it is stored; it is cut off.
//! - One: what is not whole here had been synced, and its write may have been confirmed. The log is refused as corrupt.
//!
//! Within the last append frames after the broken one may be whole, because disks write in any order; that is why
//! every frame says where its append begins. The price is that damage done later to the very last append looks like
//! a crash.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use actix_persistence_storage_api::StorageErrorKind;

use crate::failure::Failure;
use crate::frame::{self, MAGIC};
use crate::record::Record;

/// The first bytes of a log; the last of them is the version of its format.
pub(crate) const HEADER: [u8; 8] = *b"CUSTJNL\x01";

/// The number of bytes that one step searches for what follows damage.
const CHUNK: u64 = 1024 * 1024;

// ANCHOR: scan
/// Reads every record with its position, in order, and returns where the last whole one ends.
pub(crate) fn scan(
    path: &Path,
    file: &File,
    mut take: impl FnMut(Record, u64),
) -> Result<u64, Failure> {
    let unreadable = |error| Failure::io(format!("{} cannot be read", path.display()), error);
    let length = file.metadata().map_err(unreadable)?.len();
    let mut reader = BufReader::new(file);
    check_header(&mut reader, path)?;
    let mut position = HEADER.len() as u64;
    while position < length {
        let Some(frame) =
            frame::read(&mut reader, position, length - position).map_err(unreadable)?
        else {
            return match later_append(file, position, length).map_err(unreadable)? {
                Some(_) => Err(damaged(path, position)),
                None => Ok(position),
            };
        };
        let next = position + frame.len();
        let record = Record::decode(frame.body).ok_or_else(|| damaged(path, position))?;
        take(record, position);
        position = next;
    }
    Ok(position)
}
// ANCHOR_END: scan

/// The failure for bytes that were stored and cannot be read.
pub(crate) fn damaged(path: &Path, position: u64) -> Failure {
    let path = path.display();
    Failure::corrupt(format!(
        "{path} is damaged at byte {position}, restore it from a copy"
    ))
}

fn check_header(reader: &mut impl Read, path: &Path) -> Result<(), Failure> {
    let mut header = [0; HEADER.len()];
    let found = reader.read_exact(&mut header);
    if found.is_ok() && header == HEADER {
        return Ok(());
    }
    let path = path.display();
    Err(Failure::new(
        StorageErrorKind::SchemaMismatch,
        format!("{path} is no journal of this version, choose another directory"),
    ))
}

/// Returns the place of a whole frame that was appended after the broken one at `broken`.
fn later_append(mut file: &File, broken: u64, length: u64) -> io::Result<Option<u64>> {
    let mut start = broken + 1;
    let mut chunk = Vec::new();
    while start < length {
        chunk.clear();
        file.seek(SeekFrom::Start(start))?;
        file.take(CHUNK).read_to_end(&mut chunk)?;
        for (position, bytes) in (start..).zip(chunk.windows(MAGIC.len())) {
            if bytes != MAGIC {
                continue;
            }
            file.seek(SeekFrom::Start(position))?;
            let frame = frame::read(&mut file, position, length - position)?;
            if frame.is_some_and(|frame| frame.append > broken) {
                return Ok(Some(position));
            }
        }
        // The next chunk begins a little earlier, for a magic number across the border.
        start += CHUNK - (MAGIC.len() as u64 - 1);
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use actix_persistence_storage_api::PersistenceId;

    use super::*;

    /// Appends one after the other, each of a record per entry, whose size is the entry.
    fn log(appends: &[&[usize]]) -> Vec<u8> {
        let mut bytes = HEADER.to_vec();
        for sizes in appends {
            let append = bytes.len() as u64;
            for &size in *sizes {
                let id = PersistenceId::of_unique(&"x".repeat(size));
                let record = Record::Deleted { id, to: 1 };
                let position = bytes.len() as u64;
                frame::put(&mut bytes, position, append, &record.encode());
            }
        }
        bytes
    }

    /// Returns the number of records that are found, and the end of the last one.
    fn found(bytes: &[u8]) -> Result<(usize, usize), String> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        file.rewind().unwrap();
        let mut count = 0;
        match scan(Path::new("log"), &file, |_, _| count += 1) {
            Ok(end) => Ok((count, usize::try_from(end).unwrap())),
            Err(failure) => Err(format!("{failure:?}")),
        }
    }

    #[test]
    fn finds_every_record() {
        assert_eq!(found(&log(&[])), Ok((0, 8)));
        let bytes = log(&[&[1], &[2, 3], &[4]]);
        assert_eq!(found(&bytes), Ok((4, bytes.len())));
    }

    #[test]
    fn cuts_within_the_last_append_wherever_it_breaks() {
        let whole = log(&[&[1]]).len();
        let two = log(&[&[1], &[2, 3]]);
        let second = log(&[&[1], &[2]]).len();
        // In the first of the last two frames, the second being whole.
        for at in whole..second {
            let mut bytes = two.clone();
            bytes[at] ^= 1;
            assert_eq!(found(&bytes), Ok((1, whole)), "byte {at}");
        }
    }

    #[test]
    fn damage_before_another_append_is_corrupt_and_names_the_place() {
        // The later append lies beyond the first chunk of the search.
        for sizes in [[1, 2], [1, 3 * 1024 * 1024]] {
            let good = log(&[&[1], &sizes, &[4]]);
            let second = log(&[&[1]]).len();
            for (at, place) in [(8, 8), (second + 3, second), (second + 40, second)] {
                let mut bytes = good.clone();
                bytes[at] ^= 0x80;
                let message = found(&bytes).unwrap_err();
                assert!(message.contains("Corrupt"), "{message}");
                let place = format!("log is damaged at byte {place},");
                assert!(message.contains(&place), "{message}");
            }
        }
    }

    #[test]
    fn a_log_within_a_payload_is_no_later_append() {
        // Somebody stores a journal in a journal: frames within, whose positions are those of another file.
        let mut bytes = log(&[&[1]]);
        let end = bytes.len();
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&log(&[&[1], &[2], &[3]]));
        assert_eq!(found(&bytes), Ok((1, end)));
    }

    #[test]
    fn refuses_what_is_no_log_of_this_version() {
        let mut newer = log(&[&[1]]);
        newer[7] += 1;
        for bytes in [&b""[..], b"CUSTJNL", b"something else", &newer] {
            let message = found(bytes).unwrap_err();
            assert!(message.contains("SchemaMismatch"), "{message}");
        }
    }
}
