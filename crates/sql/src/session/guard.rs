//! A savepoint that proves that a transaction is still the one it was.

use actix_persistence_storage_api::WriterId;
use sqlx::{Connection, SqlStr};

use crate::names::of_application;
use crate::{ConnectionOf, Dialect, SqlError, SqlxDatabase};

/// A savepoint whose name cannot be guessed: it is gone with its transaction, however that ended, and whatever was begun
/// in its place.
pub(super) struct Guard(String);

impl Guard {
    fn new() -> Self {
        Self(format!("actix_{}", WriterId::random()).replace('-', "_"))
    }

    /// Sets a savepoint, and runs the text `then` after it.
    pub(super) async fn set<D: Dialect>(
        connection: &mut ConnectionOf<D>,
        then: &str,
    ) -> Result<Self, SqlError> {
        let guard = Self::new();
        guard.run::<D>(connection, "SAVEPOINT", then).await?;
        Ok(guard)
    }

    /// Sets a savepoint that the driver takes for the transaction itself, so that one that is begun with the driver is a
    /// savepoint within this one: it knows nothing of the transactions of the store, and would begin another one.
    pub(super) async fn set_for_driver<D: Dialect>(
        connection: &mut ConnectionOf<D>,
    ) -> Result<Self, SqlError> {
        // It was lent before.
        if connection.is_in_transaction() {
            return Self::set::<D>(connection, "").await;
        }
        let guard = Self::new();
        let transaction = connection.begin_with(guard.sql("SAVEPOINT", "")).await?;
        // Dropped, it would roll back.
        std::mem::forget(transaction);
        Ok(guard)
    }

    /// Fails if the transaction is another one, or none.
    pub(super) async fn release<D: Dialect>(
        &self,
        connection: &mut ConnectionOf<D>,
        then: &str,
    ) -> Result<(), SqlError> {
        self.run::<D>(connection, "RELEASE SAVEPOINT", then).await
    }

    /// Undoes what came after the savepoint, which stays; fails if the transaction is another one, or none.
    pub(super) async fn roll_back_to<D: Dialect>(
        &self,
        connection: &mut ConnectionOf<D>,
    ) -> Result<(), SqlError> {
        self.run::<D>(connection, "ROLLBACK TO SAVEPOINT", "").await
    }

    async fn run<D: Dialect>(
        &self,
        connection: &mut ConnectionOf<D>,
        what: &str,
        then: &str,
    ) -> Result<(), SqlError> {
        Ok(D::Database::run(connection, self.sql(what, then)).await?)
    }

    fn sql(&self, what: &str, then: &str) -> SqlStr {
        of_application(format!("{what} {}{then}", self.0))
    }
}
