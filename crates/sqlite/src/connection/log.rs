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
    pub(super) fn bytes(&self, location: &Location) -> Result<Option<u64>, SqlError> {
        let (id, bytes) = look_at(location, "-wal")?;
        Ok((id == self.id).then_some(bytes))
    }

    /// Returns whether this is the log beside the database.
    pub(super) fn is_current(&self, location: &Location) -> Result<bool, SqlError> {
        Ok(*self == Self::NONE || Self::look(location)? == *self)
    }

    /// Returns whether a process that opens the database now takes the same locks, or none has opened it since.
    pub(super) fn shares_locks(&self, location: &Location) -> Result<bool, SqlError> {
        let now = Self::look(location)?;
        Ok(now.index == self.index || now == Self::NONE)
    }
}

/// Says in the log of the application what became of a write-ahead log that was removed.
pub(super) fn tell_of_removed(location: &Location, is_saved: bool) {
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
pub(super) struct Copied {
    /// True if the file has everything, and it is safe if it has to be. Otherwise a reader needs an older state of it, or
    /// another process writes, or is copying.
    pub(super) is_whole: bool,
    /// True if the log is empty now.
    pub(super) is_emptied: bool,
}

/// Copies what is in the log to the database file as far as readers allow it, without waiting for other connections.
/// Its frames may be overwritten then, by the next transaction that no reader hinders.
pub(super) async fn copy(connection: &mut SqliteConnection) -> Result<Copied, SqlError> {
    checkpoint(connection, queries::COPY_LOG).await
}

/// Copies the log to the database file and empties it, if others let go of it soon. Afterwards the connection waits too
/// little for locks to be used on.
pub(super) async fn truncate(connection: &mut SqliteConnection) -> Result<Copied, SqlError> {
    sqlx::query(queries::WAIT_LITTLE)
        .execute(&mut *connection)
        .await?;
    checkpoint(connection, queries::TRUNCATE_LOG).await
}

async fn checkpoint(
    connection: &mut SqliteConnection,
    query: &'static str,
) -> Result<Copied, SqlError> {
    let row = sqlx::query(query).fetch_one(&mut *connection).await?;
    let number = |column| row.try_get::<i64, _>(column);
    // Both numbers of frames are -1 where another connection is copying: https://www.sqlite.org/pragma.html#pragma_wal_checkpoint
    let (log, done) = (number("log")?, number("checkpointed")?);
    let is_empty = log == 0 && done == 0;
    // SQLite syncs the file only if nobody has written meanwhile.
    let is_whole =
        is_empty || (log > 0 && log == done && i64::from(frames(connection).await?) == done);
    Ok(Copied {
        is_whole,
        is_emptied: is_empty && number("busy")? == 0,
    })
}

pub(super) fn replaced() -> SqlError {
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
