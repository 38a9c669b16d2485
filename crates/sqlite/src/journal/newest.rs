//! Checks that the newest events are still there.

use actix_persistence_sql::{SqlError, get_number};
use sqlx::SqliteConnection;

use crate::Sqlite;
use crate::queries::JournalQueries;

/// Fails if the newest row of the journal is gone although no delete removed it: its number would be given again.
pub(crate) async fn check_newest(
    connection: &mut SqliteConnection,
    queries: &JournalQueries,
) -> Result<(), SqlError> {
    let row = sqlx::query(queries.newest.clone())
        .fetch_optional(connection)
        .await?;
    let Some(row) = row else {
        return Ok(());
    };
    let newest = get_number::<Sqlite>(&row, 0)?;
    let found = get_number::<Sqlite>(&row, 1)?;
    if newest == found {
        return Ok(());
    }
    Err(SqlError::corrupt(format!(
        "the newest events are missing: they were stored up to ordering {newest}, are there up to {found}, and no delete \
         removed the others; restore a backup, or, if they may be lost, run '{}{newest}'",
        queries.go_on.as_str()
    )))
}
