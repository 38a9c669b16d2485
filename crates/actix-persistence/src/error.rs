//! Errors that few programs name, and the parts of errors; the others stand where they are returned.

pub use actix_persistence_persistent_actor::{
    DeadLetterCause, DeleteMessagesError, ErrorChain, FromPersistError, InvalidMetadata,
    InvalidUpcasters, LoadSnapshotError, RejectionCause, ReplayIssue, ReplayIssueKind,
    SaveSnapshotError, UnknownStore,
};
pub use actix_persistence_storage_api::{InvalidPersistenceId, StorageError, StorageErrorKind};

pub use crate::commands::CommandError;
pub use crate::replay::ReplayError;
