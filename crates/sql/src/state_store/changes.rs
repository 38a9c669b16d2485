//! Reading changes.

use actix_persistence_storage_api::{
    ChangedState, PersistenceId, StateChangesPage, StateChangesQuery, StateOffset, StatePosition,
};

use super::ids::to_limit;
use super::load::{to_current, to_timestamp};
use super::room::Room;
use crate::row::{get_integer, get_key};
use crate::values::Values;
use crate::{ConnectionOf, Dialect, Fault, Portable, RowOf, StateStatements};

/// The sequence where the database orders rows by itself.
const ONLY_SEQUENCE: u16 = 0;

/// Reads a page of at most so many bytes of payloads, but at least one change, and one more that tells whether there is a
/// next page.
pub(super) async fn read_changes<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    statements: &StateStatements,
    query: &StateChangesQuery,
    max_bytes: usize,
) -> Result<StateChangesPage, Fault> {
    let values = values_of::<D>(statements, query, max_bytes).into_arguments();
    let rows = D::Database::fetch_all(connection, statements.changes.clone(), values).await?;
    let mut offset = query.after.clone();
    let mut changes = Vec::with_capacity(rows.len().min(query.limit));
    let mut room = Room::of(max_bytes);
    for row in rows.iter().take(query.limit) {
        let mut behind = offset.clone();
        let change = to_change::<D>(row, statements, &mut behind)?;
        if !room.takes(&change.current) {
            break;
        }
        offset = behind;
        changes.push(change);
    }
    let more = rows.len() > changes.len();
    Ok(StateChangesPage::new(changes, offset, more))
}

fn values_of<D: Dialect>(
    statements: &StateStatements,
    query: &StateChangesQuery,
    max_bytes: usize,
) -> Values<D> {
    let most = to_limit(query.limit.saturating_add(1));
    let partitions = statements
        .numbering
        .as_ref()
        .map(|numbering| numbering.partitions);
    let mut values = Values::with_capacity(usize::from(partitions.unwrap_or(1)) * 7 + 2);
    for sequence in 0..partitions.unwrap_or(1) {
        let after = query.after.position(sequence);
        values.key(&query.entity_type);
        let ordering = after.map_or(i64::MIN, |after| after.ordering);
        values.integer(ordering);
        if partitions.is_some() {
            values.integer(ordering);
        }
        values.key(after.map_or("", |after| after.persistence_id.as_str()));
        values.integer(i64::from(*query.slices.start()));
        values.integer(i64::from(*query.slices.end()));
        values.integer(most);
    }
    if partitions.is_some() {
        values.integer(most);
    }
    values.integer(to_limit(max_bytes));
    values
}

/// The change in a row; moves the offset behind it.
fn to_change<D: Dialect>(
    row: &RowOf<D>,
    statements: &StateStatements,
    offset: &mut StateOffset,
) -> Result<ChangedState, Fault> {
    let id = PersistenceId::of_unique(&get_key::<D>(row, 0)?);
    let numbering = statements.numbering.as_ref();
    let sequence = numbering.map_or(ONLY_SEQUENCE, |numbering| id.slice() % numbering.partitions);
    offset.advance(
        sequence,
        StatePosition::new(get_integer::<D>(row, 1)?, id.clone()),
    );
    let current = to_current::<D>(row, 2);
    let current = current.map_err(|fault| fault.about(format_args!("the state of {id:?}")))?;
    let timestamp = to_timestamp::<D>(row, 2)?;
    Ok(ChangedState::new(id, current, timestamp, offset.clone()))
}
