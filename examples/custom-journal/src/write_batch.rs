//! Which writes of a call may be stored.

use std::collections::{HashMap, HashSet};

use actix_persistence_storage_api::{
    AtomicWrite, Operation, SequenceConflict, SequenceNr, StorageError, StorageErrorKind,
    WriteOutcome, WriterId, WriterPosition,
};

use crate::failure::Failure;
use crate::file_options::MAX_PAYLOAD_BYTES;
use crate::index::Index;
use crate::index::Stream;
use crate::record::Record;

// ANCHOR: decide
/// The outcome of each write, in order, and the records of those that are `Stored`: once they are.
pub(crate) fn decide(index: &Index, writes: Vec<AtomicWrite>) -> (Vec<WriteOutcome>, Vec<Record>) {
    let mut outcomes = Vec::with_capacity(writes.len());
    let mut records = Vec::with_capacity(writes.len());
    // Of the ids that this call writes; the index knows nothing of it yet.
    let mut highest = HashMap::new();
    let mut not_stored = HashSet::new();
    for write in writes {
        let id = write.persistence_id().clone();
        let outcome = if not_stored.contains(&id) {
            WriteOutcome::Skipped
        } else if let Some(error) = too_large(&write).or_else(|| write.refusal()) {
            WriteOutcome::Rejected(error)
        } else if let Some(conflict) = conflict(index.get(&id), highest.get(&id).copied(), &write) {
            WriteOutcome::Failed(StorageError::sequence_conflict(id.clone(), conflict))
        } else {
            WriteOutcome::Stored
        };
        if outcome.is_stored() {
            highest.insert(id.clone(), write.highest_sequence_nr());
            let events = write.into_events();
            records.push(Record::Written { id, events });
        } else {
            not_stored.insert(id);
        }
        outcomes.push(outcome);
    }
    (outcomes, records)
}

/// Why the write must not be stored, if so: its epoch is over, or it does not follow on the highest number.
fn conflict(
    stream: Option<&Stream>,
    written_before: Option<SequenceNr>,
    write: &AtomicWrite,
) -> Option<SequenceConflict> {
    let stored = WriterPosition {
        writer: stream
            .and_then(|stream| stream.writer)
            .unwrap_or(WriterId::NIL),
        epoch: stream.map_or(0, |stream| stream.epoch),
        sequence_nr: written_before.unwrap_or(stream.map_or(0, |stream| stream.highest)),
    };
    let refused = WriterPosition {
        writer: write.writer(),
        epoch: write.epoch(),
        sequence_nr: write.lowest_sequence_nr(),
    };
    // Epochs begin at 1, so that a write of an id that was never recovered has none that fits.
    let of_last_recovery = stored.epoch > 0 && refused.epoch == stored.epoch;
    let follows = refused.sequence_nr == stored.sequence_nr + 1;
    (!of_last_recovery || !follows).then_some(SequenceConflict { refused, stored })
}
// ANCHOR_END: decide

/// Why the write can never be stored, if so.
fn too_large(write: &AtomicWrite) -> Option<StorageError> {
    let limit = MAX_PAYLOAD_BYTES;
    let mut events = write.events().iter();
    events.find(|event| event.payload.len() > limit)?;
    let message = format!("an event has more than {limit} bytes, store less or in several events");
    let failure = Failure::new(StorageErrorKind::TooLarge, message);
    let error = failure.of(Operation::WriteMessages);
    Some(error.with_persistence_id(write.persistence_id().clone()))
}
