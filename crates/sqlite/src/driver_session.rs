//! The connection of sqlx in a transaction of a store, for code of the application.

use actix_persistence_sql::Dialect;
use actix_persistence_storage_api::{Session, StorageError};
use sqlx::SqliteConnection;

use crate::Sqlite;

/// Lends the connection of sqlx 0.9 to code of the application in a transaction of a store on SQLite.
///
/// [`Session::lend_connection`] says what the store looks at afterwards.
///
/// ```
/// use actix_persistence_sqlite::SqliteSession;
/// use actix_persistence_storage_api::{ExtensionError, Session};
///
/// async fn count(session: &mut dyn Session) -> Result<(), ExtensionError> {
///     let connection = session.sqlite().await?;
///     sqlx::query("UPDATE counts SET n = n + 1").execute(connection).await?;
///     Ok(())
/// }
/// ```
pub trait SqliteSession {
    /// Lends the connection on which the transaction runs.
    ///
    /// A transaction that is begun with it is a savepoint. Leave the progress handler alone: the store ends by it a statement
    /// that was given up.
    ///
    /// # Errors
    /// [`Unsupported`](actix_persistence_storage_api::StorageErrorKind::Unsupported) if the session is one of another
    /// database, which the message names; the errors of [`Session::lend_connection`].
    ///
    /// # Cancel safety
    /// As [`Session::lend_connection`].
    fn sqlite(
        &mut self,
    ) -> impl Future<Output = Result<&mut SqliteConnection, StorageError>> + Send;
}

impl SqliteSession for dyn Session + '_ {
    async fn sqlite(&mut self) -> Result<&mut SqliteConnection, StorageError> {
        self.connection_of(Sqlite::NAME).await
    }
}
