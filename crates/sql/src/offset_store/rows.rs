//! Rows and values of the tables of projections.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use actix_persistence_storage_api::{
    FromSqlValue, Lease, Progress, RowError, ShareClaim, ShareConflict, ShareRecord, SqlRow,
    SqlValue, StorageErrorKind, Timestamp,
};

use crate::SqlError;

pub(super) fn to_share(row: &SqlRow) -> Result<ShareRecord, SqlError> {
    let mut share = ShareRecord::new(to_progress(row)?);
    share.epoch = number(row, "epoch")?;
    share.attempts = number(row, "attempts")?;
    share.halted = column::<Option<String>>(row, "halted")?.map(Arc::from);
    share.handled = number(row, "handled")?;
    let reached: Option<i64> = column(row, "reached_at")?;
    share.reached_time = reached.map(Timestamp::from_micros);
    let has_owner = row.columns().any(|column| column == "owner")
        && column::<Option<String>>(row, "owner")?.is_some();
    share.lease = has_owner.then(|| to_lease(row)).transpose()?;
    Ok(share)
}

pub(super) fn to_lease(row: &SqlRow) -> Result<Lease, SqlError> {
    let left: i64 = column(row, "time_left")?;
    let left = Duration::from_millis(u64::try_from(left).unwrap_or(0));
    Ok(Lease::new(column::<String>(row, "owner")?, left))
}

pub(super) fn to_progress(row: &SqlRow) -> Result<Progress, SqlError> {
    let text: String = column(row, "progress")?;
    text.parse().map_err(|error| corrupt(&error))
}

pub(super) fn number<N: TryFrom<i64>>(row: &SqlRow, name: &str) -> Result<N, SqlError> {
    let value: i64 = column(row, name)?;
    N::try_from(value).map_err(|_| corrupt(&format_args!("the column '{name}' is {value}")))
}

pub(super) fn column<T: FromSqlValue>(row: &SqlRow, name: &str) -> Result<T, SqlError> {
    row.get(name).map_err(|error: RowError| corrupt(&error))
}

pub(super) fn corrupt(error: &dyn fmt::Display) -> SqlError {
    SqlError::corrupt(format!("a row of a projection cannot be read: {error}"))
}

/// Returns the refusal of a claim.
pub(super) fn refused(conflict: ShareConflict) -> SqlError {
    refused_until(conflict, "take the share again before going on with it")
}

/// Returns the refusal of a claim, with what to do about it.
pub(super) fn refused_until(conflict: ShareConflict, message: &str) -> SqlError {
    SqlError::Refused {
        kind: StorageErrorKind::ShareConflict,
        message: message.to_owned(),
        source: Some(conflict.into()),
    }
}

pub(super) fn share_of(claim: &ShareClaim) -> SqlValue {
    i32::from(claim.share).into()
}

pub(super) fn integer(number: u64) -> SqlValue {
    i64::try_from(number).unwrap_or(i64::MAX).into()
}

/// Returns a time as milliseconds; a longer one than can be added to the clock counts as a year.
pub(super) fn millis(duration: Duration) -> SqlValue {
    const YEAR: i64 = 365 * 24 * 60 * 60 * 1000;
    let millis = i64::try_from(duration.as_millis()).unwrap_or(YEAR);
    millis.min(YEAR).into()
}

pub(super) fn limit_of(limit: usize) -> SqlValue {
    i64::try_from(limit).unwrap_or(i64::MAX).into()
}

pub(super) fn no_such_number(shares: u16) -> SqlError {
    let message = format!("there cannot be {shares} shares; use 1 to 1024");
    SqlError::refused(StorageErrorKind::Unsupported, message)
}
