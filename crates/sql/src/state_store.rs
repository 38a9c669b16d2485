//! The state store.

mod changes;
mod ids;
mod load;
mod queries;
mod state_row;
mod state_table;
mod write;

use std::fmt;
use std::sync::Arc;

use actix_persistence_storage_api::{
    CurrentState, Operation, PersistenceId, Revision, RevisionConflict, Roles, StateCapabilities,
    StateQueries, StateStore, StateUpdate, StorageError, StorageErrorKind,
};
use async_trait::async_trait;

use crate::connection::Connections;
use crate::refusal;
use crate::turns::Turns;
use crate::values::{Values, to_integer};
use crate::{Dialect, InvalidOption, Settings};

pub(crate) use state_table::ORDERING;

use state_row::{Content, StateRow};
use state_table::StateTable;
use write::{Rule, Written};

/// A state store in a table of an SQL database, which may be that of a journal and a snapshot store.
///
/// Several state stores, in one process or many, may use the same table: the revision decides who may write.
pub struct SqlStateStore<D: Dialect> {
    connections: Arc<Connections<D::Connector>>,
    table: StateTable<D>,
    turns: Turns,
    options: D::Options,
}

impl<D: Dialect> SqlStateStore<D> {
    /// A state store with connections of its own; opens nothing before [`initialize`](StateStore::initialize).
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

    /// A state store with these connections.
    pub(crate) fn on(
        connections: Arc<Connections<D::Connector>>,
        options: D::Options,
    ) -> Result<Self, InvalidOption> {
        Ok(Self {
            connections,
            table: StateTable::new(&options, &options.store().state_table()?)?,
            turns: Turns::new(),
            options,
        })
    }

    /// The settings it was made with.
    pub fn options(&self) -> &D::Options {
        &self.options
    }

    /// The SQL that makes its tables, for a person who does it instead of `auto-initialize`; with roles, also what those
    /// are allowed.
    ///
    /// # Errors
    /// If the database knows no roles, or one of these cannot be used.
    pub fn schema_sql(&self, roles: Option<&Roles>) -> Result<String, String> {
        self.table.component.script(roles)
    }

    /// Where the states of an id are.
    fn table_of(&self, persistence_id: &PersistenceId) -> &StateTable<D> {
        self.table_of_type(persistence_id.entity_type())
    }

    /// Where the states of an entity type are.
    fn table_of_type(&self, _entity_type: &str) -> &StateTable<D> {
        &self.table
    }

    /// Where states are.
    fn tables(&self) -> impl Iterator<Item = &StateTable<D>> {
        std::iter::once(&self.table)
    }

    /// Which revisions a write may replace.
    fn rule(&self) -> Rule {
        if self.options.store().assert_single_writer {
            Rule::TheOneBefore
        } else {
            Rule::Any
        }
    }

    /// Puts content in the place of the revision before.
    async fn write(
        &self,
        operation: Operation,
        persistence_id: PersistenceId,
        revision: Revision,
        content: Content,
    ) -> Result<(), StorageError> {
        let Some(expected) = revision.checked_sub(1) else {
            return Err(StorageError::revision_0(operation, persistence_id));
        };
        let Some(number) = to_integer(revision) else {
            return Err(self.beyond(operation, persistence_id, expected).await);
        };
        let id = persistence_id.clone();
        let turn = self.turns.take([&id].into_iter()).await;
        let row = StateRow::new(persistence_id, number, content);
        let statements = Arc::clone(&self.table_of(&id).statements);
        let rule = self.rule();
        let written = self
            .connections
            .write(operation, row, move |connection, row| {
                // Until the work is dropped, which is when it has ended.
                let _ = &turn;
                let statements = Arc::clone(&statements);
                Box::pin(async move {
                    write::write_state::<D>(connection, &statements, &row, rule).await
                })
            })
            .await
            .map_err(|error| error.with_persistence_id(id.clone()))?;
        match written {
            Written::Stored => Ok(()),
            Written::Conflict { found } => {
                let conflict = RevisionConflict { expected, found };
                Err(StorageError::of_revisions(operation, id, conflict))
            }
        }
    }

    /// Why there is no place for a revision that no database can count to.
    async fn beyond(
        &self,
        operation: Operation,
        id: PersistenceId,
        expected: Revision,
    ) -> StorageError {
        if self.rule() == Rule::TheOneBefore
            && let Ok(CurrentState {
                revision: found, ..
            }) = self.get(&id).await
            && found != expected
        {
            let conflict = RevisionConflict { expected, found };
            return StorageError::of_revisions(operation, id, conflict);
        }
        let message = format!("no revision is above {}", i64::MAX);
        refused(StorageErrorKind::Unsupported, operation, id, message)
    }

    fn check(&self, update: &StateUpdate) -> Result<(), StorageError> {
        let refuse = |kind, message| {
            let id = update.persistence_id.clone();
            Err(refused(kind, Operation::UpsertState, id, message))
        };
        let limit = self.options.store().max_state_bytes;
        if update.payload.len() > limit {
            let message = format!(
                "it has more than {limit} bytes; make it smaller or raise 'max-state-bytes'"
            );
            return refuse(StorageErrorKind::TooLarge, message);
        }
        match refusal::of_state::<D>(&self.options, update) {
            Some(message) => refuse(StorageErrorKind::Unsupported, message),
            None => Ok(()),
        }
    }
}

#[async_trait]
impl<D: Dialect> StateStore for SqlStateStore<D> {
    async fn initialize(&self) -> Result<(), StorageError> {
        let component = Arc::clone(&self.table.component);
        self.connections
            .initialize(component, self.options.store().auto_initialize)
            .await
    }

    async fn get(&self, persistence_id: &PersistenceId) -> Result<CurrentState, StorageError> {
        let sql = self.table_of(persistence_id).statements.load.clone();
        let mut values = Values::<D>::with_capacity(1);
        values.id(persistence_id);
        self.connections
            .read(Operation::GetState, move |connection| {
                Box::pin(load::load::<D>(connection, sql, values))
            })
            .await
            .map_err(|error| error.with_persistence_id(persistence_id.clone()))
    }

    async fn upsert(&self, update: StateUpdate) -> Result<(), StorageError> {
        self.check(&update)?;
        let content = Content::live(update.payload, &update.tags);
        let (id, revision) = (update.persistence_id, update.revision);
        self.write(Operation::UpsertState, id, revision, content)
            .await
    }

    async fn delete(
        &self,
        persistence_id: &PersistenceId,
        revision: Revision,
    ) -> Result<(), StorageError> {
        let (id, content) = (persistence_id.clone(), Content::tombstone());
        self.write(Operation::DeleteState, id, revision, content)
            .await
    }

    async fn hard_delete(&self, persistence_id: &PersistenceId) -> Result<bool, StorageError> {
        let turn = self.turns.take([persistence_id].into_iter()).await;
        let sql = self.table_of(persistence_id).statements.remove.clone();
        let id = persistence_id.clone();
        self.connections
            .write(Operation::HardDeleteState, id, move |connection, id| {
                let _ = &turn;
                let sql = sql.clone();
                Box::pin(async move { write::remove::<D>(connection, sql, &id).await })
            })
            .await
            .map_err(|error| error.with_persistence_id(persistence_id.clone()))
    }

    fn capabilities(&self) -> StateCapabilities {
        StateCapabilities::default()
            .with_tags()
            .with_max_state_bytes(self.options.store().max_state_bytes)
    }

    fn queries(&self) -> Option<&dyn StateQueries> {
        Some(self)
    }
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
