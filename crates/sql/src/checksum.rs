//! A sum over everything that is read of a row, stored in it: it ties what is stored to its place.
//!
//! A row that was damaged, or that has what belongs to another id or number, has another sum. CRC-32 finds every single
//! flipped bit and every burst of up to 32 of them for certain, and anything else but for one in four thousand million.
//! It is no protection against a deliberate change.

use actix_persistence_storage_api::{
    EventRecord, Payload, PersistenceId, Revision, SnapshotMetadata,
};
use crc32fast::Hasher;
use std::sync::Arc;

use crate::SqlError;

/// The method of a sum; a database keeps it above the 32 bits of the sum.
///
/// It also keeps sums from being small: the bit that distinguishes a number from NULL is far from theirs in a row of
/// SQLite.
const WAY: i64 = 1;

/// Returns the sum over an event of an id: all of it.
pub(crate) fn of_event(id: &PersistenceId, event: &EventRecord) -> i64 {
    let mut sum = Sum::new(b'e', id, event.sequence_nr);
    sum.number(event.timestamp.as_micros().cast_unsigned());
    sum.bytes(event.writer.as_bytes());
    sum.bytes(event.adapter_manifest.as_bytes());
    sum.tags(&event.tags);
    sum.payload(event.metadata.as_ref());
    sum.payload(Some(&event.payload));
    sum.finish()
}

/// Returns the sum over a snapshot: all of it.
pub(crate) fn of_snapshot(metadata: &SnapshotMetadata, payload: &Payload) -> i64 {
    let mut sum = Sum::new(b's', &metadata.persistence_id, metadata.sequence_nr);
    sum.number(metadata.timestamp.as_micros().cast_unsigned());
    sum.payload(metadata.metadata.as_ref());
    sum.payload(Some(payload));
    sum.finish()
}

/// Returns the sum over a state, or a tombstone without a payload: all of it but the time, which the database may move
/// on.
pub(crate) fn of_state(
    id: &PersistenceId,
    revision: Revision,
    payload: Option<&Payload>,
    tags: &[Arc<str>],
) -> i64 {
    let mut sum = Sum::new(b'd', id, revision);
    sum.tags(tags);
    sum.payload(payload);
    sum.finish()
}

/// Fails if a stored sum is another one; rows without a sum were stored by other tools.
pub(crate) fn check(stored: Option<i64>, sum: impl FnOnce() -> i64) -> Result<(), SqlError> {
    match stored {
        Some(stored) if stored != sum() => Err(SqlError::corrupt(
            "it is not what was stored there: its checksum is another one; restore a backup, or set 'checksum' to NULL if you \
             changed the row on purpose",
        )),
        _ => Ok(()),
    }
}

/// Fails if an event of an id has another sum than the stored one.
///
/// # Errors
/// Corrupt, with the number of the event.
pub fn check_event(
    id: &PersistenceId,
    event: &EventRecord,
    stored: Option<i64>,
) -> Result<(), SqlError> {
    let number = event.sequence_nr;
    check(stored, || of_event(id, event))
        .map_err(|error| error.about(format_args!("sequence number {number}")))
}

/// Takes values one after the other, each with its length, so that nothing can move from one to its neighbour.
///
/// Short values are gathered first: sums are made fast where many bytes come at once.
struct Sum {
    hasher: Hasher,
    gathered: [u8; GATHERED],
    count: usize,
}

/// The number of bytes that are gathered before they are added to the sum.
const GATHERED: usize = 256;
/// The number of bytes that are worth a step of their own.
const MANY: usize = 128;

impl Sum {
    fn new(kind: u8, id: &PersistenceId, number: u64) -> Self {
        let mut sum = Self {
            hasher: Hasher::new(),
            gathered: [0; GATHERED],
            count: 0,
        };
        sum.add(&[kind]);
        sum.bytes(id.as_str().as_bytes());
        sum.number(number);
        sum
    }

    fn number(&mut self, number: u64) {
        self.add(&number.to_le_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.add(bytes);
    }

    fn add(&mut self, bytes: &[u8]) {
        if bytes.len() >= MANY {
            self.settle();
            self.hasher.update(bytes);
            return;
        }
        if self.count + bytes.len() > GATHERED {
            self.settle();
        }
        self.gathered[self.count..][..bytes.len()].copy_from_slice(bytes);
        self.count += bytes.len();
    }

    fn settle(&mut self) {
        self.hasher.update(&self.gathered[..self.count]);
        self.count = 0;
    }

    /// Adds the tags in the order of their bytes: databases have others.
    fn tags(&mut self, tags: &[Arc<str>]) {
        let mut tags: Vec<&str> = tags.iter().map(|tag| &**tag).collect();
        tags.sort_unstable();
        self.number(tags.len() as u64);
        for tag in tags {
            self.bytes(tag.as_bytes());
        }
    }

    fn payload(&mut self, payload: Option<&Payload>) {
        self.number(u64::from(payload.is_some()));
        if let Some(payload) = payload {
            self.number(u64::from(payload.serializer_id));
            self.bytes(payload.manifest.as_bytes());
            self.bytes(&payload.bytes);
        }
    }

    fn finish(mut self) -> i64 {
        self.settle();
        WAY << 32 | i64::from(self.hasher.finalize())
    }
}

#[cfg(test)]
mod tests {
    use actix_persistence_storage_api::{Timestamp, WriterId};

    use super::*;

    fn event() -> EventRecord {
        let time = Timestamp::from_micros(1_700_000_000_000_000);
        let payload = Payload::new(1, "m:v1", vec![1, 2, 3]);
        let metadata = Payload::new(2, "n", vec![4]);
        EventRecord::new(7, time, WriterId::from_slice(&[5; 16]).unwrap(), payload)
            .with_adapter_manifest("a")
            .with_tags(["x", "y"])
            .with_metadata(metadata)
    }

    fn id(text: &str) -> PersistenceId {
        PersistenceId::of_unique(text)
    }

    /// Makes sure that stored sums are found right for ever.
    #[test]
    fn sums_are_frozen() {
        let payload = Payload::new(1, "m:v1", vec![1, 2, 3]);
        let metadata = SnapshotMetadata::new(id("a|b"), 7, Timestamp::from_micros(9));
        assert_eq!(of_event(&id("a|b"), &event()), 8_548_454_479);
        assert_eq!(of_snapshot(&metadata, &payload), 4_898_149_211);
        let live = of_state(&id("a|b"), 7, Some(&payload), &["x".into()]);
        assert_eq!(live, 4_571_704_008);
        assert_eq!(of_state(&id("a|b"), 7, None, &[]), 7_373_227_561);
    }

    #[test]
    fn every_part_counts_and_keeps_its_place() {
        type Change = fn(&mut EventRecord);
        let changes: [Change; 14] = [
            |event| event.sequence_nr = 8,
            |event| event.timestamp = Timestamp::from_micros(0),
            |event| event.writer = WriterId::NIL,
            |event| event.payload.serializer_id = 2,
            |event| event.payload.manifest = "m:v2".into(),
            |event| event.payload.bytes = vec![1, 2].into(),
            |event| event.adapter_manifest = "".into(),
            |event| event.tags = vec!["x".into()],
            |event| event.tags = vec!["xy".into(), "".into()],
            |event| event.metadata = None,
            |event| event.metadata.as_mut().unwrap().serializer_id = 0,
            |event| event.metadata.as_mut().unwrap().manifest = "n\x04".into(),
            |event| event.metadata.as_mut().unwrap().bytes = vec![].into(),
            |event| std::mem::swap(&mut event.payload, event.metadata.as_mut().unwrap()),
        ];
        let sum = of_event(&id("a|b"), &event());
        let mut sums = vec![sum, of_event(&id("a|c"), &event())];
        for change in changes {
            let mut other = event();
            change(&mut other);
            sums.push(of_event(&id("a|b"), &other));
        }
        let count = sums.len();
        sums.sort_unstable();
        sums.dedup();
        assert_eq!(sums.len(), count, "two of them are the same");
        let mut turned = event();
        turned.tags.reverse();
        assert_eq!(of_event(&id("a|b"), &turned), sum, "tags have no order");
    }

    #[test]
    fn gathered_bytes_have_the_sum_of_all_of_them() {
        for length in (0..3 * GATHERED).chain([10_000]) {
            let bytes: Vec<u8> = (0..length).map(|at| at as u8).collect();
            for parts in [1, 7, MANY - 1, MANY, GATHERED] {
                let mut sum = Sum::new(b'e', &id("a"), 1);
                let mut whole = Hasher::new();
                whole.update(b"e");
                whole.update(&1_u64.to_le_bytes());
                whole.update(b"a");
                whole.update(&1_u64.to_le_bytes());
                bytes.chunks(parts).for_each(|part| sum.add(part));
                whole.update(&bytes);
                let sum = sum.finish();
                assert_eq!(
                    sum,
                    WAY << 32 | i64::from(whole.finalize()),
                    "{length} {parts}"
                );
            }
        }
    }

    #[test]
    fn rows_without_a_sum_are_read() {
        assert!(check_event(&id("a"), &event(), None).is_ok());
        let sum = of_event(&id("a"), &event());
        assert!(check_event(&id("a"), &event(), Some(sum)).is_ok());
        let wrong = check_event(&id("a"), &event(), Some(sum ^ 1)).unwrap_err();
        assert!(
            format!("{wrong:?}").contains("sequence number 7"),
            "{wrong:?}"
        );
    }
}
