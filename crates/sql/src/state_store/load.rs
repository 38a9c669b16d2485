//! Reading a state.

use actix_persistence_storage_api::{CurrentState, StateRecord, Timestamp};
use sqlx::SqlStr;

use crate::row::{get_integer, get_number, get_payload, get_text};
use crate::values::Values;
use crate::{ConnectionOf, Dialect, Fault, Portable, RowOf};

/// Reads what a statement finds: one row, or none for an id never seen.
pub(super) async fn load<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    sql: SqlStr,
    values: Values<D>,
) -> Result<CurrentState, Fault> {
    let rows = D::Database::fetch_all(connection, sql, values.into_arguments()).await?;
    rows.first()
        .map_or(Ok(CurrentState::NEVER_SEEN), |row| to_current::<D>(row, 0))
}

/// The state in a row, whose columns begin with this one.
pub(super) fn to_current<D: Dialect>(row: &RowOf<D>, first: usize) -> Result<CurrentState, Fault> {
    let revision = get_number::<D>(row, first)?;
    if get_integer::<D>(row, first + 1)? != 0 {
        return Ok(CurrentState::tombstone(revision));
    }
    let state = to_record::<D>(row, first);
    let state = state.map_err(|fault| fault.about(format_args!("revision {revision}")))?;
    Ok(CurrentState::live(revision, state))
}

/// When the state or the tombstone in a row was stored.
pub(super) fn to_timestamp<D: Dialect>(row: &RowOf<D>, first: usize) -> Result<Timestamp, Fault> {
    get_integer::<D>(row, first + 2).map(Timestamp::from_micros)
}

fn to_record<D: Dialect>(row: &RowOf<D>, first: usize) -> Result<StateRecord, Fault> {
    let timestamp = to_timestamp::<D>(row, first)?;
    let tags: Vec<String> = serde_json::from_str(&get_text::<D>(row, first + 3)?)
        .map_err(|_| Fault::corrupt("the tags are no array of texts"))?;
    let payload = get_payload::<D>(row, [first + 4, first + 5, first + 6])?;
    Ok(StateRecord::new(payload, timestamp).with_tags(tags))
}
