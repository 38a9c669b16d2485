//! SQL of the application in the store's database: change handlers, columns and tables of its own, `transact`, and the schema.

pub use actix_persistence_storage_api::{
    AdditionalColumn, ChangeHandler, ChangeKind, ColumnValue, ExtensionError, Roles, SchemaStep,
    SchemaSteps, Session, SessionWork, Sql, SqlRow, SqlValue, StateChange,
};

#[cfg(all(feature = "mysql", feature = "sqlx-0_9"))]
pub use actix_persistence_mysql::MysqlSession;
#[cfg(all(feature = "postgres", feature = "sqlx-0_9"))]
pub use actix_persistence_postgres::PostgresSession;
#[cfg(all(feature = "sqlite", feature = "sqlx-0_9"))]
pub use actix_persistence_sqlite::SqliteSession;

pub use crate::stores::StoreSchema;
pub use crate::transact::TransactError;
