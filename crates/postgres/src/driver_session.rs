//! The connection of sqlx in a transaction of a store, for code of the application.

use actix_persistence_sql::Dialect;
use actix_persistence_storage_api::{Session, StorageError};
use sqlx::PgConnection;

use crate::Postgres;

/// Lends the connection of sqlx 0.9 to code of the application in a transaction of a store on PostgreSQL.
///
/// [`Session::lend_connection`] says what the store looks at afterwards.
///
/// ```
/// use actix_persistence_postgres::PostgresSession;
/// use actix_persistence_storage_api::{ExtensionError, Session};
///
/// async fn count(session: &mut dyn Session) -> Result<(), ExtensionError> {
///     let connection = session.postgres().await?;
///     sqlx::query("UPDATE counts SET n = n + 1").execute(connection).await?;
///     Ok(())
/// }
/// ```
pub trait PostgresSession {
    /// Lends the connection on which the transaction runs.
    ///
    /// A transaction that is begun with it is a savepoint. What is set for the session, what is listened to, temporary tables
    /// and locks end with the transaction of the store, because the connection is closed then.
    ///
    /// # Errors
    /// [`Unsupported`](actix_persistence_storage_api::StorageErrorKind::Unsupported) if the session is one of another
    /// database, which the message names; the errors of [`Session::lend_connection`].
    ///
    /// # Cancel safety
    /// As [`Session::lend_connection`].
    fn postgres(&mut self) -> impl Future<Output = Result<&mut PgConnection, StorageError>> + Send;
}

impl PostgresSession for dyn Session + '_ {
    async fn postgres(&mut self) -> Result<&mut PgConnection, StorageError> {
        self.connection_of(Postgres::NAME).await
    }
}
