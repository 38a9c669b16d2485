//! A state store on SQLite with one defect in what it makes of extensions.

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use actix_persistence_memory::MemoryStorage;
use actix_persistence_sqlite::{SqliteOptions, SqliteStateStore};
use actix_persistence_storage_api::{
    AdditionalColumn, ChangeHandler, ChangeKind, ColumnValue, ExtensionError, FindStates,
    FoundState, PersistenceId, Session, SessionWork, Sql, SqlRow, SqlStates, SqlValue, StateChange,
    StateExtensions, StateStore, StateUpdate, StorageError,
};
use actix_persistence_tck::{BoxError, Fixture, Kit, cases_needing};
use actix_persistence_testkit::{Hook, Intercepted, Next, StateAnswer, StateCall, StateStores};
use async_trait::async_trait;
use tempfile::TempDir;

/// Does something else instead of the right thing, as for journals.
#[async_trait]
pub(crate) trait ExtensionDefect: Send + Sync + 'static {
    fn extend(_extensions: &mut StateExtensions) {}

    fn bind(
        column: &dyn AdditionalColumn,
        change: &StateChange<'_>,
    ) -> Result<ColumnValue, ExtensionError> {
        column.bind(change)
    }

    async fn process(
        handler: &dyn ChangeHandler,
        session: &mut dyn Session,
        change: &StateChange<'_>,
    ) -> Result<(), ExtensionError> {
        handler.process(session, change).await
    }

    async fn execute(
        session: &mut dyn Session,
        sql: Sql,
        values: Vec<SqlValue>,
    ) -> Result<u64, StorageError> {
        session.execute_sql(sql, values).await
    }

    async fn select(
        session: &mut dyn Session,
        sql: Sql,
        values: Vec<SqlValue>,
    ) -> Result<Vec<SqlRow>, StorageError> {
        session.select_sql(sql, values).await
    }

    async fn transact(inner: &Extended, work: SessionWork) -> Result<(), StorageError> {
        inner.sql().transact(work).await
    }

    async fn find(inner: &Extended, query: FindStates) -> Result<Vec<FoundState>, StorageError> {
        inner.sql().find(query).await
    }

    async fn initialize(inner: &Extended) -> Result<(), StorageError> {
        inner.store.initialize().await
    }

    async fn upsert(inner: &Extended, update: StateUpdate) -> Result<(), StorageError> {
        inner.store.upsert(update).await
    }

    async fn hard_delete(inner: &Extended, id: &PersistenceId) -> Result<bool, StorageError> {
        inner.store.hard_delete(id).await
    }
}

/// A store without defect, and the handlers that it has.
pub(crate) struct Extended {
    pub(crate) store: Arc<dyn StateStore>,
    handlers: BTreeMap<String, Arc<dyn ChangeHandler>>,
}

impl Extended {
    pub(crate) fn sql(&self) -> &dyn SqlStates {
        self.store.sql().unwrap()
    }

    /// Calls the handler of an id in a transaction of its own, for an update or for the end of every trace.
    pub(crate) async fn call_handler(
        &self,
        id: &PersistenceId,
        update: Option<StateUpdate>,
    ) -> Result<(), StorageError> {
        let Some(handler) = self.handlers.get(id.entity_type()).cloned() else {
            return Ok(());
        };
        let id = id.clone();
        let work = SessionWork::new(move |session| {
            Box::pin(async move {
                let kind = match &update {
                    Some(StateUpdate { payload, tags, .. }) => {
                        ChangeKind::Updated { payload, tags }
                    }
                    None => ChangeKind::Removed,
                };
                let revision = update.as_ref().map_or(0, |update| update.revision);
                handler
                    .process(session, &StateChange::new(&id, revision, kind))
                    .await
            })
        });
        self.sql().transact(work).await
    }
}

/// A kit with nothing but state stores of this defect.
pub(crate) fn kit<D: ExtensionDefect>() -> Kit {
    Kit::new().state_store("", Broken::<D>(PhantomData))
}

/// Opens state stores with the defect `D`; those without extensions have none.
struct Broken<D>(PhantomData<fn() -> D>);

#[async_trait]
impl<D: ExtensionDefect> Fixture for Broken<D> {
    type Place = (MemoryStorage, TempDir);

    async fn create(&self) -> Self::Place {
        (MemoryStorage::new(), tempfile::tempdir().unwrap())
    }

    /// No case looks into the tables of a store without extensions, so the fastest one will do.
    async fn state_store(
        &self,
        (storage, _): &Self::Place,
    ) -> Result<Arc<dyn StateStore>, BoxError> {
        let inner = storage.state_store();
        // It says that it has extensions.
        let declared = inner.capabilities().with_sql_session();
        let store = Intercepted::state_store(inner).without_queries();
        Ok(Arc::new(store.with_capabilities(declared)))
    }

    async fn state_store_with(
        &self,
        (_, directory): &Self::Place,
        mut extensions: StateExtensions,
    ) -> Result<Arc<dyn StateStore>, BoxError> {
        D::extend(&mut extensions);
        let mut handlers = BTreeMap::new();
        for (name, entity_type) in &mut extensions.entity_types {
            for column in &mut entity_type.columns {
                *column = Arc::new(BrokenColumn::<D>(Arc::clone(column), PhantomData));
            }
            if let Some(handler) = &mut entity_type.change_handler {
                *handler = Arc::new(BrokenHandler::<D>(Arc::clone(handler), PhantomData));
                handlers.insert(name.clone(), Arc::clone(handler));
            }
        }
        let mut options = SqliteOptions::new(directory.path().join("tck.db").to_string_lossy());
        // Cases wait for it.
        options.store = options
            .store
            .with_handler_timeout(Duration::from_millis(500));
        let store: Arc<dyn StateStore> =
            Arc::new(SqliteStateStore::with_extensions(options, &extensions)?);
        let extended = Extended {
            store: Arc::clone(&store),
            handlers,
        };
        let broken = BrokenCalls::<D>(extended, PhantomData);
        Ok(Arc::new(Intercepted::<StateStores, _>::with_hook(
            store, broken,
        )))
    }

    fn expected_ignored(&self) -> Vec<String> {
        cases_needing(&["queries"])
    }
}

struct BrokenColumn<D>(Arc<dyn AdditionalColumn>, PhantomData<fn() -> D>);

impl<D: ExtensionDefect> AdditionalColumn for BrokenColumn<D> {
    fn column_name(&self) -> &str {
        self.0.column_name()
    }

    fn bind(&self, change: &StateChange<'_>) -> Result<ColumnValue, ExtensionError> {
        D::bind(&*self.0, change)
    }
}

struct BrokenHandler<D>(Arc<dyn ChangeHandler>, PhantomData<fn() -> D>);

#[async_trait]
impl<D: ExtensionDefect> ChangeHandler for BrokenHandler<D> {
    async fn process(
        &self,
        session: &mut dyn Session,
        change: &StateChange<'_>,
    ) -> Result<(), ExtensionError> {
        let mut session = BrokenSession::<D>(session, PhantomData);
        D::process(&*self.0, &mut session, change).await
    }
}

struct BrokenSession<'s, D>(&'s mut dyn Session, PhantomData<fn() -> D>);

#[async_trait]
impl<D: ExtensionDefect> Session for BrokenSession<'_, D> {
    fn database(&self) -> &'static str {
        self.0.database()
    }

    async fn execute_sql(&mut self, sql: Sql, values: Vec<SqlValue>) -> Result<u64, StorageError> {
        D::execute(self.0, sql, values).await
    }

    async fn select_sql(
        &mut self,
        sql: Sql,
        values: Vec<SqlValue>,
    ) -> Result<Vec<SqlRow>, StorageError> {
        D::select(self.0, sql, values).await
    }
}

/// Puts the defect in front of the calls that a defect can be in.
struct BrokenCalls<D>(Extended, PhantomData<fn() -> D>);

#[async_trait]
impl<D: ExtensionDefect> Hook<StateStores> for BrokenCalls<D> {
    async fn call(
        &self,
        call: StateCall,
        next: Next<StateStores>,
    ) -> Result<StateAnswer, StorageError> {
        Ok(match call {
            StateCall::Initialize => {
                D::initialize(&self.0).await?;
                StateAnswer::Done
            }
            StateCall::Upsert { update } => {
                D::upsert(&self.0, update).await?;
                StateAnswer::Done
            }
            StateCall::HardDelete { persistence_id } => {
                StateAnswer::Removed(D::hard_delete(&self.0, &persistence_id).await?)
            }
            StateCall::Find { query } => StateAnswer::Found(D::find(&self.0, query).await?),
            StateCall::Transact { work } => {
                let work = work.take().expect("the code of a transaction runs once");
                let work = SessionWork::new(move |session| {
                    Box::pin(async move {
                        let mut session = BrokenSession::<D>(session, PhantomData);
                        work.run(&mut session).await
                    })
                });
                D::transact(&self.0, work).await?;
                StateAnswer::Done
            }
            other => next.run(other).await?,
        })
    }
}
