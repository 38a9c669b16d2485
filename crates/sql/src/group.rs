//! The outcome of each write of a call, decided from the writes alone, and the rows that the database is asked to
//! store.

use std::collections::{HashMap, HashSet};

use actix_persistence_storage_api::{
    AtomicWrite, Epoch, EventRecord, Fence, Operation, PersistenceId, SequenceConflict, SequenceNr,
    StorageError, StorageErrorKind, WriteOutcome, WriterId, WriterPosition,
};

use crate::checksum;
use crate::values::{to_bound, to_integer};

/// The part of a call that is to be stored, for all ids together.
#[derive(Clone, Debug, Default)]
pub struct Group {
    /// The heads of the group, one for each id, in the order of ids, so that every writer takes its locks in the same
    /// order.
    pub heads: Vec<Head>,
    /// The events of all ids; those of one id in order.
    pub events: Vec<EventRow>,
    /// True if the numbers of the events in the order of commits are asked for.
    pub asks_numbers: bool,
}

/// The outcome of a group.
#[derive(Clone, Debug, Default)]
pub struct Appended {
    /// The ids that lost: nothing of them is stored.
    pub losers: Vec<PersistenceId>,
    /// The number in the order of commits of each event of the group, in their order. May be empty if an id lost, or if the
    /// group did not ask.
    pub numbers: Vec<i64>,
}

/// A group of which these ids lost.
impl From<Vec<PersistenceId>> for Appended {
    fn from(losers: Vec<PersistenceId>) -> Self {
        Self {
            losers,
            numbers: Vec::new(),
        }
    }
}

/// The condition on the head of an id under which its events are stored, and the head afterwards.
#[derive(Clone, Debug)]
pub struct Head {
    /// The persistence id of the stream.
    pub id: PersistenceId,
    /// The epoch of the id; 0 if it was never taken over.
    pub epoch: i64,
    /// The epoch of the id after the write.
    pub epoch_afterwards: i64,
    /// The writer that takes it over, the last one if several do; `None` if its writer holds it, at an epoch above 0,
    /// which stays.
    pub taken_over_by: Option<WriterId>,
    /// The highest number that is stored.
    pub before: i64,
    /// The highest number afterwards.
    pub last: i64,
}

/// An event with what it shares with its neighbours.
#[derive(Clone, Debug)]
pub struct EventRow {
    /// The persistence id of the event.
    pub id: PersistenceId,
    /// The slice of the persistence id.
    pub slice: u16,
    /// The event, with each of its tags once.
    pub event: EventRecord,
    /// The sum over all of that.
    pub checksum: i64,
}

impl Group {
    /// Returns whether it has few events and few bytes, so that a copy of it costs less than the wait that is saved if its
    /// work begins the transaction.
    pub fn is_small(&self) -> bool {
        const FEW_EVENTS: usize = 32;
        const FEW_BYTES: usize = 64 * 1024;
        self.events.len() <= FEW_EVENTS && self.bytes() <= FEW_BYTES
    }

    /// Returns the number of bytes of its events.
    pub fn bytes(&self) -> usize {
        self.events.iter().map(|row| row.event.size()).sum()
    }

    /// Returns whether one of the ids is taken over.
    pub fn takes_over(&self) -> bool {
        self.heads.iter().any(|head| head.taken_over_by.is_some())
    }
}

impl EventRow {
    /// Puts an event of an id in a row.
    pub(crate) fn new(id: PersistenceId, slice: u16, mut event: EventRecord) -> Self {
        event.tags.sort_unstable();
        event.tags.dedup();
        Self {
            slice,
            checksum: checksum::of_event(&id, &event),
            id,
            event,
        }
    }

    /// Returns the number of the event; an event whose number has no place in a database is never in a group.
    pub fn sequence_nr(&self) -> i64 {
        to_bound(self.event.sequence_nr)
    }
}

/// The outcomes of a call, for as far as they are certain before the database was asked.
#[derive(Debug)]
pub(crate) struct Plan {
    writes: Vec<Planned>,
    /// Ids that no database could store as they are numbered.
    lost: Vec<PersistenceId>,
}

#[derive(Debug)]
struct Planned {
    id: PersistenceId,
    refused: WriterPosition,
    outcome: WriteOutcome,
}

/// The state of the writes of one id within a call.
enum Chain {
    /// The one before is to be stored; the next must follow on it.
    Stored {
        /// The epoch after it.
        epoch: Epoch,
        writer: WriterId,
        highest: SequenceNr,
        /// The index of its head; `None` if it has already lost.
        head: Option<usize>,
    },
    /// An earlier write of the id is not stored.
    Broken,
}

/// Decides what can be decided; `refusal` returns what the database has no place for.
pub(crate) fn plan(
    writes: Vec<AtomicWrite>,
    max_event_bytes: usize,
    refusal: impl Fn(&EventRecord) -> Option<String>,
) -> (Plan, Group) {
    let mut chains: HashMap<PersistenceId, Chain> = HashMap::with_capacity(writes.len());
    let mut group = Group::default();
    let mut plan = Plan {
        writes: Vec::with_capacity(writes.len()),
        lost: Vec::new(),
    };
    for write in writes {
        let id = write.persistence_id().clone();
        let refused = WriterPosition {
            writer: write.writer(),
            epoch: write.fence().expected(),
            sequence_nr: write.lowest_sequence_nr(),
        };
        let (outcome, chain) = match chains.get(&id) {
            Some(Chain::Broken) => (WriteOutcome::Skipped, Chain::Broken),
            _ if is_too_large(&write, max_event_bytes) => {
                let error = too_large(&id, max_event_bytes);
                (WriteOutcome::Rejected(error), Chain::Broken)
            }
            _ if let Some(message) = write.events().iter().find_map(&refusal) => {
                let error = unsupported(&id, message);
                (WriteOutcome::Rejected(error), Chain::Broken)
            }
            Some(&Chain::Stored {
                epoch,
                writer,
                highest,
                ..
            }) if !write.fence().allows(epoch)
                || to_integer(write.fence().afterwards()).is_none()
                || write.lowest_sequence_nr() != highest + 1
                || to_integer(write.highest_sequence_nr()).is_none() =>
            {
                let stored = WriterPosition {
                    writer,
                    epoch,
                    sequence_nr: highest,
                };
                let conflict = conflict(&id, refused, stored);
                (WriteOutcome::Failed(conflict), Chain::Broken)
            }
            Some(&Chain::Stored { head, .. }) => (WriteOutcome::Stored, stored(&write, head)),
            None => {
                let head = head_of(&write).map(|head| {
                    group.heads.push(head);
                    group.heads.len() - 1
                });
                if head.is_none() {
                    plan.lost.push(id.clone());
                }
                (WriteOutcome::Stored, stored(&write, head))
            }
        };
        if let Chain::Stored {
            head: Some(head),
            highest,
            ..
        } = chain
        {
            let fence = write.fence();
            let head = &mut group.heads[head];
            head.last = to_bound(highest);
            head.epoch_afterwards = to_bound(fence.afterwards());
            if let Fence::TakesOver { .. } = fence {
                head.taken_over_by = Some(write.writer());
            }
            add_events(&mut group.events, write);
        }
        chains.insert(id.clone(), chain);
        plan.writes.push(Planned {
            id,
            refused,
            outcome,
        });
    }
    group
        .heads
        .sort_unstable_by(|one, other| one.id.cmp(&other.id));
    (plan, group)
}

impl Plan {
    /// Takes the ids that lost before the database was asked.
    pub(crate) fn take_lost(&mut self) -> Vec<PersistenceId> {
        std::mem::take(&mut self.lost)
    }

    /// Returns the outcomes, when it is known which ids lost and where those stand.
    pub(crate) fn outcomes(
        self,
        losers: &HashMap<PersistenceId, WriterPosition>,
    ) -> Vec<WriteOutcome> {
        let mut refused: HashSet<&PersistenceId> = HashSet::new();
        let mut outcomes = Vec::with_capacity(self.writes.len());
        for planned in &self.writes {
            let outcome = match losers.get(&planned.id) {
                None => planned.outcome.clone(),
                Some(_) if !refused.insert(&planned.id) => WriteOutcome::Skipped,
                Some(stored) => {
                    WriteOutcome::Failed(conflict(&planned.id, planned.refused, *stored))
                }
            };
            outcomes.push(outcome);
        }
        outcomes
    }
}

fn stored(write: &AtomicWrite, head: Option<usize>) -> Chain {
    Chain::Stored {
        epoch: write.fence().afterwards(),
        writer: write.writer(),
        highest: write.highest_sequence_nr(),
        head,
    }
}

/// `None` for values that cannot be stored: an epoch that is never held, a number that has no place in a database.
fn head_of(write: &AtomicWrite) -> Option<Head> {
    let last = to_integer(write.highest_sequence_nr())?;
    let fence = write.fence();
    let taken_over_by = match fence {
        Fence::Holds(0) => return None,
        Fence::Holds(_) => None,
        Fence::TakesOver { .. } => Some(write.writer()),
    };
    Some(Head {
        id: write.persistence_id().clone(),
        epoch: to_integer(fence.expected())?,
        // It must have a place in the database, too.
        epoch_afterwards: to_integer(fence.afterwards())?,
        taken_over_by,
        before: to_bound(write.lowest_sequence_nr()) - 1,
        last,
    })
}

fn add_events(events: &mut Vec<EventRow>, write: AtomicWrite) {
    let id = write.persistence_id().clone();
    let slice = id.slice();
    let events_of_id = write.into_events().into_iter();
    events.extend(events_of_id.map(|event| EventRow::new(id.clone(), slice, event)));
}

fn is_too_large(write: &AtomicWrite, max_event_bytes: usize) -> bool {
    write.events().iter().any(|event| {
        let metadata = event.metadata.as_ref();
        event.payload.len() > max_event_bytes
            || metadata.is_some_and(|metadata| metadata.len() > max_event_bytes)
    })
}

fn too_large(id: &PersistenceId, max_event_bytes: usize) -> StorageError {
    StorageError::new(StorageErrorKind::TooLarge, Operation::WriteMessages)
        .not_stored()
        .with_persistence_id(id.clone())
        .with_message(format!(
            "an event has more than {max_event_bytes} bytes; make it smaller or raise 'max-event-bytes'"
        ))
}

fn unsupported(id: &PersistenceId, message: String) -> StorageError {
    StorageError::new(StorageErrorKind::Unsupported, Operation::WriteMessages)
        .not_stored()
        .with_persistence_id(id.clone())
        .with_message(message)
}

fn conflict(id: &PersistenceId, refused: WriterPosition, stored: WriterPosition) -> StorageError {
    let conflict = SequenceConflict { refused, stored };
    StorageError::from_sequence_conflict(id.clone(), conflict)
}

#[cfg(test)]
mod tests;
