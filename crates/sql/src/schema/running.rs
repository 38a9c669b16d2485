//! The steps of a schema, run.

use std::time::{Duration, Instant};

use actix_persistence_storage_api::{BackOff, StorageErrorKind};
use tokio::time::{MissedTickBehavior, interval_at};

use super::migration::{IndexStatements, Step};
use super::versions::has_column;
use super::{Owner, StoreSchema};
use crate::row::get_integer;
use crate::values::Values;
use crate::{ConnectionOf, Dialect, SqlError, SqlxDatabase};

/// The time for which others are waited for that make tables; the store is then initialised again. It ends before the default
/// `initialize-timeout`, so that the attempts of a store do not overlap.
const PATIENCE: Duration = Duration::from_secs(20);
/// The time after which a wait is logged.
const WORTH_A_WORD: Duration = Duration::from_secs(1);
/// The time between two lines of the log about one step.
const BETWEEN_WORDS: Duration = Duration::from_secs(30);

/// A step that runs outside a transaction, while others write: all before it are done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BesideWriters {
    position: usize,
}

impl<D: Dialect> StoreSchema<D> {
    /// Returns whether the tables are there, in the version of this crate.
    ///
    /// # Errors
    /// If they are newer, incomplete, or of another program.
    pub async fn is_current(&self, connection: &mut ConnectionOf<D>) -> Result<bool, SqlError> {
        if self.version(connection).await? != Some(self.newest()) {
            return Ok(false);
        }
        Ok(self.missing_columns(connection).await?.is_empty())
    }

    /// Returns the error for missing or older tables that may not be made.
    ///
    /// # Errors
    /// If the tables are newer, incomplete, or of another program.
    pub async fn refusal_to_make(
        &self,
        connection: &mut ConnectionOf<D>,
    ) -> Result<SqlError, SqlError> {
        Ok(match &self.owner {
            Owner::Store(name) => SqlError::mismatch(format!(
                "the tables of the {name} are missing or older than version {}; set 'auto-initialize = true' once, or run what \
                 'actix-persistence schema' prints",
                self.newest()
            )),
            Owner::Application(application) => {
                let applied = self.version(connection).await?;
                application.refused(applied.unwrap_or_default())
            }
        })
    }

    /// Waits until no other session makes tables in this database, and keeps others from it until the session ends; outside any
    /// transaction.
    ///
    /// # Errors
    /// If another one takes long.
    pub async fn lock(&self, connection: &mut ConnectionOf<D>) -> Result<(), SqlError> {
        let began = Instant::now();
        let mut is_told = false;
        let mut back_off = BackOff::new(Duration::from_millis(5), Duration::from_millis(100), 0.5);
        while !D::try_lock_schema(connection).await? {
            if began.elapsed() >= PATIENCE {
                return Err(SqlError::refused(
                    StorageErrorKind::Unavailable,
                    "another session has been making tables in this database for a while; let it finish",
                ));
            }
            if !is_told && began.elapsed() >= WORTH_A_WORD {
                is_told = true;
                tracing::info!(
                    component = self.component(),
                    "waiting for another session that makes tables in this database"
                );
            }
            tokio::time::sleep(back_off.next_delay()).await;
        }
        Ok(())
    }

    /// Makes what is missing up to the next step beside writers, which is returned for [`run_beside_writers`](Self::run_beside_writers);
    /// within a transaction that writes, under the [`lock`](Self::lock).
    ///
    /// The version is noted after every step, so that a database which cannot take back its steps goes on where it
    /// was interrupted.
    ///
    /// # Errors
    /// If the tables are newer, incomplete, or of another program, or a step fails.
    pub async fn advance(
        &self,
        connection: &mut ConnectionOf<D>,
    ) -> Result<Option<BesideWriters>, SqlError> {
        D::before_tables(connection, &self.names).await?;
        D::Database::run(connection, self.versions.create.clone()).await?;
        let version = match self.version(connection).await? {
            Some(version) => version,
            None => {
                self.note(connection, 0).await?;
                0
            }
        };
        for (position, step) in self.steps.iter().enumerate().skip(version) {
            if step.beside_writers {
                return Ok(Some(BesideWriters { position }));
            }
            self.run_in_transaction(connection, step, position + 1)
                .await?;
        }
        for column in self.missing_columns(connection).await? {
            D::Database::run(connection, column.add.clone()).await?;
        }
        if let Owner::Application(application) = &self.owner {
            self.check_tables_of(connection, &application.name).await?;
        }
        Ok(None)
    }

    async fn run_in_transaction(
        &self,
        connection: &mut ConnectionOf<D>,
        step: &Step,
        version: usize,
    ) -> Result<(), SqlError> {
        match &self.owner {
            Owner::Application(application) => application.run(self, connection, version).await,
            Owner::Store(_) => {
                D::Database::run(connection, step.sql.clone()).await?;
                self.note(connection, version).await
            }
        }
    }

    /// Runs a step while others write, and notes the version; outside any transaction, in the session of the
    /// [`lock`](Self::lock), which has no limits on time afterwards.
    ///
    /// It goes on from what an interrupted run left: an index that is whole is not made again, and one that is broken is dropped
    /// first.
    ///
    /// # Errors
    /// If the step fails. Run again, it goes on.
    pub async fn run_beside_writers(
        &self,
        connection: &mut ConnectionOf<D>,
        step: BesideWriters,
    ) -> Result<(), SqlError> {
        let version = step.position + 1;
        let step = &self.steps[step.position];
        let texts = D::INDEXES.beside_writers;
        let before = texts.expect("only such a database has such steps").before;
        D::Database::run(connection, self.names.fill(before)).await?;
        let made = async {
            if !self.is_made(connection, step).await? {
                self.make_beside_writers(connection, step, version).await?;
            }
            Ok(())
        };
        made.await.map_err(|error| match &self.owner {
            Owner::Store(_) => error,
            Owner::Application(application) => application.failed::<D>(version, error),
        })?;
        self.note(connection, version).await
    }

    async fn is_made(
        &self,
        connection: &mut ConnectionOf<D>,
        step: &Step,
    ) -> Result<bool, SqlError> {
        let Some(IndexStatements { state, drop }) = &step.index else {
            return Ok(false);
        };
        let values = Values::<D>::with_capacity(0).into_arguments();
        let rows = D::Database::fetch_all(connection, state.clone(), values).await?;
        match rows
            .first()
            .map(|row| get_integer::<D>(row, 0))
            .transpose()?
        {
            Some(1) => return Ok(true),
            None => {}
            Some(_) => {
                tracing::info!(
                    component = self.component(),
                    "dropping an index that was left broken when its making was interrupted"
                );
                D::Database::run(connection, drop.clone()).await?;
            }
        }
        Ok(false)
    }

    /// Reports from time to time that the step is still under way: it may wait for the transactions of others.
    async fn make_beside_writers(
        &self,
        connection: &mut ConnectionOf<D>,
        step: &Step,
        version: usize,
    ) -> Result<(), SqlError> {
        let (component, sql) = (self.component(), step.sql.as_str());
        tracing::info!(
            component,
            version,
            sql,
            "bringing tables up to date while others write"
        );
        let began = Instant::now();
        let mut words = interval_at(tokio::time::Instant::now() + BETWEEN_WORDS, BETWEEN_WORDS);
        words.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut running = D::Database::run(connection, step.sql.clone());
        let result = loop {
            tokio::select! {
                biased;
                result = &mut running => break result,
                _ = words.tick() => tracing::info!(
                    component,
                    version,
                    seconds = began.elapsed().as_secs(),
                    "still bringing tables up to date while others write; transactions that began before are waited for"
                ),
            }
        };
        result?;
        let seconds = began.elapsed().as_secs();
        tracing::info!(component, version, seconds, "tables are up to date");
        Ok(())
    }

    async fn missing_columns(
        &self,
        connection: &mut ConnectionOf<D>,
    ) -> Result<Vec<&super::MoreColumn>, SqlError> {
        if self.more_columns.is_empty() {
            return Ok(Vec::new());
        }
        let found = self.columns_of(connection, &self.tables[0]).await?;
        let columns = self.more_columns.iter();
        Ok(columns
            .filter(|column| !has_column(&found, column.name.as_str()))
            .collect())
    }

    /// Fails if the stores cannot be written to.
    ///
    /// # Errors
    /// If that is so; the message says why.
    pub async fn check_writable(&self, connection: &mut ConnectionOf<D>) -> Result<(), SqlError> {
        match &self.owner {
            Owner::Store(_) => D::check_writable(connection, &self.names).await,
            Owner::Application(_) => Ok(()),
        }
    }
}
