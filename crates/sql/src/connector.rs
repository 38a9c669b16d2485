//! The way to reach a database.

use std::fmt;
use std::time::Duration;

use sqlx::SqlSafeStr;

use crate::{ConnectionOf, Dialect, Driver, SqlError, SqlxDatabase, TransactionDialect};

/// The purpose of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The connection makes tables, and is used once.
    SetUp {
        /// True if a database that is missing may be made.
        may_create: bool,
    },
    /// A connection that writes.
    Writer,
    /// A connection that reads.
    Reader,
}

/// Opens connections of one kind to one database, and knows when they are of no more use.
pub trait Connector: fmt::Debug + Send + Sync + 'static {
    /// The dialect of the database.
    type Dialect: Dialect;
    /// A connection with what is known about it.
    type Open: fmt::Debug + Send + 'static;

    /// Opens a connection and checks that it is what durability needs.
    fn open(&self, role: Role) -> impl Future<Output = Result<Self::Open, SqlError>> + Send;

    /// Checks again that a connection which writes is what durability needs, where
    /// [writers look first](Self::WRITERS_LOOK_FIRST): the server may have been changed since it was opened.
    fn check(&self, _open: &mut Self::Open) -> impl Future<Output = Result<(), SqlError>> + Send {
        std::future::ready(Ok(()))
    }

    /// Returns the driver's connection.
    fn connection(open: &mut Self::Open) -> &mut ConnectionOf<Self::Dialect>;

    /// Returns whether a connection that waited for this long may be used.
    fn is_usable(
        &self,
        open: &mut Self::Open,
        idle: Duration,
    ) -> impl Future<Output = Result<bool, SqlError>> + Send;

    /// Fails if what was just committed on the connection does not count. No other writer writes on a connection of
    /// this process meanwhile, where there is one writer.
    fn check_committed(
        &self,
        open: &mut Self::Open,
    ) -> impl Future<Output = Result<(), SqlError>> + Send;

    /// Closes a connection that is not used, and leaves the database as a copy of its files should find it.
    fn close(&self, open: Self::Open, role: Role) -> impl Future<Output = ()> + Send;

    /// Prepares the database for writing, outside any transaction.
    fn prepare(
        &self,
        connection: &mut ConnectionOf<Self::Dialect>,
    ) -> impl Future<Output = Result<(), SqlError>> + Send;

    /// Begins a transaction that writes, with [`BEGIN`](TransactionDialect::BEGIN) or
    /// [`BEGIN_STORING`](TransactionDialect::BEGIN_STORING).
    fn begin(
        &self,
        open: &mut Self::Open,
        begin: &'static str,
    ) -> impl Future<Output = Result<(), SqlError>> + Send {
        async move {
            let connection = Self::connection(open);
            let begin = begin.into_sql_str();
            Ok(<Self::Dialect as Driver>::Database::run(connection, begin).await?)
        }
    }

    /// Returns whether an error that kept the database from being opened may be gone a moment later, although it looks
    /// lasting.
    fn may_pass(&self, _error: &SqlError) -> bool {
        false
    }

    /// Returns the error with the kind that a look at the database itself shows, so that only a lasting one keeps an
    /// application from starting, or ends what works.
    fn look_again(&self, error: SqlError) -> SqlError {
        error
    }

    /// Returns the highest number of connections of a role.
    fn max_connections(&self, role: Role) -> usize;

    /// Returns the number of writing connections beside those, on which code of the application runs, so that it never
    /// delays the writes of the store itself; 0 where only one connection can write.
    fn max_application_connections(&self) -> usize;

    /// Ends a transaction in which code of the application has run, as durable as any other.
    fn commit_after_application(&self) -> &'static str {
        Self::Dialect::COMMIT
    }

    /// Resets a session on which code of the application has run: it may have called functions of the server that change
    /// the session.
    ///
    /// # Errors
    /// If that did not work; the connection is then closed.
    fn restore(&self, _open: &mut Self::Open) -> impl Future<Output = Result<(), SqlError>> + Send {
        std::future::ready(Ok(()))
    }

    /// Closes a connection whose last statement may still run, because code of the application stopped waiting for it,
    /// and ends that statement: it may take as long as it likes, and would hold its locks as long. Returns whether the
    /// request has reached the database.
    fn abandon(&self, open: Self::Open) -> impl Future<Output = bool> + Send;

    /// True if a connection that writes looks first whether there is anything to set up: it can be opened whatever tables there
    /// are, and most stores are opened when theirs are ready.
    const WRITERS_LOOK_FIRST: bool;

    /// The key of the setting for the time that a call waits for one of them.
    const ACQUIRE_TIMEOUT_KEY: &'static str;

    /// Returns the time for which a call waits for a connection, and the setting to change if that was not enough.
    fn acquire_timeout(&self) -> (Duration, &'static str);

    /// Returns the longest time of an operation; `None` if the database has its own limit.
    fn time_limit(&self) -> Option<Duration>;

    /// Returns the text that limits how long the next statements of the application in a transaction wait for a lock, where the
    /// database can say which of them wait for one. It comes after another statement, and is taken back with what the application
    /// sets.
    fn limit_lock_waits(&self, _limit: Duration) -> String {
        String::new()
    }

    /// Returns the address of the database, such as a server with a user and a database, or the path of a file. For
    /// messages, and to distinguish one from another; without secrets.
    fn endpoint(&self) -> String;

    /// Returns a text that differs for connections which two stores cannot share, because each is set up for its own; no text
    /// for people, and without secrets.
    fn shared_as(&self) -> String {
        self.endpoint()
    }

    /// Returns the first key in which stores that share connections must agree and these do not.
    fn conflicting_option(&self, other: &Self) -> Option<&'static str>;
}
