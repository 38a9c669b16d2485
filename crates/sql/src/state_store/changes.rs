//! Reading the changes of states.

use actix_persistence_storage_api::{
    ChangedState, LastChange, PersistenceId, StateChangesPage, StateChangesQuery, StateOffset,
    StatePosition,
};
use sqlx::SqlStr;

use super::load::{to_current, to_timestamp};
use super::room::Room;
use super::write::state_counter_is_missing;
use crate::ids::to_limit;
use crate::parts::{Part, power, read_numbers};
use crate::row::{get_integer, get_key, get_number};
use crate::values::Values;
use crate::{ConnectionOf, Dialect, RowOf, SqlError, SqlxDatabase, StateStatements};

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
    let parts = read_parts::<D>(connection, statements, query).await?;
    let values = values_of::<D>(statements, query, &parts, max_bytes).into_arguments();
    let rows = D::Database::fetch_all(connection, statement(statements, &parts), values).await?;
    let mut offset = query.after.clone();
    let mut changes = Vec::with_capacity(rows.len().min(query.limit));
    let mut found = vec![0; parts.len()];
    let mut room = Room::of(max_bytes);
    for row in &rows {
        let id = PersistenceId::of_unique(&get_key::<D>(row, 0)?);
        let partition = statements.partition_of(id.slice())?;
        let place = parts.iter().position(|part| part.partition == partition);
        found[place.ok_or_else(|| misplaced(&id))?] += 1;
        if changes.len() < query.limit {
            let position = StatePosition::new(get_integer::<D>(row, 1)?, id.clone());
            let mut after = offset.clone();
            after.advance(partition, position);
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
    // Rows come from all partitions in turns: one that returned two less than another has no more.
    let most = found.iter().max().copied().unwrap_or_default();
    for (part, found) in parts.iter().zip(found) {
        if !more || found + 1 < most {
            part.pass(&mut offset);
        }
    }
    Ok(StateChangesPage::new(changes, offset, more))
}

/// Reads the place of the last change of an id, by its key.
pub(super) async fn read_last_change<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    statements: &StateStatements,
    id: &PersistenceId,
) -> Result<Option<LastChange>, SqlError> {
    let mut values = Values::<D>::with_capacity(1);
    values.id(id);
    let sql = statements.revision.clone();
    let rows = D::Database::fetch_all(connection, sql, values.into_arguments()).await?;
    let Some(row) = rows.first() else {
        return Ok(None);
    };
    let position = StatePosition::new(get_integer::<D>(row, 1)?, id.clone());
    let mut offset = StateOffset::start();
    offset.advance(statements.partition_of(id.slice())?, position);
    let (revision, timestamp) = (get_number::<D>(row, 0)?, to_timestamp::<D>(row, 0)?);
    Ok(Some(LastChange::new(revision, timestamp, offset)))
}

/// Reads how far the partitions are complete that have slices of the query.
async fn read_parts<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    statements: &StateStatements,
    query: &StateChangesQuery,
) -> Result<Vec<Part>, SqlError> {
    let partitions = statements.partitioned().map(|it| &it.partitions);
    let mut values = Values::<D>::with_capacity(1);
    if statements.numbering.is_none() {
        values.key(&query.entity_type);
    }
    let complete_to = statements.complete_to.clone();
    let numbers = read_numbers::<D>(connection, complete_to, values).await?;
    let parts = Part::complete_to(partitions, &query.slices, &query.after, numbers)?;
    // A store that numbers rows has a counter from the start.
    if statements.numbering.is_some() && parts.iter().any(|part| part.complete_to.is_none()) {
        return Err(state_counter_is_missing());
    }
    Ok(parts)
}

/// Returns the error for a row that is not where its id says.
fn misplaced(id: &PersistenceId) -> SqlError {
    SqlError::corrupt(format!(
        "the state of {id:?} has the slice or the partition of another id; see what else writes to the table"
    ))
}

/// Returns the statement for as many partitions, or for a few more.
fn statement(statements: &StateStatements, parts: &[Part]) -> SqlStr {
    let partitioned = statements.partitioned();
    let of_several = partitioned.and_then(|it| it.changes.get(power(parts.len())));
    of_several.unwrap_or(&statements.changes).clone()
}

fn values_of<D: Dialect>(
    statements: &StateStatements,
    query: &StateChangesQuery,
    parts: &[Part],
    max_bytes: usize,
) -> Values<D> {
    let most = to_limit(query.limit.saturating_add(1));
    let is_numbered = statements.numbering.is_some();
    let places = 1 << power(parts.len());
    let mut values = Values::with_capacity(places * 8 + 2);
    for place in 0..places {
        let part = parts.get(place);
        let after = part.and_then(|part| query.after.position(part.partition));
        let id = after.and_then(|after| after.persistence_id.as_ref());
        let after = after.map_or(i64::MIN, |after| after.ordering);
        values.key(&query.entity_type);
        if statements.partitioned().is_some() {
            values.integer(part.map_or(0, |part| i64::from(part.partition.nr())));
        }
        // A range that holds nothing costs nothing.
        let (after, up_to) = match part.and_then(|part| part.complete_to) {
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
