//! The writes of a call that may be stored.

use std::collections::{HashMap, HashSet};

use actix_persistence_storage_api::{
    AtomicWrite, Fence, Operation, SequenceConflict, StorageError, StorageErrorKind, WriteOutcome,
    WriterPosition,
};

use crate::failure::Failure;
use crate::file_options::MAX_PAYLOAD_BYTES;
use crate::index::Index;
use crate::record::Record;

// ANCHOR: decide
/// The outcome of each write, in order, and the records of those that are `Stored`: once they are.
pub(crate) fn decide(index: &Index, writes: Vec<AtomicWrite>) -> (Vec<WriteOutcome>, Vec<Record>) {
    let mut outcomes = Vec::with_capacity(writes.len());
    let mut records = Vec::with_capacity(writes.len());
    // The numbers of ids after what this call writes; the index knows nothing of it yet.
    let mut positions = HashMap::new();
    let mut not_stored = HashSet::new();
    for write in writes {
        let id = write.persistence_id().clone();
        let position = positions
            .entry(id.clone())
            .or_insert_with(|| index.position(&id));
        let outcome = if not_stored.contains(&id) {
            WriteOutcome::Skipped
        } else if let Some(error) = too_large(&write).or_else(|| write.refusal()) {
            WriteOutcome::Rejected(error)
        } else if let Some(conflict) = conflict(*position, &write) {
            WriteOutcome::Failed(StorageError::from_sequence_conflict(id.clone(), conflict))
        } else {
            WriteOutcome::Stored
        };
        if outcome.is_stored() {
            position.sequence_nr = write.highest_sequence_nr();
            let mut taken_over = None;
            if let Fence::TakesOver { .. } = write.fence() {
                position.epoch = write.fence().afterwards();
                position.writer = write.writer();
                taken_over = Some(position.epoch);
            }
            records.push(Record::Written {
                id,
                taken_over,
                events: write.into_events(),
            });
        } else {
            not_stored.insert(id);
        }
        outcomes.push(outcome);
    }
    (outcomes, records)
}

/// Returns the conflict if the write must not be stored: the id has another epoch, or the write does not follow the
/// highest number.
fn conflict(stored: WriterPosition, write: &AtomicWrite) -> Option<SequenceConflict> {
    let refused = WriterPosition {
        writer: write.writer(),
        epoch: write.fence().expected(),
        sequence_nr: write.lowest_sequence_nr(),
    };
    let follows = refused.sequence_nr == stored.sequence_nr + 1;
    let allowed = write.fence().allows(stored.epoch);
    (!allowed || !follows).then_some(SequenceConflict { refused, stored })
}
// ANCHOR_END: decide

/// Returns the error if the write can never be stored.
fn too_large(write: &AtomicWrite) -> Option<StorageError> {
    let limit = MAX_PAYLOAD_BYTES;
    let mut events = write.events().iter();
    events.find(|event| event.payload.len() > limit)?;
    let message = format!("an event has more than {limit} bytes, store less or in several events");
    let failure = Failure::new(StorageErrorKind::TooLarge, message);
    let error = failure.of(Operation::WriteMessages);
    Some(error.with_persistence_id(write.persistence_id().clone()))
}
