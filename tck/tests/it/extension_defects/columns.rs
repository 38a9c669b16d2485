//! Defects of columns beside states.

use actix_persistence_storage_api::{
    AdditionalColumn, ChangeKind, ColumnValue, ExtensionError, SqlValue, StateChange,
    StateExtensions, StorageError, StorageErrorKind,
};
use async_trait::async_trait;

use super::defect;
use crate::broken_extensions::{Extended, ExtensionDefect};

defect! {
    /// Has no columns.
    ForgetsColumns,
    extend(extensions) {
        for entity_type in extensions.entity_types.values_mut() {
            entity_type.columns.clear();
        }
    }
}

defect! {
    /// Stores columns with the first state alone.
    BindsColumnsOnce,
    bind(column, change) {
        match change.revision {
            1 => column.bind(change),
            _ => Ok(ColumnValue::Keep),
        }
    }
}

defect! {
    /// Lets values outlive their states, as Akka's plugin does.
    AsksNoColumnOfADelete,
    bind(column, change) {
        match change.kind {
            ChangeKind::Deleted => Ok(ColumnValue::Keep),
            _ => column.bind(change),
        }
    }
}

defect! {
    /// Takes what is to be kept for what is to be cleared.
    ClearsWhatIsKept,
    bind(column, change) {
        Ok(match column.bind(change)? {
            ColumnValue::Keep => ColumnValue::Set(SqlValue::Null),
            value => value,
        })
    }
}

defect! {
    /// Takes what is to be cleared for what is to be kept.
    KeepsWhatIsCleared,
    bind(column, change) {
        Ok(match column.bind(change)? {
            ColumnValue::Set(SqlValue::Null) => ColumnValue::Keep,
            value => value,
        })
    }
}

defect! {
    /// Stores the state beside whose column something went wrong.
    KeepsColumnsThatFail,
    bind(column, change) {
        Ok(column.bind(change).unwrap_or(ColumnValue::Keep))
    }
}

defect! {
    /// Does not say what a column said.
    KeepsTheReasonsOfColumns,
    bind(column, change) {
        column.bind(change).map_err(|_| "a column said no".into())
    }
}

/// Finds out at the first write that a column is missing.
pub(crate) struct LooksForNoColumns;

#[async_trait]
impl ExtensionDefect for LooksForNoColumns {
    async fn initialize(inner: &Extended) -> Result<(), StorageError> {
        match inner.store.initialize().await {
            Err(error) if error.kind() == StorageErrorKind::SchemaMismatch => Ok(()),
            result => result,
        }
    }
}

/// Does not say which column is missing.
pub(crate) struct NamesNoMissingColumn;

#[async_trait]
impl ExtensionDefect for NamesNoMissingColumn {
    async fn initialize(inner: &Extended) -> Result<(), StorageError> {
        let result = inner.store.initialize().await;
        result.map_err(|error| StorageError::new(error.kind(), error.operation()))
    }
}
