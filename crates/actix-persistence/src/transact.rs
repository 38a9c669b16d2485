//! Statements of the application in the database of its states.

use actix_persistence_persistent_actor::StartError;
use actix_persistence_storage_api::{Operation, SessionWork, StorageError, StorageErrorKind};

use tokio::task::JoinError;

use crate::Persistence;

/// Why a transaction was not committed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransactError {
    /// No such state store.
    #[error(transparent)]
    UnknownPlugin(#[from] StartError),
    /// The store has no SQL, the database failed, or the code said no; the error knows what is certain.
    #[error("could not run a transaction in the database of the states")]
    Storage(#[from] StorageError),
}

impl Persistence {
    /// Runs code in a transaction in the database of a state store, the default one for `None`: to make tables and columns
    /// of the application, or to read what its change handlers keep there.
    ///
    /// It is committed if the code succeeds. The code runs on the threads of the stores, so that it holds up no actor.
    /// The tables of the states themselves are not to be changed by it.
    ///
    /// ```
    /// # use actix_persistence::{Persistence, TransactError, storage_api::SessionWork};
    /// # async fn make_table(persistence: &Persistence) -> Result<(), TransactError> {
    /// let work = SessionWork::new(|session| {
    ///     Box::pin(async move {
    ///         let table = "CREATE TABLE IF NOT EXISTS published (author VARCHAR(50) PRIMARY KEY, posts BIGINT)";
    ///         session.execute(table, []).await?;
    ///         Ok(())
    ///     })
    /// });
    /// persistence.transact(None, work).await
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`TransactError`]; nothing is stored then, unless the effect is unknown.
    ///
    /// # Cancel safety
    /// What was begun goes on to its end.
    pub async fn transact(
        &self,
        plugin_id: Option<&str>,
        work: SessionWork,
    ) -> Result<(), TransactError> {
        let store = self.states(plugin_id)?;
        let transaction = async move {
            match store.sql() {
                Some(sql) => sql.transact(work).await,
                None => Err(no_sql()),
            }
        };
        let runtime = self.0.runtime.as_ref();
        let runtime = runtime.expect("there is one until the last handle is dropped");
        Ok(runtime
            .spawn(transaction)
            .await
            .unwrap_or_else(broken_off)?)
    }
}

fn no_sql() -> StorageError {
    StorageError::new(StorageErrorKind::Unsupported, Operation::Transact)
        .not_stored()
        .with_message("the state store has no SQL; use one in a database")
}

/// A panic of the plugin: the transaction may be committed.
fn broken_off(ended: JoinError) -> Result<(), StorageError> {
    let error = StorageError::new(StorageErrorKind::Backend, Operation::Transact);
    Err(error.with_source(ended))
}
