//! Values on their way out of a row.

use actix_persistence_storage_api::{Epoch, Payload, SequenceNr, StorageErrorKind, WriterId};
use bytes::Bytes;
use std::sync::Arc;

use crate::{Dialect, RowOf, SqlError, SqlxDatabase};

/// Reads a number; NULL is corrupt.
pub fn get_integer<D: Dialect>(row: &RowOf<D>, column: usize) -> Result<i64, SqlError> {
    get_optional_integer::<D>(row, column)?.ok_or_else(missing)
}

/// Reads a number or NULL.
pub fn get_optional_integer<D: Dialect>(
    row: &RowOf<D>,
    column: usize,
) -> Result<Option<i64>, SqlError> {
    Ok(D::Database::integer(row, column)?)
}

/// Reads a number that is never negative.
pub fn get_number<D: Dialect>(row: &RowOf<D>, column: usize) -> Result<SequenceNr, SqlError> {
    let number = get_integer::<D>(row, column)?;
    u64::try_from(number).map_err(|_| SqlError::corrupt(format!("a number is stored as {number}")))
}

/// The epochs below this one are of ids whose events record changes.
const OF_CHANGES_BELOW: i64 = i64::MIN / 4;

/// Reads the epoch of an id that was taken over; those of ids whose events record changes are not for actors that store
/// events.
pub fn get_epoch<D: Dialect>(row: &RowOf<D>, column: usize) -> Result<Epoch, SqlError> {
    match get_epoch_or_changes::<D>(row, column)? {
        Some(0) => Err(no_epoch(0)),
        Some(epoch) => Ok(epoch),
        None => {
            let message = "its events record the changes of a durable state; give the event-sourced actor another id";
            Err(SqlError::refused(StorageErrorKind::Unsupported, message))
        }
    }
}

/// Reads the epoch of an id, 0 if it was never taken over; `None` if its events record changes.
pub(crate) fn get_epoch_or_changes<D: Dialect>(
    row: &RowOf<D>,
    column: usize,
) -> Result<Option<Epoch>, SqlError> {
    match get_integer::<D>(row, column)? {
        ..OF_CHANGES_BELOW => Ok(None),
        epoch @ (OF_CHANGES_BELOW..0 | i64::MAX) => Err(no_epoch(epoch)),
        epoch => Ok(Some(epoch.unsigned_abs())),
    }
}

fn no_epoch(epoch: i64) -> SqlError {
    SqlError::corrupt(format!(
        "its epoch is {epoch}, which no writer ever had; see what else writes to the tables, and set 'epoch' in the row of the \
         id to 1 while no process has an actor of it"
    ))
}

/// Reads a text; NULL is corrupt.
pub fn get_text<D: Dialect>(row: &RowOf<D>, column: usize) -> Result<String, SqlError> {
    D::Database::text(row, column)?.ok_or_else(missing)
}

/// Reads bytes; NULL is corrupt.
pub fn get_bytes<D: Dialect>(row: &RowOf<D>, column: usize) -> Result<Bytes, SqlError> {
    let bytes = D::Database::bytes(row, column)?.ok_or_else(missing)?;
    Ok(Bytes::from(bytes))
}

/// Reads a text; takes the one of the row before if it is the same, as most rows of an id share theirs.
pub(crate) fn get_shared_text<D: Dialect>(
    row: &RowOf<D>,
    column: usize,
    before: Option<&Arc<str>>,
) -> Result<Arc<str>, SqlError> {
    let text = D::Database::text_of(row, column)?.ok_or_else(missing)?;
    Ok(match before {
        Some(before) if **before == *text => Arc::clone(before),
        _ => Arc::from(text),
    })
}

/// Reads a text that is compared byte by byte: a persistence id or a tag.
pub fn get_key<D: Dialect>(row: &RowOf<D>, column: usize) -> Result<String, SqlError> {
    key_of::<D>(row, column).map(str::to_owned)
}

/// Reads such a text, which stays in the row.
pub(crate) fn key_of<D: Dialect>(row: &RowOf<D>, column: usize) -> Result<&str, SqlError> {
    if !D::KEYS_ARE_BYTES {
        return D::Database::text_of(row, column)?.ok_or_else(missing);
    }
    let bytes = D::Database::bytes_of(row, column)?.ok_or_else(missing)?;
    std::str::from_utf8(bytes)
        .map_err(|_| SqlError::corrupt("a persistence id or tag is not UTF-8"))
}

/// Reads a writer's id.
pub fn get_writer<D: Dialect>(row: &RowOf<D>, column: usize) -> Result<WriterId, SqlError> {
    let bytes = D::Database::bytes_of(row, column)?.ok_or_else(missing)?;
    WriterId::from_slice(bytes).ok_or_else(|| {
        let length = bytes.len();
        SqlError::corrupt(format!("a writer id has {length} bytes instead of 16"))
    })
}

/// Reads serializer, manifest and bytes.
pub fn get_payload<D: Dialect>(row: &RowOf<D>, columns: [usize; 3]) -> Result<Payload, SqlError> {
    let serializer_id = to_serializer_id(get_integer::<D>(row, columns[0])?)?;
    let manifest = get_text::<D>(row, columns[1])?;
    Ok(Payload::new(
        serializer_id,
        manifest,
        get_bytes::<D>(row, columns[2])?,
    ))
}

/// Returns the number of a serializer.
pub fn to_serializer_id(stored: i64) -> Result<u32, SqlError> {
    u32::try_from(stored).map_err(|_| SqlError::corrupt(format!("there is no serializer {stored}")))
}

fn missing() -> SqlError {
    SqlError::corrupt("a value is missing")
}
