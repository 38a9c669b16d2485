//! The checks when a store is opened, beyond the versions of its tables.

use std::sync::Arc;

use actix_persistence_storage_api::{
    Operation, PersistenceIdsQuery, StateChangesQuery, StorageError,
};

use super::SqlStateStore;
use super::changes::read_changes;
use super::state_table::StateTable;
use crate::ids::{IdRange, read_ids};
use crate::{Dialect, SqlError};

impl<D: Dialect> SqlStateStore<D> {
    /// Makes the columns of the application that are missing and have a type.
    ///
    /// Several processes may do this at once: under the lock of migrations each looks before it makes one.
    pub(super) async fn make_columns(&self) -> Result<(), StorageError> {
        for entity in self.entities.with_columns() {
            let looked_at = Arc::clone(entity);
            let missing = self
                .connections
                .read(Operation::Initialize, move |connection| {
                    Box::pin(async move {
                        let table = &looked_at.table;
                        let found = table.schema.columns_of(connection, &table.name).await?;
                        Ok(looked_at.columns.to_be_made(&found))
                    })
                })
                .await?;
            if !missing.is_empty() {
                let schema = Arc::new(entity.table.schema_with(missing));
                self.connections.initialize(schema, true).await?;
            }
        }
        Ok(())
    }

    /// Looks for the columns of the application.
    pub(super) async fn check_columns(&self) -> Result<(), StorageError> {
        for entity in self.entities.with_columns() {
            let entity = Arc::clone(entity);
            self.connections
                .read(Operation::Initialize, move |connection| {
                    Box::pin(async move {
                        let table = &entity.table;
                        let found = table.schema.columns_of(connection, &table.name).await?;
                        entity.columns.check(&table.name, &found)
                    })
                })
                .await?;
        }
        Ok(())
    }

    /// Fails if another table of the store holds states of a type that has a table now: they would not be found there,
    /// and their actors would begin anew.
    pub(super) async fn check_homes(&self) -> Result<(), StorageError> {
        for (entity_type, home) in self.entities.with_tables() {
            let others = self.entities.tables().iter();
            for other in others.filter(|other| other.name != home.name) {
                self.check_holds_none(entity_type, home, other).await?;
            }
        }
        Ok(())
    }

    async fn check_holds_none(
        &self,
        entity_type: &str,
        home: &StateTable<D>,
        other: &Arc<StateTable<D>>,
    ) -> Result<(), StorageError> {
        let message = format!(
            "the table '{}' holds states of the entity type {entity_type:?}, whose table is '{}' now; move them there while \
             nothing writes them, or name the table in 'custom-table' in which they are",
            other.name.as_str(),
            home.name.as_str()
        );
        let other = Arc::clone(other);
        let query = PersistenceIdsQuery::new(1).of_entity_type(entity_type);
        let Some(range) = IdRange::of(&query.with_tombstones()) else {
            return Ok(());
        };
        // Ids without a type are among all others, but they are together in the index of changes.
        let of_type = (!entity_type.is_empty()).then_some(range);
        self.connections
            .read(Operation::Initialize, move |connection| {
                Box::pin(async move {
                    let statements = &other.statements;
                    let holds_none = match of_type {
                        Some(range) => {
                            let sql = range.sql(&statements.ids, &statements.ids_without_type);
                            let values = range.values::<D>();
                            read_ids::<D>(connection, sql, values).await?.is_empty()
                        }
                        None => {
                            let query = StateChangesQuery::new("", 1);
                            let page = read_changes::<D>(connection, statements, &query, 0).await?;
                            page.changes.is_empty()
                        }
                    };
                    match holds_none {
                        true => Ok(()),
                        false => Err(SqlError::mismatch(message)),
                    }
                })
            })
            .await
    }
}
