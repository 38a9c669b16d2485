//! Ways for a state store to break the contract.

mod changes;
mod deleting;
mod grouping;
mod ids;
mod keeping;
mod restarting;
mod revisions;

pub(crate) use changes::*;
pub(crate) use deleting::*;
pub(crate) use grouping::*;
pub(crate) use ids::*;
pub(crate) use keeping::*;
pub(crate) use restarting::*;
pub(crate) use revisions::*;

/// Defines a defect without state in one method.
macro_rules! defect {
    ($(#[$doc:meta])* $name:ident, get($inner:ident, $id:ident) $body:block) => {
        $(#[$doc])*
        #[derive(Clone, Default)]
        pub(crate) struct $name;

        #[async_trait]
        impl StateDefect for $name {
            async fn get(
                &self,
                $inner: &MemoryStateStore,
                $id: &PersistenceId,
            ) -> Result<CurrentState, StorageError> $body
        }
    };
    ($(#[$doc:meta])* $name:ident, upsert($inner:ident, $update:ident) $body:block) => {
        $(#[$doc])*
        #[derive(Clone, Default)]
        pub(crate) struct $name;

        #[async_trait]
        impl StateDefect for $name {
            async fn upsert(
                &self,
                $inner: &MemoryStateStore,
                $update: StateUpdate,
            ) -> Result<(), StorageError> $body
        }
    };
    ($(#[$doc:meta])* $name:ident, delete($inner:ident, $delete:ident) $body:block) => {
        $(#[$doc])*
        #[derive(Clone, Default)]
        pub(crate) struct $name;

        #[async_trait]
        impl StateDefect for $name {
            async fn delete(
                &self,
                $inner: &MemoryStateStore,
                $delete: StateDelete,
            ) -> Result<(), StorageError> $body
        }
    };
    ($(#[$doc:meta])* $name:ident, hard_delete($inner:ident, $id:ident) $body:block) => {
        $(#[$doc])*
        #[derive(Clone, Default)]
        pub(crate) struct $name;

        #[async_trait]
        impl StateDefect for $name {
            async fn hard_delete(
                &self,
                $inner: &MemoryStateStore,
                $id: &PersistenceId,
            ) -> Result<bool, StorageError> $body
        }
    };
    ($(#[$doc:meta])* $name:ident, persistence_ids($inner:ident, $query:pat_param) $body:block) => {
        $(#[$doc])*
        #[derive(Clone, Default)]
        pub(crate) struct $name;

        #[async_trait]
        impl StateDefect for $name {
            fn has_queries(&self) -> bool {
        true
    }

            async fn persistence_ids(
                &self,
                $inner: &MemoryStateStore,
                $query: PersistenceIdsQuery,
            ) -> Result<Vec<PersistenceId>, StorageError> $body
        }
    };
    ($(#[$doc:meta])* $name:ident, changes($inner:ident, $query:pat_param) $body:block) => {
        $(#[$doc])*
        #[derive(Clone, Default)]
        pub(crate) struct $name;

        #[async_trait]
        impl StateDefect for $name {
            fn has_queries(&self) -> bool {
        true
    }

            async fn changes(
                &self,
                $inner: &MemoryStateStore,
                $query: StateChangesQuery,
            ) -> Result<StateChangesPage, StorageError> $body
        }
    };
    ($(#[$doc:meta])* $name:ident, last_change($inner:ident, $id:ident) $body:block) => {
        $(#[$doc])*
        #[derive(Clone, Default)]
        pub(crate) struct $name;

        #[async_trait]
        impl StateDefect for $name {
            fn has_queries(&self) -> bool {
        true
    }

            async fn last_change(
                &self,
                $inner: &MemoryStateStore,
                $id: &PersistenceId,
            ) -> Result<Option<LastChange>, StorageError> $body
        }
    };
}

use defect;
