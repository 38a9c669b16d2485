//! Extras of stores in SQL databases: sessions, columns beside a state, change handlers, tables of the application, finding states, roles.

mod additional_column;
mod change_handler;
mod roles;
mod schema_steps;
mod session;
mod sql_states;
mod sql_value;
mod state_extensions;

pub use additional_column::{AdditionalColumn, ColumnValue};
pub use change_handler::ChangeHandler;
pub use roles::Roles;
pub use schema_steps::{SchemaChange, SchemaStep, SchemaSteps};
pub use session::{ExtensionError, RowError, Session, Sql, SqlRow};
pub use sql_states::{FindStates, FoundState, SessionFuture, SessionWork, SqlStates};
pub use sql_value::{FromSqlValue, SqlValue};
pub use state_extensions::{EntityExtensions, StateExtensions};
