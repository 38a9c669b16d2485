//! The streams of all ids, in memory.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use actix_persistence_storage_api::{Epoch, PersistenceId, SequenceNr, WriterId, WriterPosition};

use crate::record::Record;

/// The streams of all ids.
///
/// It is changed by records only, and by the same ones when they are written and when the log is read again: so what
/// a restart finds is what was there before.
#[derive(Debug, Default)]
pub(crate) struct Index(HashMap<PersistenceId, Stream>);

/// The numbers and places of one id; the default is an id never seen.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Stream {
    /// The highest number ever stored: deletes do not lower it.
    pub(crate) highest: SequenceNr,
    /// The highest deleted number.
    pub(crate) deleted_to: SequenceNr,
    /// The epoch of the writer that took the id over last; 0 if it was never taken over.
    pub(crate) epoch: Epoch,
    /// The writer that took it over last.
    pub(crate) writer: Option<WriterId>,
    /// Ascending, without those that are deleted as a whole.
    writes: Vec<StoredWrite>,
}

/// An atomic write in the log.
#[derive(Debug, PartialEq, Eq)]
struct StoredWrite {
    first: SequenceNr,
    last: SequenceNr,
    position: u64,
}

impl Index {
    /// Returns the writer that holds the id, and its highest number; no writer for an id never seen.
    pub(crate) fn position(&self, id: &PersistenceId) -> WriterPosition {
        let never_seen = || Stream::default().position();
        self.get(id).map_or_else(never_seen, Stream::position)
    }

    /// `None` for an id never seen.
    pub(crate) fn get(&self, id: &PersistenceId) -> Option<&Stream> {
        self.0.get(id)
    }

    // ANCHOR: apply
    /// Records in the index a record that stands at `position` of the log.
    pub(crate) fn apply(&mut self, record: &Record, position: u64) {
        let id = match record {
            Record::TakenOver { id, .. }
            | Record::Written { id, .. }
            | Record::Deleted { id, .. }
            | Record::Purge { id, .. } => id,
        };
        let stream = self.0.entry(id.clone()).or_default();
        match record {
            Record::TakenOver { epoch, writer, .. } => {
                stream.epoch = *epoch;
                stream.writer = Some(*writer);
            }
            Record::Written {
                taken_over, events, ..
            } => {
                if let Some(epoch) = taken_over {
                    stream.epoch = *epoch;
                    stream.writer = Some(events[0].writer);
                }
                let first = stream.highest + 1;
                stream.highest += events.len() as u64;
                stream.writes.push(StoredWrite {
                    first,
                    last: stream.highest,
                    position,
                });
            }
            Record::Deleted { to, .. } => {
                stream.deleted_to = *to;
                let gone = stream.writes.partition_point(|write| write.last <= *to);
                stream.writes.drain(..gone);
            }
            Record::Purge { epoch, .. } => {
                *stream = Stream {
                    epoch: *epoch,
                    ..Stream::default()
                };
            }
        }
    }
    // ANCHOR_END: apply
}

impl Stream {
    /// Returns the writer that holds the id, and its highest number.
    pub(crate) fn position(&self) -> WriterPosition {
        WriterPosition {
            writer: self.writer.unwrap_or(WriterId::NIL),
            epoch: self.epoch,
            sequence_nr: self.highest,
        }
    }

    /// The positions of the writes that hold these numbers, in order.
    pub(crate) fn positions(
        &self,
        numbers: RangeInclusive<SequenceNr>,
    ) -> impl Iterator<Item = u64> {
        let (start, end) = numbers.into_inner();
        let begin = self.writes.partition_point(|write| write.last < start);
        self.writes[begin..]
            .iter()
            .take_while(move |write| write.first <= end)
            .map(|write| write.position)
    }
}

#[cfg(test)]
mod tests {
    use actix_persistence_storage_api::{EventRecord, Payload, Timestamp};

    use super::*;

    fn id() -> PersistenceId {
        PersistenceId::of("T", "1")
    }

    fn written(numbers: RangeInclusive<SequenceNr>) -> Record {
        let event =
            |nr| EventRecord::new(nr, Timestamp::UNSET, WriterId::NIL, Payload::new(0, "", ""));
        Record::Written {
            id: id(),
            taken_over: None,
            events: numbers.map(event).collect(),
        }
    }

    /// Writes of 1, 2 and 3 events at positions 10, 20 and 30.
    fn index() -> Index {
        let mut index = Index::default();
        index.apply(&written(1..=1), 10);
        index.apply(&written(2..=3), 20);
        index.apply(&written(4..=6), 30);
        index
    }

    fn positions(index: &Index, start: SequenceNr, end: SequenceNr) -> Vec<u64> {
        index.get(&id()).unwrap().positions(start..=end).collect()
    }

    #[test]
    fn finds_the_writes_that_hold_a_range() {
        let index = index();
        assert_eq!(positions(&index, 1, SequenceNr::MAX), [10, 20, 30]);
        assert_eq!(positions(&index, 3, 3), [20]);
        assert_eq!(positions(&index, 3, 4), [20, 30]);
        assert_eq!(positions(&index, 5, 5), [30]);
        assert_eq!(positions(&index, 7, 9), [0; 0]);
        assert_eq!(positions(&index, 5, 3), [0; 0]);
    }

    #[test]
    fn a_delete_keeps_the_highest_number_and_what_is_deleted_in_part() {
        let mut index = index();
        index.apply(&Record::Deleted { id: id(), to: 4 }, 40);
        let stream = index.get(&id()).unwrap();
        assert_eq!((stream.highest, stream.deleted_to), (6, 4));
        assert_eq!(positions(&index, 1, SequenceNr::MAX), [30]);
        index.apply(&Record::Deleted { id: id(), to: 6 }, 50);
        index.apply(&written(7..=7), 60);
        assert_eq!(index.get(&id()).unwrap().highest, 7);
        assert_eq!(positions(&index, 1, SequenceNr::MAX), [60]);
    }
}
