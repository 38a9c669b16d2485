//! The state store of every SQL database.

mod change_events;
mod changes;
mod columns;
mod entities;
mod find;
mod grouping;
mod guilty;
mod late_numbers;
mod load;
mod opening;
mod queries;
mod room;
mod state_row;
mod state_table;
mod together;
mod write;

use std::fmt;
use std::sync::Arc;

use actix_persistence_storage_api::{
    CurrentState, FindStates, FoundState, Operation, PersistenceId, Roles, SchemaSteps,
    SessionWork, SqlStates, StateCapabilities, StateDelete, StateExtensions, StateQueries,
    StateStore, StateUpdate, StateWrite, StorageError, StorageErrorKind,
};
use async_trait::async_trait;

use crate::connection::{Connections, Opening, Visit, with_opening, work_on};
use crate::schema::StoreSchema;
use crate::turns::Turns;
use crate::{ConnectionOf, Connector, Dialect, InvalidOption, Settings, Work, transact};

pub use state_row::StateRow;
pub(crate) use state_table::ORDERING;
pub use write::{row_was_skipped, state_counter_is_missing};

use change_events::ChangeEvents;
use entities::{Entities, Entity};
use late_numbers::LateNumbers;
use write::{Handling, Rule};

/// A state store in a table of an SQL database, which may be that of a journal and a snapshot store.
///
/// Several state stores, in one process or many, may use the same table: the revision decides who may write.
pub struct SqlStateStore<D: Dialect> {
    connections: Arc<Connections<D::Connector>>,
    entities: Entities<D>,
    /// The journal that records changes.
    change_events: Option<Arc<ChangeEvents<D>>>,
    /// The application's own tables.
    applications: Vec<Arc<StoreSchema<D>>>,
    turns: Turns,
    late_numbers: LateNumbers<D>,
    options: D::Options,
}

impl<D: Dialect> SqlStateStore<D> {
    /// Makes a state store with connections of its own; opens nothing before [`initialize`](StateStore::initialize).
    ///
    /// The plugin makes stores that share connections where they share a database.
    ///
    /// # Errors
    /// If a setting cannot be used.
    pub fn new(options: D::Options) -> Result<Self, InvalidOption> {
        Self::with_extensions(options, &StateExtensions::default())
    }

    /// Returns the same with what an application adds to it, but its journal of change events, which
    /// [`with_change_event_journal`](Self::with_change_event_journal) takes.
    ///
    /// # Errors
    /// If a setting or an extension cannot be used.
    pub fn with_extensions(
        options: D::Options,
        extensions: &StateExtensions,
    ) -> Result<Self, InvalidOption> {
        options.validate()?;
        let connections = Connections::new(D::connector(&options)?);
        Self::on(Arc::new(connections), options, extensions)
    }

    /// Makes a state store with these connections.
    pub(crate) fn on(
        connections: Arc<Connections<D::Connector>>,
        options: D::Options,
        extensions: &StateExtensions,
    ) -> Result<Self, InvalidOption> {
        check_handler_timeout(&options, connections.connector())?;
        let entities = Entities::new(&options, extensions)?;
        Ok(Self {
            late_numbers: LateNumbers::new(&connections, &entities),
            connections,
            entities,
            change_events: None,
            applications: applications(&options, &extensions.schema_steps)?,
            turns: Turns::new(),
            options,
        })
    }

    /// Returns the same value, which writes changes that come with an event into the journal with these settings.
    ///
    /// # Errors
    /// If one of them cannot be used, or the journal is in another database.
    pub fn with_change_event_journal(mut self, journal: D::Options) -> Result<Self, InvalidOption> {
        const KEY: &str = "change-event-journal";
        let journal = ChangeEvents::new(journal)?;
        if !journal.is_in(&self.connections) {
            let message =
                "must name a journal with the same 'url': events and states are stored together";
            return Err(InvalidOption::new(KEY, message));
        }
        self.change_events = Some(Arc::new(journal));
        Ok(self)
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
        let tables = self.entities.tables().iter();
        let scripts = tables.map(|table| {
            let columns = self.entities.columns_to_be_made(table);
            table.schema_with(columns).script(roles)
        });
        let of_applications = self.applications.iter();
        let scripts = scripts.chain(of_applications.map(|schema| schema.script(roles)));
        Ok(scripts.collect::<Result<Vec<_>, _>>()?.join("\n"))
    }

    fn handling(&self, entity: &Entity<D>) -> Option<Handling> {
        entity.handler.as_ref().map(|handler| Handling {
            handler: handler.clone(),
            visit: Visit::of(self.options.store().handler_timeout),
        })
    }

    /// Returns the rule for the revisions that a write may replace.
    fn rule(&self) -> Rule {
        if self.options.store().assert_single_writer {
            Rule::TheOneBefore
        } else {
            Rule::Any
        }
    }

    /// Returns the most changes of a group, as far as the database goes.
    fn most_changes(&self) -> usize {
        let all_share_statements = self.rule() == Rule::TheOneBefore
            && self.change_events.is_none()
            && self.entities.with_columns().next().is_none();
        match all_share_statements {
            true => D::MOST_CHANGES_TOGETHER,
            false => D::MOST_CHANGES,
        }
    }

    /// Runs work in a transaction, or, without company, as the dialect writes.
    async fn run<I, T>(
        &self,
        operation: Operation,
        company: Company,
        input: I,
        work: impl for<'c> Fn(&'c mut ConnectionOf<D>, I, Opening) -> Work<'c, T>
        + Send
        + Sync
        + 'static,
    ) -> Result<T, StorageError>
    where
        I: Clone + Send + 'static,
        T: Send + 'static,
    {
        let connections = &self.connections;
        match company {
            Company::Others if !D::WORK_BEGINS => {
                let work = with_opening::<D, _, _>(work, Opening::Done);
                connections
                    .transaction_storing(operation, input, work)
                    .await
            }
            Company::None | Company::Others => {
                connections
                    .begin_and_write(D::WORK_BEGINS, operation, input, work)
                    .await
            }
            Company::Application(visit) => {
                // Only removals are run like this.
                connections
                    .transaction_with(operation, visit, D::BEGIN, input, work)
                    .await
            }
        }
    }
}

#[async_trait]
impl<D: Dialect> StateStore for SqlStateStore<D> {
    async fn initialize(&self) -> Result<(), StorageError> {
        let auto_initialize = self.options.store().auto_initialize;
        for table in self.entities.tables() {
            let schema = Arc::clone(&table.schema);
            self.connections.initialize(schema, auto_initialize).await?;
        }
        if let Some(journal) = &self.change_events {
            let schema = Arc::clone(&journal.schema);
            let auto_initialize = journal.options.store().auto_initialize;
            self.connections.initialize(schema, auto_initialize).await?;
        }
        if auto_initialize {
            self.make_columns().await?;
        }
        // After the columns, of which they may make an index.
        for schema in &self.applications {
            let schema = Arc::clone(schema);
            self.connections.initialize(schema, auto_initialize).await?;
        }
        self.check_columns().await?;
        self.check_homes().await?;
        self.late_numbers.start().await;
        Ok(())
    }

    async fn get(&self, persistence_id: &PersistenceId) -> Result<CurrentState, StorageError> {
        let sql = self
            .entities
            .of(persistence_id)
            .table
            .statements
            .load
            .clone();
        let (journal, id) = (self.change_events.clone(), persistence_id.clone());
        self.connections
            .read(Operation::GetState, move |connection| {
                Box::pin(async move {
                    // The two need not be of one moment: a change with an event is checked again where it is stored.
                    if let Some(journal) = journal {
                        journal.check(connection, &id).await?;
                    }
                    load::load::<D>(connection, sql, &id).await
                })
            })
            .await
            .map_err(|error| error.with_persistence_id(persistence_id.clone()))
    }

    async fn upsert(&self, update: StateUpdate) -> Result<(), StorageError> {
        self.write(update.into()).await
    }

    async fn delete(&self, delete: StateDelete) -> Result<(), StorageError> {
        self.write(delete.into()).await
    }

    async fn write_group(
        &self,
        changes: Vec<StateWrite>,
    ) -> Result<Vec<Result<(), StorageError>>, StorageError> {
        if changes.iter().any(|change| self.goes_alone(change)) {
            let mut outcomes = Vec::with_capacity(changes.len());
            for change in changes {
                outcomes.push(self.write(change).await);
            }
            return Ok(outcomes);
        }
        self.write_together(changes).await
    }

    /// Returns true for a change whose entity type has a change handler.
    fn goes_alone(&self, change: &StateWrite) -> bool {
        self.entities.of(change.persistence_id()).handler.is_some()
    }

    async fn hard_delete(&self, persistence_id: &PersistenceId) -> Result<bool, StorageError> {
        let turn = self.turns.take([persistence_id].into_iter()).await;
        let entity = self.entities.of(persistence_id);
        let statements = Arc::clone(&entity.table.statements);
        let handling = self.handling(entity);
        let company = match &handling {
            Some(handling) => Company::Application(handling.visit.clone()),
            None => Company::None,
        };
        let work = work_on::<D, _, _, _>(move |connection, id, opening| {
            let _ = &turn;
            let (statements, handling) = (Arc::clone(&statements), handling.clone());
            Box::pin(async move {
                write::remove::<D>(connection, &statements, &id, handling.as_ref(), opening).await
            })
        });
        let (operation, id) = (Operation::HardDeleteState, persistence_id.clone());
        let removed = self.run(operation, company, id, work).await;
        removed.map_err(|error| error.with_persistence_id(persistence_id.clone()))
    }

    fn sql(&self) -> Option<&dyn SqlStates> {
        Some(self)
    }

    async fn close(&self) {
        self.late_numbers.close().await;
        self.connections.close().await;
    }

    fn capabilities(&self) -> StateCapabilities {
        let capabilities = match self.change_events {
            Some(_) => StateCapabilities::default().with_change_events(),
            None => StateCapabilities::default(),
        };
        capabilities
            .with_tags()
            .with_sql_session()
            .with_max_state_bytes(self.options.store().max_state_bytes)
            .with_groups(
                D::lanes(&self.options),
                self.options
                    .store()
                    .max_group_events
                    .min(self.most_changes()),
                self.options.store().max_group_bytes,
            )
    }

    fn queries(&self) -> Option<&dyn StateQueries> {
        Some(self)
    }
}

#[async_trait]
impl<D: Dialect> SqlStates for SqlStateStore<D> {
    async fn find(&self, query: FindStates) -> Result<Vec<FoundState>, StorageError> {
        let entity = self.entities.of_type(&query.entity_type);
        let table = Arc::clone(&entity.table);
        let max_bytes = self.options.store().max_page_bytes;
        self.connections
            .read_for_application(Operation::FindStates, move |connection| {
                Box::pin(async move { find::find::<D>(connection, &table, query, max_bytes).await })
            })
            .await
    }

    async fn transact(&self, work: SessionWork) -> Result<(), StorageError> {
        let limit = self.options.store().handler_timeout;
        transact(&self.connections, limit, work).await
    }
}

/// Returns the schemas of the application's own tables.
fn applications<D: Dialect>(
    options: &D::Options,
    all: &[SchemaSteps],
) -> Result<Vec<Arc<StoreSchema<D>>>, InvalidOption> {
    let mut schemas = Vec::with_capacity(all.len());
    for (position, steps) in all.iter().enumerate() {
        let name = steps.name();
        if all[..position].iter().any(|other| other.name() == name) {
            let message = format!(
                "there are two lists of schema steps '{name}'; give each a name of its own"
            );
            return Err(InvalidOption::of_program(message));
        }
        let schema = StoreSchema::application(D::names(options)?, steps)?;
        schemas.push(Arc::new(schema));
    }
    Ok(schemas)
}

/// Fails unless a handler ends before others stop waiting for a connection: they wait while code of the application
/// runs. Those are other such calls everywhere, and where only one connection writes, all writers.
pub(crate) fn check_handler_timeout<C: Connector>(
    options: &<C::Dialect as Dialect>::Options,
    connector: &C,
) -> Result<(), InvalidOption> {
    let (limit, (acquire_timeout, _)) =
        (options.store().handler_timeout, connector.acquire_timeout());
    if limit < acquire_timeout {
        return Ok(());
    }
    let message = format!(
        "is {limit:?}, but others wait for a connection for no longer than {acquire_timeout:?}, as '{}' says: lower the one or raise \
         the other",
        C::ACQUIRE_TIMEOUT_KEY
    );
    Err(InvalidOption::new("handler-timeout", message))
}

/// The further work in the transaction that changes a state.
enum Company {
    None,
    /// The transaction makes other changes, too, or stores an event.
    Others,
    /// The transaction runs code of the application.
    Application(Visit),
}

impl<D: Dialect> fmt::Debug for SqlStateStore<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqlStateStore")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

fn refused(
    kind: StorageErrorKind,
    operation: Operation,
    id: PersistenceId,
    message: String,
) -> StorageError {
    StorageError::new(kind, operation)
        .not_stored()
        .with_persistence_id(id)
        .with_message(message)
}
