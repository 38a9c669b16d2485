//! Deleting events: raising what is deleted, then removing rows in chunks.

use actix_persistence_storage_api::{PersistenceId, SequenceNr};
use sqlx::{SqlStr, SqliteConnection};

use super::recover::highest;
use crate::error::Fault;
use crate::queries::JournalQueries;
use crate::row::{Values, get, get_number, to_bound};

/// Hides the events up to `to` and removes the first `chunk` rows, in the transaction of the caller.
///
/// Gives whether rows are left to be removed.
pub(super) async fn delete_to(
    connection: &mut SqliteConnection,
    queries: &JournalQueries,
    id: &PersistenceId,
    to: SequenceNr,
    chunk: u64,
) -> Result<bool, Fault> {
    let highest = highest(connection, queries, id).await?;
    if highest == 0 {
        return Ok(false);
    }
    let mut values = Values::with_capacity(3);
    values.text(id.as_str());
    values.integer(to_bound(highest));
    values.integer(to_bound(to.min(highest)));
    let row = sqlx::query_with(queries.raise_deleted_to.clone(), values.into_arguments())
        .fetch_one(&mut *connection)
        .await?;
    let unpurged = Unpurged {
        id: id.as_str().to_owned(),
        deleted_to: get_number(&row, 0)?,
        purged_to: get_number(&row, 1)?,
    };
    purge(connection, queries, unpurged, chunk).await
}

/// Removes up to `chunk` deleted rows of some id, in the transaction of the caller.
///
/// Gives whether there may be more.
pub(super) async fn purge_next(
    connection: &mut SqliteConnection,
    queries: &JournalQueries,
    chunk: u64,
) -> Result<bool, Fault> {
    let row = sqlx::query(queries.next_unpurged.clone())
        .fetch_optional(&mut *connection)
        .await?;
    let Some(row) = row else { return Ok(false) };
    let unpurged = Unpurged {
        id: get(&row, 0)?,
        deleted_to: get_number(&row, 1)?,
        purged_to: get_number(&row, 2)?,
    };
    purge(connection, queries, unpurged, chunk).await?;
    Ok(true)
}

/// An id with rows that are deleted but still there: those above `purged_to`, up to `deleted_to`.
struct Unpurged {
    id: String,
    deleted_to: SequenceNr,
    purged_to: SequenceNr,
}

/// Numbers have no gaps, so a range of numbers is a number of rows.
async fn purge(
    connection: &mut SqliteConnection,
    queries: &JournalQueries,
    unpurged: Unpurged,
    chunk: u64,
) -> Result<bool, Fault> {
    let Unpurged {
        id,
        deleted_to,
        purged_to,
    } = unpurged;
    if purged_to >= deleted_to {
        return Ok(false);
    }
    let to = deleted_to.min(purged_to.saturating_add(chunk));
    for sql in [
        &queries.purge_tags,
        &queries.purge_events,
        &queries.set_purged_to,
    ] {
        up_to(connection, sql, &id, to).await?;
    }
    Ok(to < deleted_to)
}

async fn up_to(
    connection: &mut SqliteConnection,
    sql: &SqlStr,
    id: &str,
    to: SequenceNr,
) -> Result<(), Fault> {
    let mut values = Values::with_capacity(2);
    values.text(id);
    values.integer(to_bound(to));
    sqlx::query_with(sql.clone(), values.into_arguments())
        .execute(connection)
        .await?;
    Ok(())
}
