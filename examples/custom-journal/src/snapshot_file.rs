//! The file of one snapshot.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use actix_persistence_storage_api::{
    PersistenceId, SequenceNr, SnapshotMetadata, SnapshotRecord, Timestamp,
};
use bytes::{BufMut, Bytes};

use crate::encoding::{Decoder, put_bytes, put_optional_payload, put_payload};
use crate::frame;

/// The version of the format.
const VERSION: u8 = 1;

// ANCHOR: folder_of
/// The folder of an id's files below `root`: its bytes in hexadecimal, so that ids that differ in case, white
/// space or accents stay apart on every file system.
///
/// An id of 255 bytes makes 510 letters, more than a name may have: so there is a folder in a folder.
/// One id's folder may be within another's; no file is mistaken for a folder.
pub(crate) fn folder_of(root: &Path, id: &PersistenceId) -> PathBuf {
    let hex: String = id
        .as_str()
        .bytes()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let mut folder = root.to_owned();
    let mut rest = &hex[..];
    while !rest.is_empty() {
        let (name, after) = rest.split_at(rest.len().min(200));
        folder.push(name);
        rest = after;
    }
    folder
}
// ANCHOR_END: folder_of

/// Returns the file's name: the number alone, so that renaming replaces an older snapshot of the same number.
pub(crate) fn name_of(sequence_nr: SequenceNr) -> String {
    format!("{sequence_nr:020}.snapshot")
}

/// The number in a name; `None` for anything else that lies in the folder.
pub(crate) fn number_in(name: &OsStr) -> Option<SequenceNr> {
    let name = name.to_str()?;
    let number = name.strip_suffix(".snapshot")?.parse().ok()?;
    (name == name_of(number)).then_some(number)
}

/// The whole file, which is one frame.
pub(crate) fn encode(snapshot: &SnapshotRecord) -> Vec<u8> {
    let SnapshotRecord {
        metadata, payload, ..
    } = snapshot;
    let mut body = vec![VERSION];
    put_bytes(&mut body, metadata.persistence_id.as_str().as_bytes());
    body.put_u64(metadata.sequence_nr);
    body.put_i64(metadata.timestamp.as_micros());
    put_payload(&mut body, payload);
    put_optional_payload(&mut body, metadata.metadata.as_ref());
    let mut file = Vec::new();
    frame::put(&mut file, 0, 0, &body);
    file
}

/// Reads the file of a snapshot. `None` if it is damaged, or holds another snapshot than its place says.
pub(crate) fn read(
    path: &Path,
    id: &PersistenceId,
    sequence_nr: SequenceNr,
) -> io::Result<Option<SnapshotRecord>> {
    let bytes = fs::read(path)?;
    let length = bytes.len() as u64;
    let frame = frame::read(&mut &bytes[..], 0, length)?;
    let whole = frame.filter(|frame| frame.len() == length);
    let snapshot = whole.and_then(|frame| decode(frame.body));
    Ok(snapshot.filter(|SnapshotRecord { metadata, .. }| {
        metadata.persistence_id == *id && metadata.sequence_nr == sequence_nr
    }))
}

fn decode(body: Bytes) -> Option<SnapshotRecord> {
    let mut decoder = Decoder::new(body);
    if decoder.u8()? != VERSION {
        return None;
    }
    let id = decoder.persistence_id()?;
    let sequence_nr = decoder.u64()?;
    let taken = Timestamp::from_micros(decoder.i64()?);
    let payload = decoder.payload()?;
    let mut metadata = SnapshotMetadata::new(id, sequence_nr, taken);
    metadata.metadata = decoder.optional_payload()?;
    decoder.end()?;
    Some(SnapshotRecord::new(metadata, payload))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_has_a_folder_of_its_own_with_short_names() {
        let root = Path::new("snapshots");
        let longest = "\u{20ac}".repeat(85);
        for text in ["a", "A", "..", "a/b", "a ", &longest, &longest[..252]] {
            let folder = folder_of(root, &PersistenceId::of_unique(text));
            let names: Vec<_> = folder.strip_prefix(root).unwrap().iter().collect();
            let hex: String = names.iter().map(|name| name.to_str().unwrap()).collect();
            let bytes: Vec<u8> = (0..hex.len())
                .step_by(2)
                .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap())
                .collect();
            assert_eq!(bytes, text.as_bytes());
            assert!(names.iter().all(|name| name.len() <= 200));
        }
    }

    #[test]
    fn only_names_of_snapshots_hold_a_number() {
        for number in [0, 7, SequenceNr::MAX] {
            assert_eq!(number_in(name_of(number).as_ref()), Some(number));
        }
        for name in [
            "7.snapshot",
            "+0000000000000000007.snapshot",
            "00000000000000000007.tmp",
            "00000000000000000007.snapshot~",
            "6162",
        ] {
            assert_eq!(number_in(name.as_ref()), None, "{name}");
        }
    }
}
