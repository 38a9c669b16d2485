//! Statements of the application in the database of its states.

use actix_persistence_persistent_actor::UnknownStore;
use actix_persistence_storage_api::{Operation, SessionWork, StorageError};

use crate::Persistence;
use crate::stores::store_runtime::sql_of;

/// The reason why a transaction was not committed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransactError {
    /// The config has no such state store.
    #[error(transparent)]
    UnknownStore(#[from] UnknownStore),
    /// The store has no SQL, the database failed, or the code said no; the error knows what is certain.
    #[error("could not run a transaction in the database of the states")]
    Storage(#[from] StorageError),
}

impl Persistence {
    /// Runs code in a transaction in the database of a state store, the default one for `None`, and returns what the code
    /// returns: to make tables and columns of the application, or to read what its change handlers keep there.
    ///
    /// It is committed if the code succeeds, and the value is returned only if it is known to be committed.
    /// The code runs on the threads of the stores, so that it holds up no actor.
    /// The tables of the states themselves are not to be changed by it.
    /// [`Session`](actix_persistence_storage_api::Session) says which statements it may run: on MySQL and MariaDB those that
    /// make tables commit what came before them, so that the effect is unknown if the code fails afterwards. With the feature
    /// `sqlx-0_9` it may use the connection of sqlx, too.
    ///
    /// ```
    /// # use actix_persistence::{Persistence, sql::{SessionWork, TransactError}};
    /// # async fn count(persistence: &Persistence) -> Result<i64, TransactError> {
    /// let work = SessionWork::new(|session| {
    ///     Box::pin(async move {
    ///         session.execute("UPDATE counts SET n = n + 1", []).await?;
    ///         let row = session.select_one("SELECT n FROM counts", []).await?;
    ///         Ok(row.ok_or("there is no count")?.get("n")?)
    ///     })
    /// });
    /// let count: i64 = persistence.transact(None, work).await?;
    /// # Ok(count)
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`TransactError`]; nothing is stored then, unless the effect is unknown.
    ///
    /// # Cancel safety
    /// The work goes on to its end even if the future is dropped.
    pub async fn transact<T: Send + 'static>(
        &self,
        plugin_id: Option<&str>,
        work: SessionWork<T>,
    ) -> Result<T, TransactError> {
        let store = self.states(plugin_id)?;
        let transaction = async move {
            let sql = sql_of(&*store, Operation::Transact)?;
            sql.transact_returning(work).await
        };
        Ok(self.0.call(Operation::Transact, transaction).await?)
    }
}
