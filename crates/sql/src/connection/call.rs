//! One call on a connection: a transaction or a statement, and the seat that it takes for that.

use std::sync::Arc;
use std::time::Duration;

use actix_persistence_storage_api::StorageErrorKind;
use sqlx::SqlSafeStr;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{timeout, timeout_at};

use super::attempts::Failed;
use super::seats::{Lease, Seats, Wait};
use super::{Opening, Visit, Work};
use crate::{
    ConnectionOf, Connector, Driver, ErrorDialect, JournalDialect, SqlError, SqlxDatabase,
    TransactionDialect,
};

/// Holds the parts of the owner that one call needs, in its own task.
pub(super) struct Call<C: Connector> {
    pub(super) seats: Arc<Seats<C>>,
    pub(super) all: [Arc<Seats<C>>; 3],
    pub(super) time_limit: Option<Duration>,
    /// The code of the application that runs in it, and the turns of such code.
    pub(super) visit: Option<(Visit, Arc<Semaphore>)>,
    /// The text that begins its transaction.
    pub(super) begin: &'static str,
    pub(super) connector: Arc<C>,
}

impl<C: Connector> Call<C> {
    pub(super) async fn seat(&self) -> Result<Lease<C>, SqlError> {
        self.seats.take(self.seats.wait()).await
    }

    /// Returns a writer, with the turn of code of the application.
    async fn writer(&self) -> Result<(Lease<C>, Option<OwnedSemaphorePermit>), SqlError> {
        let wait = self.seats.wait();
        let turn = match &self.visit {
            None => None,
            Some((_, visits)) => {
                let turn = timeout_at(wait.until, Arc::clone(visits).acquire_owned()).await;
                let turn = turn.map_err(|_| self.no_turn(wait))?;
                Some(turn.expect("the semaphore is never closed"))
            }
        };
        Ok((self.seats.take(wait).await?, turn))
    }

    /// Returns the error of a call whose time was over before its turn.
    fn no_turn(&self, wait: Wait) -> SqlError {
        // Where the client ends what takes too long, whoever has the turn reports the trouble of a database that hangs.
        let kind = match self.time_limit {
            None => self.seats.kind_of_delay(wait),
            Some(_) => StorageErrorKind::Busy,
        };
        let reason = match kind {
            StorageErrorKind::Busy => {
                "other change handlers and transactions of the application take all the time; make them faster, or"
            }
            _ => {
                "a change handler or transaction of the application waits for the database, and others wait for it;"
            }
        };
        let message = format!("{reason} {}", self.connector.acquire_timeout().1);
        SqlError::refused(kind, message)
    }

    pub(super) async fn transaction<I, T>(
        &self,
        input: I,
        work: impl for<'c> FnOnce(&'c mut ConnectionOf<C::Dialect>, I) -> Work<'c, T>,
    ) -> Result<T, Failed> {
        let (mut lease, _turn) = self.writer().await.map_err(Failed::not_stored)?;
        let before = async {
            lease.begin(self.begin).await?;
            lease.was_served();
            work(lease.connection(), input).await
        };
        let result = self.within_limit(before).await;
        self.end(lease, result).await
    }

    /// Runs a transaction as [`transaction`](Self::transaction) does, for work that begins it; if others are in the
    /// way, it is begun as patiently as any other.
    pub(super) async fn begun_by_work<I: Clone, T>(
        &self,
        input: I,
        work: impl for<'c> Fn(&'c mut ConnectionOf<C::Dialect>, I, Opening) -> Work<'c, T>,
    ) -> Result<T, Failed> {
        let (mut lease, _turn) = self.writer().await.map_err(Failed::not_stored)?;
        let before = async {
            match work(lease.connection(), input.clone(), Opening::Due).await {
                // Elsewhere another beginning would commit what came before it.
                Err(error) if C::Dialect::WORK_BEGINS && C::Dialect::is_disturbed(&error) => {}
                result => return result,
            }
            lease.begin(self.begin).await?;
            lease.was_served();
            work(lease.connection(), input, Opening::Done).await
        };
        let result = self.within_limit(before).await;
        self.end(lease, result).await
    }

    /// Commits what worked, and undoes what did not.
    pub(super) async fn end<T>(
        &self,
        mut lease: Lease<C>,
        result: Result<T, SqlError>,
    ) -> Result<T, Failed> {
        let value = match result {
            Ok(value) => value,
            Err(error) => {
                self.roll_back(lease, &error).await;
                // One error of a disk may have opened the connection otherwise than it should be.
                let error = self.connector.look_again(error);
                return Err(match &self.visit {
                    Some((visit, _)) if visit.may_have_committed() => Failed::unknown(error),
                    _ => Failed::not_stored(error),
                });
            }
        };
        self.commit(&mut lease).await?;
        match &self.visit {
            None => lease.give_back(),
            Some((visit, _)) => lease.give_back_after(visit),
        }
        Ok(value)
    }

    async fn commit(&self, lease: &mut Lease<C>) -> Result<(), Failed> {
        let commit = match &self.visit {
            None => C::Dialect::COMMIT,
            Some(_) => self.connector.commit_after_application(),
        };
        let commit = run_commit::<C>(lease.connection(), commit);
        self.within_limit(commit).await.map_err(|error| {
            lease.hear(&error);
            let failed = Failed::of::<C>(error);
            match &self.visit {
                Some((visit, _)) if visit.may_have_committed() => Failed::unknown(failed.error),
                _ => failed,
            }
        })?;
        lease.check_committed().await.map_err(Failed::unknown)
    }

    /// Waits for the end of the transaction, so that its locks are gone when its caller learns that it failed; closing the
    /// connection alone may take effect later.
    async fn roll_back(&self, mut lease: Lease<C>, error: &SqlError) {
        let may_run_on = |(visit, _): &(Visit, _)| visit.may_have_left_a_statement();
        if self.visit.as_ref().is_some_and(may_run_on) {
            return lease.abandon().await;
        }
        lease.hear(error);
        const PATIENCE: Duration = Duration::from_secs(1);
        let rolled_back = run::<C>(lease.connection(), C::Dialect::ROLLBACK);
        let limit = self.time_limit.unwrap_or(PATIENCE).min(PATIENCE);
        // The connection is closed even if this fails, which it does where the database has ended the transaction.
        if let Ok(Ok(())) = timeout(limit, rolled_back).await {
            lease.was_served();
        }
    }

    pub(super) async fn statement<I, T>(
        &self,
        input: I,
        work: &(impl for<'c> Fn(&'c mut ConnectionOf<C::Dialect>, I) -> Work<'c, T> + Sync),
    ) -> Result<T, Failed> {
        let mut lease = self.seat().await.map_err(Failed::not_stored)?;
        let work = work(lease.connection(), input);
        let value = self
            .within_limit(work)
            .await
            .inspect_err(|error| lease.hear(error))
            .map_err(Failed::of::<C>)?;
        lease.check_committed().await.map_err(Failed::unknown)?;
        lease.give_back();
        Ok(value)
    }

    /// The time is that of the client: a server that hangs does not look at its own limit.
    pub(super) async fn within_limit<T>(
        &self,
        work: impl Future<Output = Result<T, SqlError>>,
    ) -> Result<T, SqlError> {
        let result = match self.time_limit {
            Some(limit) => timeout(limit, work).await.unwrap_or(Err(SqlError::Silent)),
            None => work.await,
        };
        if let Err(error) = &result
            && error.ends_connections::<C::Dialect>()
        {
            // The next user of one of them would find out the same, and not know what became of its work.
            self.all.iter().for_each(|seats| seats.close_idle());
        }
        result
    }
}

pub(super) async fn run<C: Connector>(
    connection: &mut ConnectionOf<C::Dialect>,
    sql: &'static str,
) -> Result<(), SqlError> {
    type Database<C> = <<C as Connector>::Dialect as Driver>::Database;
    Database::<C>::run(connection, sql.into_sql_str()).await?;
    Ok(())
}

/// Commits; the text is one that every transaction ends with.
async fn run_commit<C: Connector>(
    connection: &mut ConnectionOf<C::Dialect>,
    sql: &'static str,
) -> Result<(), SqlError> {
    type Database<C> = <<C as Connector>::Dialect as Driver>::Database;
    if !C::Dialect::PREPARES_COMMIT {
        return run::<C>(connection, sql).await;
    }
    let without_values = <Database<C> as sqlx::Database>::Arguments::default();
    Database::<C>::execute(connection, sql.into_sql_str(), without_values).await?;
    Ok(())
}
