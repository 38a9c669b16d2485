//! Reading the state of an id.

use actix_persistence_storage_api::{CurrentState, PersistenceId, StateRecord, Timestamp};
use sqlx::SqlStr;

use crate::checksum;
use crate::page::check_size;
use crate::row::{get_integer, get_number, get_optional_integer, get_payload, get_text};
use crate::values::Values;
use crate::{ConnectionOf, Dialect, RowOf, SqlError, SqlxDatabase};

/// Reads what a statement finds: one row, or none for an id never seen.
pub(super) async fn load<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    sql: SqlStr,
    id: &PersistenceId,
) -> Result<CurrentState, SqlError> {
    let mut values = Values::<D>::with_capacity(1);
    values.id(id);
    let rows = D::Database::fetch_all(connection, sql, values.into_arguments()).await?;
    let Some(row) = rows.first() else {
        return Ok(CurrentState::NEVER_SEEN);
    };
    let revision = get_number::<D>(row, 0)?;
    check_size::<D>(row, 8).map_err(|error| error.about(format_args!("revision {revision}")))?;
    to_current::<D>(row, 0, id)
}

/// Returns the state of an id in a row, whose columns begin with this one.
///
/// # Errors
/// Corrupt if it cannot be read, or is not what was stored.
pub(super) fn to_current<D: Dialect>(
    row: &RowOf<D>,
    first: usize,
    id: &PersistenceId,
) -> Result<CurrentState, SqlError> {
    let revision = get_number::<D>(row, first)?;
    to_checked::<D>(row, first, id, revision)
        .map_err(|error| error.about(format_args!("revision {revision}")))
}

fn to_checked<D: Dialect>(
    row: &RowOf<D>,
    first: usize,
    id: &PersistenceId,
    revision: u64,
) -> Result<CurrentState, SqlError> {
    let checksum = get_optional_integer::<D>(row, first + 7)?;
    if get_integer::<D>(row, first + 1)? != 0 {
        checksum::check(checksum, || checksum::of_state(id, revision, None, &[]))?;
        return Ok(CurrentState::tombstone(revision));
    }
    let state = to_record::<D>(row, first)?;
    checksum::check(checksum, || {
        checksum::of_state(id, revision, Some(&state.payload), &state.tags)
    })?;
    Ok(CurrentState::live(revision, state))
}

/// Returns the time at which the state or the tombstone in a row was stored.
pub(super) fn to_timestamp<D: Dialect>(
    row: &RowOf<D>,
    first: usize,
) -> Result<Timestamp, SqlError> {
    get_integer::<D>(row, first + 2).map(Timestamp::from_micros)
}

fn to_record<D: Dialect>(row: &RowOf<D>, first: usize) -> Result<StateRecord, SqlError> {
    let timestamp = to_timestamp::<D>(row, first)?;
    let tags: Vec<String> = serde_json::from_str(&get_text::<D>(row, first + 3)?)
        .map_err(|_| SqlError::corrupt("the tags are no array of texts"))?;
    let payload = get_payload::<D>(row, [first + 4, first + 5, first + 6])?;
    Ok(StateRecord::new(payload, timestamp).with_tags(tags))
}
