//! The connection of sqlx in a transaction of a store, for code of the application.

use actix_persistence_sql::Dialect;
use actix_persistence_storage_api::{Session, StorageError};
use sqlx::MySqlConnection;

use crate::Mysql;

/// Lends the connection of sqlx 0.9 to code of the application in a transaction of a store on MySQL or MariaDB.
///
/// [`Session::lend_connection`] says what the store looks at afterwards.
///
/// ```
/// use actix_persistence_mysql::MysqlSession;
/// use actix_persistence_storage_api::{ExtensionError, Session};
///
/// async fn count(session: &mut dyn Session) -> Result<(), ExtensionError> {
///     let connection = session.mysql().await?;
///     sqlx::query("UPDATE counts SET n = n + 1").execute(connection).await?;
///     Ok(())
/// }
/// ```
pub trait MysqlSession {
    /// Lends the connection on which the transaction runs.
    ///
    /// A transaction that is begun with it is a savepoint. Statements that define tables commit what came before, so that
    /// the store refuses to go on: run them with [`execute`](actix_persistence_storage_api::Session) outside of a change
    /// handler. The same goes for a deadlock, after which MySQL has rolled back the whole transaction: its effect is unknown
    /// here.
    ///
    /// # Errors
    /// [`Unsupported`](actix_persistence_storage_api::StorageErrorKind::Unsupported) if the session is one of another
    /// database, which the message names; the errors of [`Session::lend_connection`].
    ///
    /// # Cancel safety
    /// As [`Session::lend_connection`].
    fn mysql(&mut self) -> impl Future<Output = Result<&mut MySqlConnection, StorageError>> + Send;
}

impl MysqlSession for dyn Session + '_ {
    async fn mysql(&mut self) -> Result<&mut MySqlConnection, StorageError> {
        self.connection_of(Mysql::NAME).await
    }
}
