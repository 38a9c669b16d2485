//! Statements of the application that may return all columns of a table, where the driver takes a statement to return those that
//! the table had when the connection prepared it.

use actix_persistence_storage_api::{Sql, SqlRow, SqlValue};
use sqlx::SqlSafeStr;

use super::{prepare, values_of};
use crate::{ConnectionOf, Dialect, SqlError, SqlxDatabase};

/// Runs a statement as [`execute`](super::execute) does; the driver reads the rows that it may return.
pub(super) async fn execute<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    sql: &Sql,
    values: Vec<SqlValue>,
) -> Result<u64, SqlError> {
    if !look::<D>(connection, sql).await? {
        return super::execute::<D>(connection, sql, values).await;
    }
    let (sql, arguments) = prepare::<D>(sql, values)?;
    let result = D::Database::execute_once(connection, sql, arguments).await?;
    Ok(D::rows_affected(&result))
}

/// Runs a statement as [`select`](super::select) does.
pub(super) async fn select<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    sql: &Sql,
    values: Vec<SqlValue>,
) -> Result<Vec<SqlRow>, SqlError> {
    if !look::<D>(connection, sql).await? {
        return super::select::<D>(connection, sql, values).await;
    }
    let (sql, arguments) = prepare::<D>(sql, values)?;
    let rows = D::Database::fetch_once(connection, sql, arguments).await?;
    values_of::<D>(&rows)
}

/// Lets the connection see how tables are now if a statement may return other columns than before, and returns whether it is to
/// be prepared anew.
///
/// Only a text that does not name its columns returns others after a table was altered, and there is a `*` in it.
async fn look<D: Dialect>(connection: &mut ConnectionOf<D>, sql: &Sql) -> Result<bool, SqlError> {
    let Some(look) = D::LOOK_AT_TABLES.filter(|_| sql.as_str().contains('*')) else {
        return Ok(false);
    };
    D::Database::run(connection, look.into_sql_str()).await?;
    Ok(true)
}
