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
        .map_or(Ok(CurrentState::NEVER_SEEN), to_current::<D>)
}

fn to_current<D: Dialect>(row: &RowOf<D>) -> Result<CurrentState, Fault> {
    let revision = get_number::<D>(row, 0)?;
    if get_integer::<D>(row, 1)? != 0 {
        return Ok(CurrentState::tombstone(revision));
    }
    let state = to_record::<D>(row);
    let state = state.map_err(|fault| fault.about(format_args!("revision {revision}")))?;
    Ok(CurrentState::live(revision, state))
}

fn to_record<D: Dialect>(row: &RowOf<D>) -> Result<StateRecord, Fault> {
    let timestamp = Timestamp::from_micros(get_integer::<D>(row, 2)?);
    let tags: Vec<String> = serde_json::from_str(&get_text::<D>(row, 3)?)
        .map_err(|_| Fault::corrupt("the tags are no array of texts"))?;
    let payload = get_payload::<D>(row, [4, 5, 6])?;
    Ok(StateRecord::new(payload, timestamp).with_tags(tags))
}
