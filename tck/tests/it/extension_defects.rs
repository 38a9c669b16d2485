//! Ways for a state store to break what it promises of extensions.

mod columns;
mod finding;
mod handlers;
mod sessions;

pub(crate) use columns::*;
pub(crate) use finding::*;
pub(crate) use handlers::*;
pub(crate) use sessions::*;

/// Defines a defect in one method.
macro_rules! defect {
    ($(#[$doc:meta])* $name:ident, extend($extensions:ident) $body:block) => {
        $(#[$doc])*
        pub(crate) struct $name;

        impl ExtensionDefect for $name {
            fn extend($extensions: &mut StateExtensions) $body
        }
    };
    ($(#[$doc:meta])* $name:ident, bind($column:ident, $change:ident) $body:block) => {
        $(#[$doc])*
        pub(crate) struct $name;

        impl ExtensionDefect for $name {
            fn bind(
                $column: &dyn AdditionalColumn,
                $change: &StateChange<'_>,
            ) -> Result<ColumnValue, ExtensionError> $body
        }
    };
    ($(#[$doc:meta])* $name:ident, process($handler:ident, $session:ident, $change:ident) $body:block) => {
        $(#[$doc])*
        pub(crate) struct $name;

        #[async_trait]
        impl ExtensionDefect for $name {
            async fn process(
                $handler: &dyn ChangeHandler,
                $session: &mut dyn Session,
                $change: &StateChange<'_>,
            ) -> Result<(), ExtensionError> $body
        }
    };
    ($(#[$doc:meta])* $name:ident, execute($session:ident, $sql:ident, $values:ident) $body:block) => {
        $(#[$doc])*
        pub(crate) struct $name;

        #[async_trait]
        impl ExtensionDefect for $name {
            async fn execute(
                $session: &mut dyn Session,
                $sql: Sql,
                $values: Vec<SqlValue>,
            ) -> Result<u64, StorageError> $body
        }
    };
    ($(#[$doc:meta])* $name:ident, select($session:ident, $sql:ident, $values:ident) $body:block) => {
        $(#[$doc])*
        pub(crate) struct $name;

        #[async_trait]
        impl ExtensionDefect for $name {
            async fn select(
                $session: &mut dyn Session,
                $sql: Sql,
                $values: Vec<SqlValue>,
            ) -> Result<Vec<SqlRow>, StorageError> $body
        }
    };
    ($(#[$doc:meta])* $name:ident, find($inner:ident, $query:pat_param) $body:block) => {
        $(#[$doc])*
        pub(crate) struct $name;

        #[async_trait]
        impl ExtensionDefect for $name {
            async fn find(
                $inner: &Extended,
                $query: FindStates,
            ) -> Result<Vec<FoundState>, StorageError> $body
        }
    };
    ($(#[$doc:meta])* $name:ident, upsert($inner:ident, $update:ident) $body:block) => {
        $(#[$doc])*
        pub(crate) struct $name;

        #[async_trait]
        impl ExtensionDefect for $name {
            async fn upsert($inner: &Extended, $update: StateUpdate) -> Result<(), StorageError> $body
        }
    };
}

use defect;
