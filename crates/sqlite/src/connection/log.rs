//! The write-ahead log beside a database file: recognised again, and kept short.

use std::io::ErrorKind;
use std::path::PathBuf;

use actix_persistence_sql::SqlError;
use actix_persistence_storage_api::StorageErrorKind;
use sqlx::{Row, SqliteConnection};

use super::file::FileId;
use super::frames::{FRAME_HEADER_BYTES, HEADER_BYTES};
use crate::options::Location;
use crate::queries;

/// The files beside a database as a look found them; none where there is no such file.
///
/// SQLite removes them when the last connection closes, so they stay the same as long as one is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Log {
    id: Option<FileId>,
    index: Option<FileId>,
}

impl Log {
    /// The log of a database that has none yet: opening it makes one.
    const NONE: Self = Self {
        id: None,
        index: None,
    };

    /// Looks at the log and at its index.
    pub(super) fn look(location: &Location) -> Result<Self, SqlError> {
        let (id, _) = look_at(location, "-wal")?;
        let (index, _) = look_at(location, "-shm")?;
        Ok(Self { id, index })
    }

    /// Returns the length in bytes of the log that lies there, if it is still this one.
    fn bytes(&self, location: &Location) -> Result<Option<u64>, SqlError> {
        let (id, bytes) = look_at(location, "-wal")?;
        Ok((id == self.id).then_some(bytes))
    }

    /// Returns whether a process that opens the database now takes the same locks, or none has opened it since.
    fn shares_locks(&self, now: &Self) -> bool {
        now.index == self.index || *now == Log::NONE
    }
}

/// Fails if the log of a connection that has just committed is not the one beside the database any more, and returns
/// the length of the log otherwise.
pub(super) async fn check_committed(
    connection: &mut SqliteConnection,
    location: &Location,
    opened: &Log,
) -> Result<u64, SqlError> {
    match opened.bytes(location)? {
        Some(bytes) => Ok(bytes),
        None => {
            save(connection, location, opened).await?;
            Err(replaced())
        }
    }
}

/// Returns whether a connection still has the log that is beside the database; if not, saves what is in its log.
pub(super) async fn is_current(
    connection: &mut SqliteConnection,
    location: &Location,
    opened: &Log,
) -> Result<bool, SqlError> {
    if *opened == Log::NONE || Log::look(location)? == *opened {
        return Ok(true);
    }
    save(connection, location, opened).await?;
    Ok(false)
}

/// Copies a log that was removed to the database, if no other process can be writing there.
///
/// A process that opens the database does not find what is in such a log. As long as a connection to it is open, SQLite
/// still can copy it to where others find it.
async fn save(
    connection: &mut SqliteConnection,
    location: &Location,
    opened: &Log,
) -> Result<(), SqlError> {
    // With another index there may be others who take the same locks elsewhere: both would write to the database. SQLite
    // copies the log when the last connection closes, if there is no other user.
    let is_saved = opened.shares_locks(&Log::look(location)?)
        && matches!(truncate(connection).await, Ok(copy) if copy.is_emptied);
    let database = location.path.display();
    if is_saved {
        tracing::error!(
            %database,
            "the write-ahead log was removed or replaced while the database was open; what was in it has been saved"
        );
    } else {
        tracing::error!(
            %database,
            "the write-ahead log was removed or replaced while the database was open; what was in it is lost, unless \
             SQLite can save it when the last connection closes"
        );
    }
    Ok(())
}

/// Fails if a connection that was just opened has another log than the connections that opened the database before it.
///
/// All connections of a process share one index of the log, even after the file of the index was removed; those of other
/// processes do not find it then. Every frame that the index counts must be in the log that this connection has.
pub(super) async fn check_opened(
    connection: &mut SqliteConnection,
    location: &Location,
) -> Result<(), SqlError> {
    let page_bytes: i64 = sqlx::query_scalar(queries::PAGE_SIZE)
        .fetch_one(&mut *connection)
        .await?;
    let page_bytes = u64::try_from(page_bytes).unwrap_or(0);
    // Somebody may shorten the log between the two looks.
    for _ in 0..3 {
        let frames = u64::from(frames(connection).await?);
        let (_, bytes) = look_at(location, "-wal")?;
        let (index, _) = look_at(location, "-shm")?;
        let told = HEADER_BYTES + frames * (FRAME_HEADER_BYTES + page_bytes);
        if index.is_some() && (frames == 0 || bytes >= told) {
            return Ok(());
        }
    }
    Err(replaced())
}

/// Returns the number of frames up to the end of the last transaction.
pub(super) async fn frames(connection: &mut SqliteConnection) -> Result<u32, SqlError> {
    let row = sqlx::query(queries::LOOK_AT_LOG)
        .fetch_one(connection)
        .await?;
    // It is negative before the log was ever looked at.
    Ok(u32::try_from(row.try_get::<i64, _>("log")?).unwrap_or(0))
}

/// The result of a copy of the log to the database file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Copy {
    pub(super) copied: Copied,
    /// True if the log is empty now.
    pub(super) is_emptied: bool,
}

/// The part of the log that the database file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Copied {
    /// The file has everything, and it is safe if it has to be.
    Everything,
    /// The file has what was written up to this number of frames, but for pages that were written again later: a reader
    /// needs its older state, or another process writes.
    UpTo(u32),
    /// Another connection is copying, perhaps that of another process.
    Unknown,
}

/// Copies what is in the log to the database file as far as readers allow it, without waiting for other connections.
/// Its frames may be overwritten then, by the next transaction that no reader hinders.
pub(super) async fn copy(connection: &mut SqliteConnection) -> Result<Copy, SqlError> {
    checkpoint(connection, queries::COPY_LOG).await
}

/// Copies the log to the database file and empties it, if others let go of it soon. Afterwards the connection waits too
/// little for locks to be used on.
pub(super) async fn truncate(connection: &mut SqliteConnection) -> Result<Copy, SqlError> {
    sqlx::query(queries::WAIT_LITTLE)
        .execute(&mut *connection)
        .await?;
    checkpoint(connection, queries::TRUNCATE_LOG).await
}

async fn checkpoint(
    connection: &mut SqliteConnection,
    query: &'static str,
) -> Result<Copy, SqlError> {
    let row = sqlx::query(query).fetch_one(&mut *connection).await?;
    let number = |column| row.try_get::<i64, _>(column);
    let is_busy = number("busy")? != 0;
    // Both numbers of frames are -1 where another connection is copying: https://www.sqlite.org/pragma.html#pragma_wal_checkpoint
    let (log, copied) = (number("log")?, number("checkpointed")?);
    let copied = match u32::try_from(copied) {
        Err(_) => Copied::Unknown,
        Ok(0) if log == 0 => Copied::Everything,
        // SQLite syncs the file only if nobody has written meanwhile.
        Ok(copied) if log == i64::from(copied) && frames(connection).await? == copied => {
            Copied::Everything
        }
        Ok(copied) => Copied::UpTo(copied),
    };
    Ok(Copy {
        copied,
        is_emptied: !is_busy && log == 0,
    })
}

fn replaced() -> SqlError {
    SqlError::refused(
        StorageErrorKind::Unavailable,
        "the write-ahead log was removed or replaced while the database was open; leave the files with '-wal' and \
         '-shm' after the name of the database alone",
    )
}

fn look_at(location: &Location, end: &str) -> Result<(Option<FileId>, u64), SqlError> {
    let mut path = location.path.clone().into_os_string();
    path.push(end);
    let path = PathBuf::from(path);
    match std::fs::metadata(&path) {
        Ok(metadata) => Ok((Some(FileId::from(&metadata)), metadata.len())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok((None, 0)),
        Err(error) => Err(SqlError::Refused {
            kind: StorageErrorKind::AccessDenied,
            message: format!("{} cannot be looked at", path.display()),
            source: Some(Box::new(error)),
        }),
    }
}
