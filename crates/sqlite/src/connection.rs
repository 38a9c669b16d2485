//! How a database file is opened, and when a connection to it is of no more use.

mod file;
mod opening;

use std::time::Duration;

use actix_persistence_sql::{Connector, Fault, InvalidOption, Role};
use actix_persistence_storage_api::StorageErrorKind;
use sqlx::SqliteConnection;

use crate::options::{Location, Synchronous};
use crate::{Sqlite, SqliteOptions};

use file::FileId;

/// How long a call waits for a connection at least; with the default time-outs it stays below a call time-out of 10 s.
const LEAST_PATIENCE: Duration = Duration::from_secs(5);

/// Opens one database file, as all stores on it agree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqliteConnector {
    location: Location,
    busy_timeout: Duration,
    synchronous: Synchronous,
    read_connections: usize,
}

/// A connection, and the file it has open.
#[derive(Debug)]
pub struct OpenFile {
    connection: SqliteConnection,
    file: FileId,
}

impl SqliteConnector {
    /// For options that were validated.
    pub(crate) fn new(options: &SqliteOptions) -> Result<Self, InvalidOption> {
        let location = Location::parse(&options.url).map_err(InvalidOption::of("url"))?;
        Ok(Self {
            location,
            busy_timeout: options.busy_timeout,
            synchronous: options.synchronous,
            read_connections: options.read_connections,
        })
    }
}

impl Connector for SqliteConnector {
    const PATIENCE_KEY: &'static str = "busy-timeout";

    type Dialect = Sqlite;
    type Open = OpenFile;

    async fn open(&self, role: Role) -> Result<OpenFile, Fault> {
        if let Role::SetUp { may_create } = role {
            file::prepare(&self.location, may_create)?;
        }
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
        let open = OpenFile { connection, file };
        self.check_committed(&open)?;
        Ok(open)
    }

    fn connection(open: &mut OpenFile) -> &mut SqliteConnection {
        &mut open.connection
    }

    /// Used only if the path still leads to its file: another one may have been put there.
    async fn is_usable(&self, open: &mut OpenFile, _: Duration) -> Result<bool, Fault> {
        Ok(FileId::of(&self.location)? == open.file)
    }

    /// What is stored in a file that was deleted or replaced is lost with the process.
    fn check_committed(&self, open: &OpenFile) -> Result<(), Fault> {
        if FileId::of(&self.location)? == open.file {
            return Ok(());
        }
        Err(Fault::refused(
            StorageErrorKind::Unavailable,
            "the database file was replaced while it was open",
        ))
    }

    async fn prepare(&self, connection: &mut SqliteConnection) -> Result<(), Fault> {
        opening::set_write_ahead_log(connection).await
    }

    /// One connection writes at a time.
    fn seats(&self, role: Role) -> usize {
        match role {
            Role::SetUp { .. } | Role::Writer => 1,
            Role::Reader => self.read_connections,
        }
    }

    /// It takes turns with the store for the one that writes.
    fn seats_of_application(&self) -> usize {
        0
    }

    /// Longer than for a lock: whoever has the seat may have to wait for one, and others may stand before us.
    fn patience(&self) -> (Duration, &'static str) {
        let patience = (2 * self.busy_timeout).max(LEAST_PATIENCE);
        (patience, "raise 'busy-timeout' or 'read-connections'")
    }

    /// Locks have their own limit, and what is cancelled would go on in the connection's thread.
    fn time_limit(&self) -> Option<Duration> {
        None
    }

    fn place(&self) -> String {
        self.location.path.display().to_string()
    }

    fn difference(&self, other: &Self) -> Option<&'static str> {
        let differences = [
            ("url", self.location != other.location),
            ("busy-timeout", self.busy_timeout != other.busy_timeout),
            ("synchronous", self.synchronous != other.synchronous),
            (
                "read-connections",
                self.read_connections != other.read_connections,
            ),
        ];
        let found = differences.into_iter().find(|(_, differs)| *differs);
        found.map(|(key, _)| key)
    }
}

#[cfg(test)]
mod tests;
