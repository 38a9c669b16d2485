//! SQL of the application in the store's database: change handlers, columns and tables of its own, `transact`, and the schema.

pub use actix_persistence_storage_api::{
    AdditionalColumn, ChangeHandler, ChangeKind, ColumnValue, ExtensionError, Roles, SchemaStep,
    SchemaSteps, Session, SessionWork, Sql, SqlRow, SqlValue, StateChange,
};

pub use crate::stores::StoreSchema;
pub use crate::transact::TransactError;
