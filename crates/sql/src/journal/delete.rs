//! Deleting events: raising what is deleted, then removing rows in chunks.

use actix_persistence_storage_api::{
    Epoch, EventDeletion, PersistenceId, ResetProgress, SequenceNr, StorageErrorKind,
};
use sqlx::SqlStr;

use crate::row::{get_integer, get_key, get_number};
use crate::values::{Values, to_bound};
use crate::{ConnectionOf, Dialect, Fault, JournalStatements, Portable, RowOf};

/// Fails unless the id still has the epoch of whoever deletes; it keeps it until the transaction of the caller ends.
async fn check_epoch<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    statements: &JournalStatements,
    id: &PersistenceId,
    epoch: Epoch,
) -> Result<(), Fault> {
    let mut values = Values::<D>::with_capacity(1);
    values.id(id);
    let sql = statements.lock_epoch.clone();
    let rows = D::Database::fetch_all(connection, sql, values.into_arguments()).await?;
    let stored = rows.first().map_or(Ok(0), |row| get_integer::<D>(row, 0))?;
    if u64::try_from(stored).is_ok_and(|stored| stored == epoch) {
        return Ok(());
    }
    let message = format!("epoch {epoch} of who deletes is over, the id has epoch {stored}");
    Err(Fault::refused(StorageErrorKind::SequenceConflict, message))
}

/// Hides events and removes the first `chunk` rows, in the transaction of the caller.
///
/// Gives whether rows are left to be removed.
pub(super) async fn delete_to<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    statements: &JournalStatements,
    id: &PersistenceId,
    deletion: EventDeletion,
    chunk: u64,
) -> Result<bool, Fault> {
    let raise = &statements.raise_deleted_to;
    number_of_id::<D>(connection, raise, deletion.to, id.as_str()).await?;
    if let Some(epoch) = deletion.epoch {
        // Not before: a row that is not there yet cannot be locked, and whoever makes it would take the id over in between.
        check_epoch::<D>(connection, statements, id, epoch).await?;
    }
    let mut values = Values::<D>::with_capacity(1);
    values.id(id);
    purge_found::<D>(connection, statements, &statements.unpurged, values, chunk)
        .await
        .map(|purged| purged == Purged::Some)
}

/// Removes up to `chunk` deleted rows of some id, in the transaction of the caller.
///
/// Gives whether there may be more.
pub(super) async fn purge_next<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    statements: &JournalStatements,
    chunk: u64,
) -> Result<bool, Fault> {
    let values = Values::<D>::with_capacity(0);
    let next = &statements.next_unpurged;
    purge_found::<D>(connection, statements, next, values, chunk)
        .await
        .map(|purged| purged != Purged::Nothing)
}

/// Hides every event, removes the first `chunk` rows and, if none is left, lets the numbers start again; in the
/// transaction of the caller.
pub(super) async fn reset<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    statements: &JournalStatements,
    id: &PersistenceId,
    chunk: u64,
) -> Result<ResetProgress, Fault> {
    let everything = EventDeletion::up_to(SequenceNr::MAX);
    if delete_to::<D>(connection, statements, id, everything, chunk).await? {
        return Ok(ResetProgress::Unfinished);
    }
    let of_id = || {
        let mut values = Values::<D>::with_capacity(1);
        values.id(id);
        values.into_arguments()
    };
    let sql = statements.reset_numbers.clone();
    D::Database::execute(connection, sql, of_id()).await?;
    let rows = D::Database::fetch_all(connection, statements.unpurged.clone(), of_id()).await?;
    match rows.first().map(unpurged::<D>).transpose()? {
        // More was stored than what was seen here to be deleted.
        Some((_, 1.., _)) => Ok(ResetProgress::Unfinished),
        Some(_) | None => Ok(ResetProgress::Done),
    }
}

/// What there was to remove.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purged {
    Nothing,
    /// Everything of an id.
    All,
    /// A chunk, and some is left.
    Some,
}

/// Removes rows of the id that a statement finds: those above its `purged_to`, up to `deleted_to`.
///
/// Numbers have no gaps, so a range of numbers is a number of rows.
async fn purge_found<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    statements: &JournalStatements,
    find: &SqlStr,
    values: Values<D>,
    chunk: u64,
) -> Result<Purged, Fault> {
    let rows = D::Database::fetch_all(connection, find.clone(), values.into_arguments()).await?;
    let Some(row) = rows.first() else {
        return Ok(Purged::Nothing);
    };
    let (id, deleted_to, purged_to) = unpurged::<D>(row)?;
    if purged_to >= deleted_to {
        return Ok(Purged::Nothing);
    }
    let to = deleted_to.min(purged_to.saturating_add(chunk));
    for sql in [&statements.purge_tags, &statements.purge_events] {
        id_and_number::<D>(connection, sql, &id, to).await?;
    }
    number_of_id::<D>(connection, &statements.set_purged_to, to, &id).await?;
    Ok(if to < deleted_to {
        Purged::Some
    } else {
        Purged::All
    })
}

fn unpurged<D: Dialect>(row: &RowOf<D>) -> Result<(String, SequenceNr, SequenceNr), Fault> {
    Ok((
        get_key::<D>(row, 0)?,
        get_number::<D>(row, 1)?,
        get_number::<D>(row, 2)?,
    ))
}

async fn number_of_id<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    sql: &SqlStr,
    number: SequenceNr,
    id: &str,
) -> Result<(), Fault> {
    let mut values = Values::<D>::with_capacity(2);
    values.integer(to_bound(number));
    values.key(id);
    D::Database::execute(connection, sql.clone(), values.into_arguments()).await?;
    Ok(())
}

async fn id_and_number<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    sql: &SqlStr,
    id: &str,
    number: SequenceNr,
) -> Result<(), Fault> {
    let mut values = Values::<D>::with_capacity(2);
    values.key(id);
    values.integer(to_bound(number));
    D::Database::execute(connection, sql.clone(), values.into_arguments()).await?;
    Ok(())
}
