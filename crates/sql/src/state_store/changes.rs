//! Reading the changes of states.

use actix_persistence_storage_api::{
    ChangedState, PersistenceId, StateChangesPage, StateChangesQuery, StateOffset, StatePosition,
};

use super::ids::to_limit;
use super::load::{to_current, to_timestamp};
use super::room::Room;
use super::write::no_counter;
use crate::row::{get_integer, get_key};
use crate::values::Values;
use crate::{ConnectionOf, Dialect, RowOf, SqlError, SqlxDatabase, StateStatements};

/// The sequence where the database orders rows by itself.
const ONLY_SEQUENCE: u16 = 0;

/// Reads a page of at most this many bytes of payloads, but at least one change, and one more that shows whether there
/// is a next page.
///
/// Asks first how far changes are complete, in a statement that is over when the changes are read: whatever it saw, and
/// what was committed before that, the second one sees, too.
pub(super) async fn read_changes<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    statements: &StateStatements,
    query: &StateChangesQuery,
    max_bytes: usize,
) -> Result<StateChangesPage, SqlError> {
    let sequences = Sequence::read::<D>(connection, statements, query).await?;
    let values = values_of::<D>(statements, query, &sequences, max_bytes).into_arguments();
    let rows = D::Database::fetch_all(connection, statements.changes.clone(), values).await?;
    let mut offset = query.after.clone();
    let mut changes = Vec::with_capacity(rows.len().min(query.limit));
    let mut found = vec![0; sequences.len()];
    let mut room = Room::of(max_bytes);
    for row in &rows {
        let id = PersistenceId::of_unique(&get_key::<D>(row, 0)?);
        let sequence = sequence_of(statements, &id);
        found[usize::from(sequence)] += 1;
        if changes.len() < query.limit {
            let position = StatePosition::new(get_integer::<D>(row, 1)?, id.clone());
            let mut after = offset.clone();
            after.advance(sequence, position);
            let change = to_change::<D>(row, id, &after)?;
            // The last row is the only one that may not fit.
            if !room.takes(change.current.state.as_ref()) {
                break;
            }
            offset = after;
            changes.push(change);
        }
    }
    let more = rows.len() > changes.len();
    // Rows come from all sequences in turns: one that returned two less than another has no more.
    let most = found.iter().max().copied().unwrap_or_default();
    for (sequence, found) in sequences.iter().zip(found) {
        if !more || found + 1 < most {
            sequence.move_on(&mut offset);
        }
    }
    Ok(StateChangesPage::new(changes, offset, more))
}

/// The changes of one sequence that a page may return.
struct Sequence {
    number: u16,
    /// True if the sequence numbers some slice that is asked for.
    is_asked_for: bool,
    /// The number up to which all changes are there, so that none is added below it; `None` if there never was one.
    complete_to: Option<i64>,
}

impl Sequence {
    /// Reads all sequences of a store, in the order of their numbers.
    async fn read<D: Dialect>(
        connection: &mut ConnectionOf<D>,
        statements: &StateStatements,
        query: &StateChangesQuery,
    ) -> Result<Vec<Self>, SqlError> {
        let numbering = statements.numbering.as_ref();
        let partitions = numbering.map_or(1, |numbering| numbering.partitions);
        let mut sequences: Vec<_> = (0..partitions)
            .map(|number| Self {
                number,
                is_asked_for: any_slice_of(query, number, partitions),
                complete_to: None,
            })
            .collect();
        let mut values = Values::<D>::with_capacity(1);
        if numbering.is_none() {
            values.key(&query.entity_type);
        }
        let (sql, values) = (statements.complete_to.clone(), values.into_arguments());
        for row in &D::Database::fetch_all(connection, sql, values).await? {
            let number = usize::try_from(get_integer::<D>(row, 0)?).ok();
            if let Some(sequence) = number.and_then(|number| sequences.get_mut(number)) {
                sequence.complete_to = Some(get_integer::<D>(row, 1)?);
            }
        }
        // A store that numbers rows has a counter from the start.
        if numbering.is_some() && sequences.iter().any(|one| one.complete_to.is_none()) {
            return Err(no_counter());
        }
        Ok(sequences)
    }

    /// Moves an offset after all that is complete, if it is not there yet.
    fn move_on(&self, offset: &mut StateOffset) {
        let Some(complete_to) = self.complete_to.filter(|_| self.is_asked_for) else {
            return;
        };
        let end = StatePosition::after_all_of(complete_to);
        if offset.position(self.number).is_none_or(|at| *at < end) {
            offset.advance(self.number, end);
        }
    }
}

/// Returns whether a query asks for a slice of the partition: that whose number is the rest of the slice.
fn any_slice_of(query: &StateChangesQuery, partition: u16, partitions: u16) -> bool {
    let first_ones = query.slices.clone().take(usize::from(partitions));
    first_ones
        .into_iter()
        .any(|slice| slice % partitions == partition)
}

fn values_of<D: Dialect>(
    statements: &StateStatements,
    query: &StateChangesQuery,
    sequences: &[Sequence],
    max_bytes: usize,
) -> Values<D> {
    let most = to_limit(query.limit.saturating_add(1));
    let is_numbered = statements.numbering.is_some();
    let mut values = Values::with_capacity(sequences.len() * 8 + 2);
    for sequence in sequences {
        let after = query.after.position(sequence.number);
        let id = after.and_then(|after| after.persistence_id.as_ref());
        let after = after.map_or(i64::MIN, |after| after.ordering);
        values.key(&query.entity_type);
        // A range that holds nothing costs nothing.
        let (after, up_to) = match sequence.complete_to.filter(|_| sequence.is_asked_for) {
            Some(complete_to) => (after, complete_to),
            None => (i64::MAX, i64::MIN),
        };
        values.integer(after);
        values.integer(up_to);
        if is_numbered {
            values.integer(after);
        }
        // Before every id.
        values.key(id.map_or("", PersistenceId::as_str));
        values.integer(i64::from(*query.slices.start()));
        values.integer(i64::from(*query.slices.end()));
        values.integer(most);
    }
    if is_numbered {
        values.integer(most);
    }
    values.integer(to_limit(max_bytes));
    values
}

fn sequence_of(statements: &StateStatements, id: &PersistenceId) -> u16 {
    let numbering = statements.numbering.as_ref();
    numbering.map_or(ONLY_SEQUENCE, |numbering| id.slice() % numbering.partitions)
}

/// Returns the change in a row, which an offset is after.
fn to_change<D: Dialect>(
    row: &RowOf<D>,
    id: PersistenceId,
    offset: &StateOffset,
) -> Result<ChangedState, SqlError> {
    let current = to_current::<D>(row, 2, &id);
    let current = current.map_err(|error| error.about(format_args!("the state of {id:?}")))?;
    let timestamp = to_timestamp::<D>(row, 2)?;
    Ok(ChangedState::new(id, current, timestamp, offset.clone()))
}
