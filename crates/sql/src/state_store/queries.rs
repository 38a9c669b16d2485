//! The queries over the states.

use std::sync::Arc;

use actix_persistence_storage_api::{
    LastChange, Operation, PersistenceId, PersistenceIdsQuery, StateChangesPage, StateChangesQuery,
    StateQueries, StorageError,
};
use async_trait::async_trait;

use super::SqlStateStore;
use super::changes::{read_changes, read_last_change};
use super::state_table::StateTable;
use crate::ids::{IdRange, read_ids};
use crate::{Dialect, Settings};

#[async_trait]
impl<D: Dialect> StateQueries for SqlStateStore<D> {
    async fn current_persistence_ids(
        &self,
        query: PersistenceIdsQuery,
    ) -> Result<Vec<PersistenceId>, StorageError> {
        if query.limit == 0 {
            return Ok(Vec::new());
        }
        let Some(range) = IdRange::of(&query) else {
            return Ok(Vec::new());
        };
        if let Some(entity_type) = &query.entity_type {
            return self
                .ids_in(&self.entities.of_type(entity_type).table, &range)
                .await;
        }
        // A page of each table holds every id that the page of all of them can have.
        let mut ids = Vec::new();
        for table in self.entities.tables() {
            ids.extend(self.ids_in(table, &range).await?);
        }
        ids.sort_unstable();
        ids.dedup();
        ids.truncate(query.limit);
        Ok(ids)
    }

    async fn changes(&self, query: StateChangesQuery) -> Result<StateChangesPage, StorageError> {
        if query.limit == 0 {
            return Ok(StateChangesPage::new(Vec::new(), query.after, false));
        }
        let statements = Arc::clone(&self.entities.of_type(&query.entity_type).table.statements);
        let max_bytes = self.options.store().max_page_bytes;
        self.connections
            .read(Operation::StateChanges, move |connection| {
                Box::pin(async move {
                    read_changes::<D>(connection, &statements, &query, max_bytes).await
                })
            })
            .await
    }

    async fn last_change(
        &self,
        persistence_id: &PersistenceId,
    ) -> Result<Option<LastChange>, StorageError> {
        let id = persistence_id.clone();
        let statements = Arc::clone(&self.entities.of_type(id.entity_type()).table.statements);
        self.connections
            .read(Operation::StateChanges, move |connection| {
                Box::pin(async move { read_last_change::<D>(connection, &statements, &id).await })
            })
            .await
    }
}

impl<D: Dialect> SqlStateStore<D> {
    async fn ids_in(
        &self,
        table: &StateTable<D>,
        range: &IdRange,
    ) -> Result<Vec<PersistenceId>, StorageError> {
        let statements = &table.statements;
        let sql = range.sql(&statements.ids, &statements.ids_without_type);
        let values = range.values::<D>();
        self.connections
            .read(Operation::CurrentPersistenceIds, move |connection| {
                Box::pin(read_ids::<D>(connection, sql, values))
            })
            .await
    }
}
