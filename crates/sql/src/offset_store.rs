//! The offset store of every SQL database.

mod changes;
mod parked;
mod queries;
mod rows;
mod tables;
mod versions;

use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use actix_persistence_storage_api::{
    OffsetStore, Operation, ParkedId, ParkedItem, PersistenceId, ProgressCommit, ProjectionChange,
    ProjectionKey, ProjectionRecord, Replacement, Roles, SessionWork, ShareClaim, Skipped,
    StorageError, StorageErrorKind, TakenShare,
};
use async_trait::async_trait;

use crate::connection::{Connections, Visit};
use crate::schema::StoreSchema;
use crate::session::{SqlSession, guarded};
use crate::state_store::check_handler_timeout;
use crate::{ConnectionOf, Connector, Dialect, InvalidOption, Settings, SqlError, Work};

use tables::Tables;

/// An offset store in tables of an SQL database, which may be that of a journal; handlers of projections run in its
/// transactions.
///
/// Several offset stores, in one process or many, may use the same tables.
pub struct SqlOffsetStore<D: Dialect> {
    connections: Arc<Connections<D::Connector>>,
    tables: Tables,
    schema: Arc<StoreSchema<D>>,
    options: D::Options,
}

impl<D: Dialect> SqlOffsetStore<D> {
    /// Makes an offset store with connections of its own; opens nothing before
    /// [`initialize`](OffsetStore::initialize).
    ///
    /// The plugin makes stores that share connections where they share a database.
    ///
    /// # Errors
    /// If a setting cannot be used.
    pub fn new(options: D::Options) -> Result<Self, InvalidOption> {
        options.validate()?;
        let connections = Connections::new(D::connector(&options)?);
        Self::on(Arc::new(connections), options)
    }

    /// Makes an offset store with these connections.
    pub(crate) fn on(
        connections: Arc<Connections<D::Connector>>,
        options: D::Options,
    ) -> Result<Self, InvalidOption> {
        check_handler_timeout(&options, connections.connector())?;
        let store = options.store();
        let table = store.projection_table()?;
        let mut names = D::names(&options)?.table("projection_table", &table);
        for beside in StoreSchema::<D>::BESIDE_PROJECTIONS {
            names = names.table(&format!("{beside}_table"), &table.index(beside));
        }
        Ok(Self {
            connections,
            tables: Tables::new::<D>(names.clone()),
            schema: Arc::new(StoreSchema::offset_store(names, &table)),
            options,
        })
    }

    /// Returns the settings it was made with.
    pub fn options(&self) -> &D::Options {
        &self.options
    }

    /// Returns the SQL that makes its tables, for a person who does it instead of `auto-initialize`; with roles, also
    /// what those are allowed.
    ///
    /// # Errors
    /// If the database knows no roles, or one of these cannot be used.
    pub fn schema_sql(&self, roles: Option<&Roles>) -> Result<String, String> {
        self.schema.script(roles)
    }

    /// Runs one statement about a projection that reads.
    async fn look<T: Send + 'static>(
        &self,
        projection: &ProjectionKey,
        work: impl for<'c> FnOnce(OnTables<'c, D>) -> Work<'c, T> + Send + 'static,
    ) -> Result<T, StorageError> {
        let (tables, projection) = (self.tables.clone(), projection.clone());
        self.connections
            .read(Operation::ReadProjection, move |connection| {
                work(OnTables {
                    tables,
                    connection,
                    projection,
                })
            })
            .await
    }

    /// Runs statements about a projection in one transaction that writes.
    async fn write<I, T>(
        &self,
        operation: Operation,
        projection: &ProjectionKey,
        input: I,
        work: impl for<'c> Fn(OnTables<'c, D>, I) -> Work<'c, T> + Send + Sync + 'static,
    ) -> Result<T, StorageError>
    where
        I: Clone + Send + 'static,
        T: Send + 'static,
    {
        let tables = self.tables.clone();
        let input = (projection.clone(), input);
        self.connections
            .transaction(operation, input, move |connection, (projection, input)| {
                let on = OnTables {
                    tables: tables.clone(),
                    connection,
                    projection,
                };
                work(on, input)
            })
            .await
    }

    /// Runs statements about projections in one transaction, and then the work of the application in it.
    ///
    /// A statement of a handler waits for a lock for at most half of the handler's time, so that a lock of others is not taken for a
    /// fault of the handler.
    async fn write_with(
        &self,
        operation: Operation,
        what: &'static str,
        work: SessionWork,
        statements: impl for<'c> FnOnce(Tables, &'c mut ConnectionOf<D>) -> Work<'c, ()>
        + Send
        + 'static,
    ) -> Result<(), StorageError> {
        let limit = self.options.store().handler_timeout;
        let (tables, visit) = (self.tables.clone(), Visit::of(limit));
        let limits = match operation {
            Operation::CommitProgress => self.connections.connector().limit_lock_waits(limit / 2),
            // Nobody tries it again.
            _ => String::new(),
        };
        self.connections
            .transaction_once(operation, visit.clone(), move |connection| {
                Box::pin(async move {
                    statements(tables, connection).await?;
                    let mut session =
                        SqlSession::<D>::begin_with(connection, &visit, false, &limits).await?;
                    let result = guarded(what, limit, work.run(&mut session)).await;
                    let ended = session.end_last(what, result).await;
                    ended.map_err(SqlError::of_rows_of_the_application)
                })
            })
            .await
    }
}

/// A connection and what it is used for.
struct OnTables<'c, D: Dialect> {
    tables: Tables,
    connection: &'c mut ConnectionOf<D>,
    projection: ProjectionKey,
}

impl<D: Dialect> OnTables<'_, D> {
    fn get(&mut self) -> tables::Transaction<'_, D> {
        self.tables.of(self.connection, &self.projection)
    }
}

#[async_trait]
impl<D: Dialect> OffsetStore for SqlOffsetStore<D> {
    async fn initialize(&self) -> Result<(), StorageError> {
        let schema = Arc::clone(&self.schema);
        self.connections
            .initialize(schema, self.options.store().auto_initialize)
            .await
    }

    async fn register(
        &self,
        projection: &ProjectionKey,
        shares: u16,
        offset: &str,
    ) -> Result<(), StorageError> {
        let input = (shares, offset.to_owned());
        let operation = Operation::RegisterProjection;
        let register = || {
            self.write(
                operation,
                projection,
                input.clone(),
                |mut on, (shares, offset)| {
                    Box::pin(async move { on.get().register(shares, &offset).await })
                },
            )
        };
        let Err(error) = register().await else {
            return Ok(());
        };
        // Another one may have made it at the same time, or another version, which is live then.
        if self.read(projection).await?.is_some() {
            return Ok(());
        }
        if self.live_version(projection.name()).await?.is_none() {
            return Err(error);
        }
        match register().await {
            Err(error) if self.read(projection).await?.is_none() => Err(error),
            _ => Ok(()),
        }
    }

    async fn read(
        &self,
        projection: &ProjectionKey,
    ) -> Result<Option<ProjectionRecord>, StorageError> {
        self.look(projection, |mut on| {
            Box::pin(async move { on.get().record().await })
        })
        .await
    }

    async fn keys(&self) -> Result<Vec<ProjectionKey>, StorageError> {
        let tables = self.tables.clone();
        self.connections
            .read(Operation::ReadProjection, move |connection| {
                Box::pin(async move { tables.keys::<D>(connection).await })
            })
            .await
    }

    async fn attend(
        &self,
        projection: &ProjectionKey,
        owner: &str,
        lease: Duration,
    ) -> Result<ProjectionRecord, StorageError> {
        let operation = Operation::AttendProjection;
        self.write(
            operation,
            projection,
            owner.to_owned(),
            move |mut on, owner| Box::pin(async move { on.get().attend(&owner, lease).await }),
        )
        .await
    }

    async fn leave(&self, projection: &ProjectionKey, owner: &str) -> Result<(), StorageError> {
        let operation = Operation::LeaveProjection;
        self.write(operation, projection, owner.to_owned(), |mut on, owner| {
            Box::pin(async move { on.get().leave(&owner).await })
        })
        .await
    }

    async fn take_share(
        &self,
        projection: &ProjectionKey,
        share: u16,
        owner: &str,
        lease: Duration,
    ) -> Result<TakenShare, StorageError> {
        let (operation, owner) = (Operation::TakeShare, Arc::<str>::from(owner));
        self.write(operation, projection, owner, move |mut on, owner| {
            Box::pin(async move { on.get().take(share, &owner, lease).await })
        })
        .await
    }

    async fn release_share(&self, claim: &ShareClaim) -> Result<(), StorageError> {
        let operation = Operation::ReleaseShare;
        self.write(
            operation,
            &claim.projection,
            claim.clone(),
            |mut on, claim| Box::pin(async move { on.get().release(&claim).await }),
        )
        .await
    }

    async fn count_attempt(&self, claim: &ShareClaim) -> Result<u32, StorageError> {
        let operation = Operation::CountAttempt;
        self.write(
            operation,
            &claim.projection,
            claim.clone(),
            |mut on, claim| Box::pin(async move { on.get().count_attempt(&claim).await }),
        )
        .await
    }

    async fn commit(
        &self,
        commit: ProgressCommit,
        work: Option<SessionWork>,
    ) -> Result<(), StorageError> {
        if let Some(refusal) = commit.refusal() {
            return Err(refusal);
        }
        let operation = Operation::CommitProgress;
        let Some(work) = work else {
            let projection = commit.claim.projection.clone();
            return self
                .write(operation, &projection, commit, |mut on, commit| {
                    Box::pin(async move { on.get().commit(&commit).await })
                })
                .await;
        };
        let what = "the handler of a projection";
        self.write_with(operation, what, work, |tables, connection| {
            Box::pin(async move {
                let on = &mut tables.of::<D>(connection, &commit.claim.projection);
                on.commit(&commit).await
            })
        })
        .await
    }

    async fn halt(&self, claim: &ShareClaim, reason: &str) -> Result<(), StorageError> {
        let input = (claim.clone(), reason.to_owned());
        let operation = Operation::HaltShare;
        self.write(
            operation,
            &claim.projection,
            input,
            |mut on, (claim, reason)| Box::pin(async move { on.get().halt(&claim, &reason).await }),
        )
        .await
    }

    async fn change(
        &self,
        projection: &ProjectionKey,
        change: ProjectionChange,
    ) -> Result<(), StorageError> {
        let operation = Operation::ChangeProjection;
        match change {
            ProjectionChange::Pause | ProjectionChange::Resume => {
                let paused = change == ProjectionChange::Pause;
                self.write(operation, projection, paused, |mut on, paused| {
                    Box::pin(async move { on.get().set_paused(paused).await })
                })
                .await
            }
            ProjectionChange::ResumeLive => {
                self.write(operation, projection, (), |mut on, ()| {
                    Box::pin(async move { on.get().resume_live().await })
                })
                .await
            }
            ProjectionChange::SetOffset(offset) => {
                self.write(operation, projection, offset, |mut on, offset| {
                    Box::pin(async move { on.get().set_offset(&offset).await })
                })
                .await
            }
            ProjectionChange::Divide(number) => {
                self.write(operation, projection, number, |mut on, number| {
                    Box::pin(async move { on.get().divide(number).await })
                })
                .await
            }
            ProjectionChange::RequestParked {
                persistence_id,
                request,
            } => {
                let input = (persistence_id, request);
                self.write(operation, projection, input, |mut on, (id, request)| {
                    Box::pin(async move { on.get().request_parked(id.as_ref(), request).await })
                })
                .await
            }
            ProjectionChange::RetryAgain(id) => {
                self.write(operation, projection, id, |mut on, id| {
                    Box::pin(async move { on.get().retry_again(&id).await })
                })
                .await
            }
            ProjectionChange::Remove => {
                self.write(operation, projection, (), |mut on, ()| {
                    Box::pin(async move { on.get().remove().await })
                })
                .await
            }
            _ => {
                let error = StorageError::new(StorageErrorKind::Unsupported, operation);
                Err(error
                    .not_stored()
                    .with_message("the change is of a kind that this plugin does not know"))
            }
        }
    }

    async fn skipped(
        &self,
        projection: &ProjectionKey,
        limit: usize,
    ) -> Result<Vec<Skipped>, StorageError> {
        self.look(projection, move |mut on| {
            Box::pin(async move { on.get().skipped(limit).await })
        })
        .await
    }

    async fn parked(
        &self,
        projection: &ProjectionKey,
        slices: RangeInclusive<u16>,
        after: Option<&PersistenceId>,
        limit: usize,
    ) -> Result<Vec<ParkedId>, StorageError> {
        let after = after.cloned();
        self.look(projection, move |mut on| {
            Box::pin(async move { on.get().parked(&slices, after.as_ref(), limit).await })
        })
        .await
    }

    async fn parked_items(
        &self,
        projection: &ProjectionKey,
        persistence_id: &PersistenceId,
        limit: usize,
    ) -> Result<Vec<ParkedItem>, StorageError> {
        let id = persistence_id.clone();
        self.look(projection, move |mut on| {
            Box::pin(async move { on.get().parked_items(&id, limit).await })
        })
        .await
    }

    async fn begin_retry(
        &self,
        claim: &ShareClaim,
        persistence_id: &PersistenceId,
    ) -> Result<u32, StorageError> {
        let input = (claim.clone(), persistence_id.clone());
        let operation = Operation::BeginRetry;
        self.write(
            operation,
            &claim.projection,
            input,
            |mut on, (claim, id)| Box::pin(async move { on.get().begin_retry(&claim, &id).await }),
        )
        .await
    }

    async fn note_parked(
        &self,
        claim: &ShareClaim,
        persistence_id: &PersistenceId,
        reason: &str,
    ) -> Result<(), StorageError> {
        let input = (claim.clone(), persistence_id.clone(), reason.to_owned());
        let operation = Operation::NoteParked;
        self.write(
            operation,
            &claim.projection,
            input,
            |mut on, (claim, id, reason)| {
                Box::pin(async move { on.get().note_parked(&claim, &id, &reason).await })
            },
        )
        .await
    }

    async fn replace(
        &self,
        replacement: Replacement,
        work: Option<SessionWork>,
    ) -> Result<(), StorageError> {
        if let Some(refusal) = replacement.refusal() {
            return Err(refusal);
        }
        let operation = Operation::ReplaceVersion;
        let Some(work) = work else {
            let tables = self.tables.clone();
            return self
                .connections
                .transaction(operation, replacement, move |connection, replacement| {
                    let tables = tables.clone();
                    Box::pin(async move { tables.replace::<D>(connection, &replacement).await })
                })
                .await;
        };
        let what = "what the application does as versions are replaced";
        self.write_with(operation, what, work, |tables, connection| {
            Box::pin(async move { tables.replace::<D>(connection, &replacement).await })
        })
        .await
    }

    async fn live_version(&self, name: &str) -> Result<Option<u32>, StorageError> {
        let (tables, name) = (self.tables.clone(), name.to_owned());
        self.connections
            .read(Operation::ReadProjection, move |connection| {
                Box::pin(async move { tables.live_version::<D>(connection, &name).await })
            })
            .await
    }

    fn has_transactions(&self) -> bool {
        true
    }

    async fn close(&self) {
        self.connections.close().await;
    }
}

impl<D: Dialect> fmt::Debug for SqlOffsetStore<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqlOffsetStore")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
