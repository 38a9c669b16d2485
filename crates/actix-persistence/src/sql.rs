//! SQL of the application in the store's transaction: change handlers, columns of its own, `transact`, and the schema.

pub use actix_persistence_storage_api::{
    AdditionalColumn, ChangeHandler, ChangeKind, ColumnValue, ExtensionError, Roles, Session,
    SessionWork, Sql, SqlRow, SqlValue, StateChange,
};

pub use crate::stores::StoreSchema;
pub use crate::transact::TransactError;
