//! Reading the transactions that hold readers back.

use std::time::Duration;

use actix_persistence_storage_api::BoundHolder;
use sqlx::SqlStr;

use crate::row::{get_optional_integer, get_text};
use crate::values::Values;
use crate::{ConnectionOf, Dialect, RowOf, SqlError, SqlxDatabase};

/// Reads the transactions that hold readers back, the oldest first.
pub(super) async fn read_holders<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    sql: SqlStr,
) -> Result<Vec<BoundHolder>, SqlError> {
    let no_values = Values::<D>::with_capacity(0).into_arguments();
    let rows = D::Database::fetch_all(connection, sql, no_values).await?;
    rows.iter().map(holder_of::<D>).collect()
}

fn holder_of<D: Dialect>(row: &RowOf<D>) -> Result<BoundHolder, SqlError> {
    let age = get_optional_integer::<D>(row, 3)?;
    Ok(BoundHolder::new(get_text::<D>(row, 0)?)
        .of_application(D::Database::text(row, 1)?)
        .in_state(D::Database::text(row, 2)?)
        .aged(age.map(|micros| Duration::from_micros(u64::try_from(micros).unwrap_or(0)))))
}
