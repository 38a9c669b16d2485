//! A copy of a database that is in use, as a command of the journal.

use std::path::PathBuf;
use std::time::Duration;

use actix_persistence_sql::classify;
use actix_persistence_storage_api::{
    CommandRules, Effect, JournalCommand, Operation, StorageError,
};

use crate::Sqlite;
use crate::connection::SqliteConnector;

/// The time that a backup may take by default.
const TIME_LIMIT: Duration = Duration::from_secs(3_600);

/// Copies the database of a journal to a new file while it is in use: events, snapshots, states, and whatever else is in
/// it, all of one moment.
///
/// Everything that was acknowledged before the command was sent is in the copy. Neither writers nor readers wait for
/// it. The write-ahead log grows until it has ended, because SQLite keeps what the copy has yet to read.
/// The copy is a database by itself, without space that was free, and readable and writable for its user alone. Its name
/// appears when it is whole and on the disk.
///
/// An application asks its journal for it, by `Persistence::ask_journal`.
///
/// # Errors
/// [`Unsupported`](actix_persistence_storage_api::StorageErrorKind::Unsupported) if there is a file of that name,
/// [`Corrupt`](actix_persistence_storage_api::StorageErrorKind::Corrupt) if a page of the database cannot be read. What was
/// copied until then is removed. If the process ends before, a file stays whose name begins with that of the copy and
/// ends with `.part`; it may be removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backup {
    to: PathBuf,
    time_limit: Duration,
}

/// The answer to a [`Backup`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BackupReport {
    /// The size of the copy.
    pub bytes: u64,
}

impl Backup {
    /// Makes the command for a copy under this name, relative to the working directory. It may take an hour.
    pub fn to(path: impl Into<PathBuf>) -> Self {
        Self {
            to: path.into(),
            time_limit: TIME_LIMIT,
        }
    }

    /// Sets the longest time that the asker waits. The copy goes on after that.
    #[must_use]
    pub fn with_time_limit(mut self, time_limit: Duration) -> Self {
        self.time_limit = time_limit;
        self
    }

    /// Carries the command out.
    pub(crate) async fn run(
        &self,
        connector: &SqliteConnector,
    ) -> Result<BackupReport, StorageError> {
        let operation = Operation::RunReadingCommand;
        match connector.copy_to(&self.to).await {
            Ok(bytes) => Ok(BackupReport { bytes }),
            Err(error) => Err(classify::<Sqlite>(operation, Effect::NotStored, error)),
        }
    }
}

impl JournalCommand for Backup {
    type Answer = BackupReport;

    /// Returns that it waits for nothing, and has no breaker: it takes as long as the database is large.
    fn rules(&self) -> CommandRules {
        CommandRules::beside().without_breaker(self.time_limit)
    }
}
