#![doc = include_str!("../README.md")]

mod journal;
mod snapshot_store;
mod state_store;

mod plugin;

mod capabilities;
mod record;
mod sql;
mod storage_error;
mod text_limit;

mod config;

pub use journal::Journal;
pub use plugin::Plugin;
pub use snapshot_store::SnapshotStore;
pub use state_store::StateStore;

pub use capabilities::{Durability, JournalCapabilities, SnapshotCapabilities, StateCapabilities};
pub use journal::{
    AnyCommand, AtomicWrite, CommandAnswer, CommandRules, CommandTurn, EventDeletion, EventRecord,
    Fence, InvalidAtomicWrite, JournalCommand, PageLimit, PurgeProgress, ReplayPage, ReplayRange,
    StreamHead, TakeOverRequest, TakenOver, WriteOutcome,
};
pub use record::{
    Epoch, InvalidPersistenceId, NUMBER_OF_SLICES, Partition, Payload, PersistenceId, Revision,
    SequenceNr, Timestamp, WriterId, slice_of,
};
pub use snapshot_store::{SnapshotCriteria, SnapshotMetadata, SnapshotRecord};
pub use state_store::{
    ChangeEvent, ChangeKind, ChangedState, CurrentState, InvalidStateOffset, OtherPartitions,
    PersistenceIdsQuery, StateChange, StateChangesPage, StateChangesQuery, StateDelete,
    StateOffset, StatePosition, StateQueries, StateRecord, StateUpdate, StateWrite,
};
pub use text_limit::MAX_TEXT_BYTES;

pub use sql::{
    AdditionalColumn, ChangeHandler, ColumnValue, EntityExtensions, ExtensionError, FindStates,
    FoundState, FromSqlValue, Roles, RowError, SchemaChange, SchemaStep, SchemaSteps, Session,
    SessionFuture, SessionWork, Sql, SqlRow, SqlStates, SqlValue, StateExtensions,
};

pub use storage_error::{
    Effect, Operation, RevisionConflict, SequenceConflict, StorageError, StorageErrorKind,
    WriterPosition,
};

pub use config::{
    BackOff, ConfigError, ConfigErrors, Item, Origin, Section, SectionReader, Untyped, Value,
    nearest,
};
