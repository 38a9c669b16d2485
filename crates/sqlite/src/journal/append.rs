//! Storing a group of atomic writes.

mod insert;

use std::collections::{HashMap, HashSet};

use actix_persistence_storage_api::{
    AtomicWrite, Epoch, Operation, PersistenceId, SequenceConflict, SequenceNr, StorageError,
    StorageErrorKind, WriteOutcome, WriterId, WriterPosition,
};
use sqlx::SqliteConnection;

use crate::error::Fault;
use crate::queries::{JournalQueries, chunk_sizes};
use crate::row::{Values, get, get_number, get_optional, get_writer, to_bound, to_integer};

/// Stores what may be stored, in the transaction of the caller.
pub(super) async fn append(
    connection: &mut SqliteConnection,
    queries: &JournalQueries,
    writes: Vec<AtomicWrite>,
    max_event_bytes: usize,
) -> Result<Vec<WriteOutcome>, Fault> {
    let losers = losers(connection, queries, &writes).await?;
    let outcomes = decide(&writes, &losers, max_event_bytes);
    let stored = writes.into_iter().zip(&outcomes);
    let stored = stored.filter_map(|(write, outcome)| outcome.is_stored().then_some(write));
    insert::insert(connection, queries, stored.collect()).await?;
    Ok(outcomes)
}

/// Where the ids stand whose first write of the group has another epoch or does not follow on.
///
/// One statement for many ids, which gives a row only for those that differ.
async fn losers(
    connection: &mut SqliteConnection,
    queries: &JournalQueries,
    writes: &[AtomicWrite],
) -> Result<HashMap<String, WriterPosition>, Fault> {
    let mut seen = HashSet::with_capacity(writes.len());
    let heads: Vec<_> = writes
        .iter()
        .filter(|write| seen.insert(write.persistence_id()))
        .collect();
    let mut losers = HashMap::new();
    let mut rest = heads.as_slice();
    for size in chunk_sizes(heads.len()) {
        let (chunk, after) = rest.split_at(size);
        rest = after;
        let mut values = Values::with_capacity(3 * size);
        for write in chunk {
            values.text(write.persistence_id().as_str());
            values.integer(to_bound(write.epoch()));
            values.integer(number_before(write));
        }
        let sql = queries.check_fence.of(size);
        let rows = sqlx::query_with(sql, values.into_arguments())
            .fetch_all(&mut *connection)
            .await?;
        for row in &rows {
            let known = get_optional::<i64>(row, 1)?.is_some();
            let position = WriterPosition {
                epoch: if known { get_number(row, 1)? } else { 0 },
                writer: if known {
                    get_writer(row, 2)?
                } else {
                    WriterId::NIL
                },
                sequence_nr: get_number(row, 3)?,
            };
            losers.insert(get(row, 0)?, position);
        }
    }
    Ok(losers)
}

/// The number that must be the highest now; one that never is for numbers SQLite has no place for.
fn number_before(write: &AtomicWrite) -> i64 {
    match to_integer(write.highest_sequence_nr()) {
        Some(_) => to_bound(write.lowest_sequence_nr() - 1),
        None => -1,
    }
}

/// How the writes of one id go on within a group.
enum Chain {
    /// The one before is to be stored; the next must follow on it.
    Stored {
        epoch: Epoch,
        writer: WriterId,
        highest: SequenceNr,
    },
    /// One before is not stored.
    Broken,
}

fn decide(
    writes: &[AtomicWrite],
    losers: &HashMap<String, WriterPosition>,
    max_event_bytes: usize,
) -> Vec<WriteOutcome> {
    let mut chains: HashMap<&PersistenceId, Chain> = HashMap::with_capacity(writes.len());
    let mut outcomes = Vec::with_capacity(writes.len());
    for write in writes {
        let id = write.persistence_id();
        let outcome = match chains.get(id) {
            Some(Chain::Broken) => WriteOutcome::Skipped,
            _ if is_too_large(write, max_event_bytes) => {
                WriteOutcome::Rejected(too_large(id, max_event_bytes))
            }
            Some(&Chain::Stored {
                epoch,
                writer,
                highest,
            }) if write.epoch() != epoch || write.lowest_sequence_nr() != highest + 1 => {
                let stored = WriterPosition {
                    writer,
                    epoch,
                    sequence_nr: highest,
                };
                WriteOutcome::Failed(conflict(write, stored))
            }
            Some(Chain::Stored { .. }) => WriteOutcome::Stored,
            None => match losers.get(id.as_str()) {
                Some(stored) => WriteOutcome::Failed(conflict(write, *stored)),
                None => WriteOutcome::Stored,
            },
        };
        let chain = if outcome.is_stored() {
            Chain::Stored {
                epoch: write.epoch(),
                writer: write.writer(),
                highest: write.highest_sequence_nr(),
            }
        } else {
            Chain::Broken
        };
        chains.insert(id, chain);
        outcomes.push(outcome);
    }
    outcomes
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

fn conflict(write: &AtomicWrite, stored: WriterPosition) -> StorageError {
    let refused = WriterPosition {
        writer: write.writer(),
        epoch: write.epoch(),
        sequence_nr: write.lowest_sequence_nr(),
    };
    let conflict = SequenceConflict { refused, stored };
    StorageError::sequence_conflict(write.persistence_id().clone(), conflict)
}

#[cfg(test)]
mod tests;
