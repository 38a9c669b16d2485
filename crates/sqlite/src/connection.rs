//! Opens a database file, and decides when a connection to it is of no more use.

mod copying;
mod file;
mod frames;
mod log;
mod opening;
mod position;
mod release;
mod unfinished_copy;

use std::time::{Duration, Instant};

use actix_persistence_sql::{Connector, InvalidOption, NamedPool, Role, SqlError};
use actix_persistence_storage_api::StorageErrorKind;
use sqlx::{Connection, SqliteConnection};
use tokio::sync::Mutex;

use crate::options::{Location, Mode, Synchronous};
use crate::{Sqlite, SqliteOptions, error};

use file::FileId;
use log::Log;
use position::{LogCheck, Position};
use release::Release;
use unfinished_copy::UnfinishedCopy;

/// The least time for which a call waits for a connection; with the default time-outs it stays below a call time-out of
/// 10 s.
const LEAST_ACQUIRE_TIMEOUT: Duration = Duration::from_secs(5);

/// Opens one database file, as all stores on it agree.
#[derive(Clone, Debug)]
pub struct SqliteConnector {
    location: Location,
    /// The pool of the application whose options are used.
    pool: Option<NamedPool<sqlx::Sqlite>>,
    busy_timeout: Duration,
    synchronous: Synchronous,
    read_connections: usize,
    max_log_bytes: u64,
    unfinished_copy: UnfinishedCopy,
}

/// A connection, and the files it has open.
#[derive(Debug)]
pub struct OpenFile {
    /// The guard that ends a statement; dropped before the connection, which is closed after its statement has ended.
    release: Option<Release>,
    connection: SqliteConnection,
    file: FileId,
    log: Log,
    /// The position of the connection that writes.
    position: Option<Position>,
    /// The length of the log at which it is shortened.
    shorten_at: u64,
}

impl SqliteConnector {
    /// Makes the connector for options that were validated.
    pub(crate) fn new(options: &SqliteOptions) -> Result<Self, InvalidOption> {
        let location = options.location()?;
        Ok(Self {
            pool: options.pool().cloned(),
            busy_timeout: options.busy_timeout,
            synchronous: options.synchronous,
            read_connections: options.read_connections,
            max_log_bytes: options.max_log_bytes as u64,
            unfinished_copy: UnfinishedCopy::of(&location),
            location,
        })
    }

    fn check_file(&self, open: &OpenFile) -> Result<(), SqlError> {
        if FileId::of(&self.location)? == open.file {
            return Ok(());
        }
        Err(SqlError::refused(
            StorageErrorKind::Unavailable,
            "the database file was replaced while it was open",
        ))
    }

    /// Checks all pages after an unfinished copy, for all stores and attempts that wait for it: it may take longer than an
    /// attempt to open the database may.
    async fn check_copied(&self, connection: &mut SqliteConnection) -> Result<(), SqlError> {
        static ONE_AT_A_TIME: Mutex<()> = Mutex::const_new(());
        let _turn = ONE_AT_A_TIME.lock().await;
        if position::check_log(&self.location).await? == LogCheck::CopyUnfinished {
            opening::check_pages(connection, &self.location).await?;
            position::note_whole(self).await;
        }
        Ok(())
    }

    /// Begins the log anew if it has become too long, for which readers have to let go of it for a moment.
    ///
    /// SQLite does so by itself only while no connection reads, which may be never.
    async fn keep_log_short(&self, open: &mut OpenFile, bytes: u64) {
        if bytes < open.shorten_at {
            return;
        }
        // Each attempt may hold up writers: not at every commit.
        open.shorten_at = bytes + self.max_log_bytes / 8;
        let database = self.location.path.display();
        // On a connection of its own: this one waits for locks as long as it was set to.
        let shorten = async {
            let mut other = opening::open(self, Role::Writer).await?;
            let copied = log::truncate(&mut other).await?;
            other.close().await?;
            Ok(copied)
        };
        let shortened = match &mut open.position {
            Some(position) => position.copy_unless_another_does(shorten).await,
            None => shorten.await.map(Some),
        };
        match shortened {
            Ok(None) => {}
            Ok(Some(copied)) if copied.is_emptied => open.shorten_at = self.max_log_bytes,
            Ok(Some(_)) => tracing::warn!(
                %database,
                bytes,
                "the write-ahead log is longer than 'max-log-bytes', and a reader or another writer keeps it from being \
                 shortened"
            ),
            // Committed transactions are not affected.
            Err(error) => tracing::warn!(
                %database,
                bytes,
                ?error,
                "the write-ahead log could not be shortened"
            ),
        }
    }

    /// Copies a log that was removed to the database, if no other process can be writing there.
    ///
    /// A process that opens the database does not find what is in such a log. As long as a connection to it is open, SQLite
    /// still can copy it to where others find it.
    async fn save(&self, open: &mut OpenFile) -> Result<(), SqlError> {
        // With another index there may be others who take the same locks elsewhere: both would write to the database. SQLite
        // copies the log when the last connection closes, if there is no other user.
        let is_saved = open.log.shares_locks(&self.location)? && {
            let copy = log::truncate(&mut open.connection);
            let copied = match &mut open.position {
                Some(position) => position.copy(copy).await,
                None => position::copy_without(self, copy).await,
            };
            matches!(copied, Ok(copied) if copied.is_emptied)
        };
        log::tell_of_removed(&self.location, is_saved);
        Ok(())
    }
}

impl Connector for SqliteConnector {
    const ACQUIRE_TIMEOUT_KEY: &'static str = "busy-timeout";
    const WRITERS_LOOK_FIRST: bool = false;

    type Dialect = Sqlite;
    type Open = OpenFile;

    async fn open(&self, role: Role) -> Result<OpenFile, SqlError> {
        if let Role::SetUp { may_create } = role {
            file::prepare(&self.location, may_create)?;
        }
        let log_check = match role {
            Role::SetUp { .. } | Role::Writer => position::check_log(&self.location).await?,
            Role::Reader => LogCheck::Passed,
        };
        // Looked at before and after, because in between another file may be put there.
        let file = FileId::of(&self.location)?;
        let mut connection = opening::open(self, role).await?;
        match role {
            Role::SetUp { .. } => {
                opening::check_library(&mut connection).await?;
                opening::check_encoding(&mut connection).await?;
            }
            Role::Writer | Role::Reader => opening::check(&mut connection, self, role).await?,
        }
        let log = Log::look(&self.location)?;
        if !matches!(role, Role::SetUp { .. }) {
            log::check_opened(&mut connection, &self.location).await?;
        }
        if log_check == LogCheck::CopyUnfinished {
            self.check_copied(&mut connection).await?;
        }
        let (position, release) = match role {
            Role::Writer => {
                let position = Position::open(&mut connection, self).await?;
                opening::ask_often(&mut connection).await?;
                (Some(position), Some(Release::of(&mut connection).await?))
            }
            Role::SetUp { .. } | Role::Reader => (None, None),
        };
        let open = OpenFile {
            release,
            connection,
            file,
            log,
            position,
            shorten_at: self.max_log_bytes,
        };
        self.check_file(&open)?;
        Ok(open)
    }

    fn connection(open: &mut OpenFile) -> &mut SqliteConnection {
        &mut open.connection
    }

    /// Returns true only if the path still leads to its files: others may have been put there.
    async fn is_usable(&self, open: &mut OpenFile, _: Duration) -> Result<bool, SqlError> {
        if FileId::of(&self.location)? != open.file {
            return Ok(false);
        }
        let is_current = open.log.is_current(&self.location)?;
        if !is_current {
            self.save(open).await?;
        }
        Ok(is_current)
    }

    /// Finds out whether the file was deleted or replaced: the writes in it are then lost with the process.
    async fn check_committed(&self, open: &mut OpenFile) -> Result<(), SqlError> {
        self.check_file(open)?;
        let Some(bytes) = open.log.bytes(&self.location)? else {
            self.save(open).await?;
            return Err(log::replaced());
        };
        if let Some(position) = &mut open.position
            && position.committed(&mut open.connection).await
            && let copy = log::copy(&mut open.connection)
            && let Err(error) = position.copy_unless_another_does(copy).await
        {
            // Committed transactions are not affected.
            tracing::warn!(
                database = %self.location.path.display(),
                ?error,
                "the write-ahead log could not be copied to the database"
            );
        }
        self.keep_log_short(open, bytes).await;
        Ok(())
    }

    /// Copies at once what the set-up made: a log may be lost, and the database has to be recognised then.
    ///
    /// The last connection that closes copies the log to the database file and removes it. Where another process has
    /// the database open, the writer copies it.
    async fn close(&self, mut open: OpenFile, role: Role) {
        let is_ours = matches!(self.is_usable(&mut open, Duration::ZERO).await, Ok(true));
        if role != Role::Reader && is_ours {
            let mut position = open.position.take();
            if matches!(role, Role::SetUp { .. }) && self.location.mode != Mode::ReadOnly {
                let connection = &mut open.connection;
                position = position::of_set_up(connection, self).await.unwrap_or(None);
            }
            // If it cannot be copied now, it is there for the next process that opens the database.
            let copy = log::truncate(&mut open.connection);
            let _ = match &mut position {
                Some(position) => position.copy(copy).await,
                None => copy.await,
            };
        }
        // Some systems do not remove a log that is open.
        open.position = None;
        let _ = open.connection.close().await;
    }

    /// Waits for the end of the statement, so that the next call does not meet its lock.
    async fn abandon(&self, mut open: OpenFile) -> bool {
        const PATIENCE: Duration = Duration::from_secs(1);
        if let Some(release) = &open.release {
            release.now();
        }
        // It fails where the end of the statement has ended the transaction.
        let ended = sqlx::raw_sql("ROLLBACK").execute(&mut open.connection);
        tokio::time::timeout(PATIENCE, ended).await.is_ok()
    }

    async fn prepare(&self, connection: &mut SqliteConnection) -> Result<(), SqlError> {
        opening::set_write_ahead_log(connection).await
    }

    /// Asks for the lock every few milliseconds: SQLite by itself asks ten times a second in the end, and a process that
    /// writes all the time would get the lock again before others ask.
    async fn begin(&self, open: &mut OpenFile, begin: &'static str) -> Result<(), SqlError> {
        let deadline = Instant::now() + self.busy_timeout;
        loop {
            let begun = sqlx::query(begin).execute(&mut open.connection);
            match begun.await.map_err(SqlError::from) {
                Err(error) if error::is_locked(&error) && Instant::now() < deadline => {}
                begun => return begun.map(drop),
            }
        }
    }

    fn may_pass(&self, error: &SqlError) -> bool {
        error::doubt(error).is_some()
    }

    fn look_again(&self, error: SqlError) -> SqlError {
        file::look_again(&self.location, error)
    }

    /// Returns the number of connections for a role: only one connection writes at a time.
    fn max_connections(&self, role: Role) -> usize {
        match role {
            Role::SetUp { .. } | Role::Writer => 1,
            Role::Reader => self.read_connections,
        }
    }

    /// Returns 0: code of the application takes turns with the store for the connection that writes.
    fn max_application_connections(&self) -> usize {
        0
    }

    /// Waits longer than for a lock: the call that has the seat may have to wait for one, and others may stand before
    /// us.
    fn acquire_timeout(&self) -> (Duration, &'static str) {
        let acquire_timeout = (2 * self.busy_timeout).max(LEAST_ACQUIRE_TIMEOUT);
        (
            acquire_timeout,
            "raise 'busy-timeout' or 'read-connections'",
        )
    }

    /// Locks have their own limit, and what is cancelled would go on in the connection's thread.
    fn time_limit(&self) -> Option<Duration> {
        None
    }

    fn endpoint(&self) -> String {
        self.location.path.display().to_string()
    }

    fn conflicting_option(&self, other: &Self) -> Option<&'static str> {
        let differences = [
            ("pool", self.pool != other.pool),
            ("url", self.location != other.location),
            ("busy-timeout", self.busy_timeout != other.busy_timeout),
            ("synchronous", self.synchronous != other.synchronous),
            (
                "read-connections",
                self.read_connections != other.read_connections,
            ),
            ("max-log-bytes", self.max_log_bytes != other.max_log_bytes),
        ];
        let found = differences.into_iter().find(|(_, differs)| *differs);
        found.map(|(key, _)| key)
    }
}

#[cfg(test)]
mod tests;
