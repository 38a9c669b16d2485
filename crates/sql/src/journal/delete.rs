//! Deleting events: raising what is deleted, then removing rows in chunks.

use actix_persistence_storage_api::{
    Epoch, EventDeletion, PersistenceId, PurgeProgress, SequenceNr, StorageErrorKind,
};
use sqlx::SqlStr;

use crate::row::{get_integer, get_key, get_number};
use crate::values::{Values, to_bound};
use crate::{ConnectionOf, Dialect, JournalStatements, RowOf, SqlError, SqlxDatabase};

/// Locks the row of an id until the transaction of the caller ends, and returns its epoch; 0 without a row.
async fn lock_epoch<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    statements: &JournalStatements,
    id: &PersistenceId,
) -> Result<i64, SqlError> {
    let mut values = Values::<D>::with_capacity(1);
    values.id(id);
    let sql = statements.lock_epoch.clone();
    let rows = D::Database::fetch_all(connection, sql, values.into_arguments()).await?;
    rows.first().map_or(Ok(0), |row| get_integer::<D>(row, 0))
}

/// Fails unless the id still has the epoch of the deleting writer; it keeps it until the transaction of the caller
/// ends.
async fn check_epoch<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    statements: &JournalStatements,
    id: &PersistenceId,
    epoch: Epoch,
) -> Result<(), SqlError> {
    let stored = lock_epoch::<D>(connection, statements, id).await?;
    if u64::try_from(stored).is_ok_and(|stored| stored == epoch) {
        return Ok(());
    }
    let message = format!("the delete names epoch {epoch}, but the id has epoch {stored}");
    Err(SqlError::refused(
        StorageErrorKind::SequenceConflict,
        message,
    ))
}

/// Hides events, in the transaction of the caller; their rows are removed later.
pub(super) async fn delete_to<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    statements: &JournalStatements,
    id: &PersistenceId,
    deletion: EventDeletion,
) -> Result<(), SqlError> {
    // A statement that waits for a purge of another process has read the numbers of before: it would bring them back,
    // without their events. The next statement reads those of after.
    lock_epoch::<D>(connection, statements, id).await?;
    let raise = &statements.raise_deleted_to;
    number_of_id::<D>(connection, raise, deletion.to, id.as_str()).await?;
    if let Some(epoch) = deletion.epoch {
        // Not before: a row that is not there yet cannot be locked, and a writer that makes it would take the id over
        // in between.
        check_epoch::<D>(connection, statements, id, epoch).await?;
    }
    Ok(())
}

/// Removes a chunk of the deleted rows of some id, in the transaction of the caller.
///
/// Returns whether there may be more.
pub(super) async fn sweep_next<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    statements: &JournalStatements,
    chunk: Chunk,
) -> Result<bool, SqlError> {
    let values = Values::<D>::with_capacity(0);
    let next = &statements.next_unswept;
    sweep_found::<D>(connection, statements, next, values, chunk)
        .await
        .map(|swept| swept != Swept::Nothing)
}

/// Hides every event, removes a first chunk of rows and, if none is left, lets the numbers start again; in the
/// transaction of the caller.
pub(super) async fn purge<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    statements: &JournalStatements,
    id: &PersistenceId,
    chunk: Chunk,
) -> Result<PurgeProgress, SqlError> {
    let everything = EventDeletion::up_to(SequenceNr::MAX);
    delete_to::<D>(connection, statements, id, everything).await?;
    let of_id = || {
        let mut values = Values::<D>::with_capacity(1);
        values.id(id);
        values
    };
    let unswept = &statements.unswept;
    if sweep_found::<D>(connection, statements, unswept, of_id(), chunk).await? == Swept::Some {
        return Ok(PurgeProgress::Unfinished);
    }
    let sql = statements.restart_numbers.clone();
    D::Database::execute(connection, sql, of_id().into_arguments()).await?;
    let rows =
        D::Database::fetch_all(connection, unswept.clone(), of_id().into_arguments()).await?;
    match rows.first().map(unswept_of::<D>).transpose()? {
        // More was stored than what was seen here to be deleted.
        Some((_, 1.., _)) => Ok(PurgeProgress::Unfinished),
        Some(_) | None => Ok(PurgeProgress::Done),
    }
}

/// The most that one transaction removes; a larger row is removed alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chunk {
    pub(super) rows: u64,
    /// The bytes of payloads, with those of metadata.
    pub(super) bytes: u64,
}

impl Chunk {
    /// Returns a smaller chunk for a database that could not remove this one in time; `None` if it is one row already.
    pub(super) fn halved(self) -> Option<Self> {
        let half = Self {
            rows: (self.rows / 2).max(1),
            bytes: self.bytes / 2,
        };
        (self.rows > 1 && self.bytes > 0).then_some(half)
    }
}

/// The number of rows whose sizes are read at a time.
const LOOK: u64 = 1_000;

/// The result of one step of removal.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Swept {
    Nothing,
    /// The step has removed all deleted rows of an id.
    All,
    /// The step has removed a chunk, and some is left.
    Some,
}

/// Removes rows of the id that a statement finds: those above its `swept_to`, up to `deleted_to`.
///
/// Every statement names where the rows begin: a database may have to step over each row that was removed before, for
/// as long as an old transaction of another session might still see it.
async fn sweep_found<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    statements: &JournalStatements,
    find: &SqlStr,
    values: Values<D>,
    chunk: Chunk,
) -> Result<Swept, SqlError> {
    let rows = D::Database::fetch_all(connection, find.clone(), values.into_arguments()).await?;
    let Some(row) = rows.first() else {
        return Ok(Swept::Nothing);
    };
    let (id, deleted_to, swept_to) = unswept_of::<D>(row)?;
    if swept_to >= deleted_to {
        return Ok(Swept::Nothing);
    }
    let to = end_of_chunk::<D>(connection, statements, &id, swept_to, deleted_to, chunk).await?;
    number_of_id::<D>(connection, &statements.set_swept_to, to, &id).await?;
    for sql in [&statements.sweep_tags, &statements.sweep_events] {
        let values = id_and_range::<D>(&id, swept_to, to);
        D::Database::execute(connection, sql.clone(), values.into_arguments()).await?;
    }
    Ok(if to < deleted_to {
        Swept::Some
    } else {
        Swept::All
    })
}

fn unswept_of<D: Dialect>(row: &RowOf<D>) -> Result<(String, SequenceNr, SequenceNr), SqlError> {
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
) -> Result<(), SqlError> {
    let mut values = Values::<D>::with_capacity(2);
    values.integer(to_bound(number));
    values.key(id);
    D::Database::execute(connection, sql.clone(), values.into_arguments()).await?;
    Ok(())
}

/// Returns the last number of a chunk that begins after `after` and ends at `last` at the latest.
///
/// Numbers have no gaps, so a range of numbers is a number of rows.
async fn end_of_chunk<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    statements: &JournalStatements,
    id: &str,
    after: SequenceNr,
    last: SequenceNr,
    chunk: Chunk,
) -> Result<SequenceNr, SqlError> {
    let last = last.min(after.saturating_add(chunk.rows));
    let (mut looked_to, mut bytes) = (after, 0_u64);
    while looked_to < last {
        let to = last.min(looked_to.saturating_add(LOOK));
        let values = id_and_range::<D>(id, looked_to, to);
        let sql = statements.sizes.clone();
        let rows = D::Database::fetch_all(connection, sql, values.into_arguments()).await?;
        for row in &rows {
            let number = get_number::<D>(row, 0)?;
            bytes = bytes.saturating_add(get_number::<D>(row, 1)?);
            if bytes > chunk.bytes {
                // A row that is larger than a chunk is removed alone.
                return Ok((number - 1).max(after + 1));
            }
        }
        looked_to = to;
    }
    Ok(last)
}

/// Returns the values of a statement about the rows of an id after one number, up to another.
fn id_and_range<D: Dialect>(id: &str, after: SequenceNr, to: SequenceNr) -> Values<D> {
    let mut values = Values::<D>::with_capacity(3);
    values.key(id);
    values.integer(to_bound(after));
    values.integer(to_bound(to));
    values
}
