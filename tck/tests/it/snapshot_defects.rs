//! Ways for a snapshot store to break the contract.

use actix_persistence_storage_api::{SnapshotCriteria, Timestamp};

mod deleting;
mod identity;
mod loading;
mod restarting;
mod saving;

pub(crate) use deleting::*;
pub(crate) use identity::*;
pub(crate) use loading::*;
pub(crate) use restarting::*;
pub(crate) use saving::*;

/// Defines a defect without state in one method.
macro_rules! defect {
    ($(#[$doc:meta])* $name:ident, load($inner:ident, $id:ident, $criteria:ident) $body:block) => {
        $(#[$doc])*
        #[derive(Clone, Default)]
        pub(crate) struct $name;

        #[async_trait]
        impl SnapshotDefect for $name {
            async fn load(
                &self,
                $inner: &MemorySnapshotStore,
                $id: &PersistenceId,
                $criteria: SnapshotCriteria,
            ) -> Result<Option<SnapshotRecord>, StorageError> $body
        }
    };
    ($(#[$doc:meta])* $name:ident, save($inner:ident, $metadata:ident, $payload:ident) $body:block) => {
        $(#[$doc])*
        #[derive(Clone, Default)]
        pub(crate) struct $name;

        #[async_trait]
        impl SnapshotDefect for $name {
            async fn save(
                &self,
                $inner: &MemorySnapshotStore,
                $metadata: SnapshotMetadata,
                $payload: Payload,
            ) -> Result<(), StorageError> $body
        }
    };
    ($(#[$doc:meta])* $name:ident, delete($inner:ident, $metadata:ident) $body:block) => {
        $(#[$doc])*
        #[derive(Clone, Default)]
        pub(crate) struct $name;

        #[async_trait]
        impl SnapshotDefect for $name {
            async fn delete(
                &self,
                $inner: &MemorySnapshotStore,
                $metadata: &SnapshotMetadata,
            ) -> Result<(), StorageError> $body
        }
    };
    ($(#[$doc:meta])* $name:ident, delete_matching($inner:ident, $id:ident, $criteria:ident) $body:block) => {
        $(#[$doc])*
        #[derive(Clone, Default)]
        pub(crate) struct $name;

        #[async_trait]
        impl SnapshotDefect for $name {
            async fn delete_matching(
                &self,
                $inner: &MemorySnapshotStore,
                $id: &PersistenceId,
                $criteria: SnapshotCriteria,
            ) -> Result<(), StorageError> $body
        }
    };
}

use defect;

fn without_lower_bounds(criteria: SnapshotCriteria) -> SnapshotCriteria {
    SnapshotCriteria {
        min_sequence_nr: 0,
        min_timestamp: Timestamp::MIN,
        ..criteria
    }
}
