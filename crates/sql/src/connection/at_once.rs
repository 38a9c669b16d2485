//! Transactions that their own texts begin and commit.

use actix_persistence_storage_api::{Operation, StorageError};

use super::attempts::{Attempts, Failed};
use super::call::{Call, run};
use super::{Connections, Opening, Work, detached};
use crate::{ConnectionOf, Connector, SqlError, TransactionDialect};

/// The end of work that begins a transaction and commits it by itself. An error beside it is one of the commit, or of a
/// connection that was lost: it decides what is stored.
#[derive(Debug)]
pub enum AtOnce<T> {
    /// The transaction is committed, and the work has this outcome.
    Committed(T),
    /// Others are in the way, and no transaction is begun.
    NotBegun,
    /// The transaction is open, and is not what the texts were made for: nothing of it must be committed.
    Unexpected,
    /// The database refused a statement before the commit, which it never got.
    Failed(SqlError),
}

impl<C: Connector> Connections<C> {
    /// Runs work that begins and commits a transaction by itself; where that does not go through, runs `careful` work
    /// between a beginning and a commit of the transaction.
    ///
    /// # Errors
    /// If the database does not answer, or refuses; then the answer shows whether it may be stored.
    ///
    /// # Cancel safety
    /// The work goes on to its end even if the future is dropped.
    pub(crate) async fn write_at_once<I, T>(
        &self,
        operation: Operation,
        input: I,
        work: impl for<'c> Fn(&'c mut ConnectionOf<C::Dialect>, I) -> Work<'c, AtOnce<T>>
        + Send
        + Sync
        + 'static,
        careful: impl for<'c> Fn(&'c mut ConnectionOf<C::Dialect>, I, Opening) -> Work<'c, T>
        + Send
        + Sync
        + 'static,
    ) -> Result<T, StorageError>
    where
        I: Clone + Send + 'static,
        T: Send + 'static,
    {
        let call = self.call(&self.writers);
        detached(operation, async move {
            let mut attempts = Attempts::new::<C>(input);
            loop {
                let result = call.at_once(attempts.input(), &work, &careful).await;
                if let Some(result) = attempts.end::<C, T>(operation, result).await {
                    return result;
                }
            }
        })
        .await
    }
}

impl<C: Connector> Call<C> {
    async fn at_once<I: Clone, T>(
        &self,
        input: I,
        work: &(impl for<'c> Fn(&'c mut ConnectionOf<C::Dialect>, I) -> Work<'c, AtOnce<T>> + Sync),
        careful: &(impl for<'c> Fn(&'c mut ConnectionOf<C::Dialect>, I, Opening) -> Work<'c, T> + Sync),
    ) -> Result<T, Failed> {
        let mut lease = self.seat().await.map_err(Failed::not_stored)?;
        let ended = self
            .within_limit(work(lease.connection(), input.clone()))
            .await
            .inspect_err(|error| lease.hear(error))
            .map_err(Failed::of::<C>)?;
        let begins_again = match ended {
            AtOnce::Committed(outcome) => {
                lease.check_committed().await.map_err(Failed::unknown)?;
                lease.give_back();
                return Ok(outcome);
            }
            AtOnce::Failed(error) => return self.end(lease, Err(error)).await,
            AtOnce::NotBegun => false,
            AtOnce::Unexpected => true,
        };
        let with_care = async {
            if begins_again {
                run::<C>(lease.connection(), C::Dialect::ROLLBACK).await?;
            }
            lease.begin(self.begin).await?;
            lease.was_served();
            careful(lease.connection(), input, Opening::Done).await
        };
        let result = self.within_limit(with_care).await;
        self.end(lease, result).await
    }
}
