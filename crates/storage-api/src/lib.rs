#![doc = include_str!("../README.md")]

mod journal;
mod offset_store;
mod snapshot_store;
mod state_store;

mod plugin;

mod capabilities;
mod offset;
mod persistence_ids_query;
mod record;
mod sql;
mod storage_error;
mod text_limit;

mod config;

pub use journal::Journal;
pub use offset_store::OffsetStore;
pub use plugin::Plugin;
pub use snapshot_store::SnapshotStore;
pub use state_store::StateStore;

pub use capabilities::{Durability, JournalCapabilities, SnapshotCapabilities, StateCapabilities};
pub use journal::{
    AnyCommand, AtomicWrite, BoundHolder, CommandAnswer, CommandRules, CommandTurn, EventDeletion,
    EventQueries, EventRecord, EventSelection, EventsPage, EventsQuery, Fence, InvalidAtomicWrite,
    JournalCommand, PageLimit, PurgeProgress, ReplayPage, ReplayRange, SelectedEvent, StreamHead,
    TakeOverRequest, TakenOver, WriteOutcome,
};
pub use offset::{
    EventOffset, EventPosition, InvalidOffset, Offset, OtherPartitions, Position, StateOffset,
    StatePosition,
};
pub use offset_store::{
    InvalidProgress, InvalidProjectionKey, Lease, OldVersion, ParkedId, ParkedItem, ParkedRequest,
    Piece, Progress, ProgressCommit, ProjectionChange, ProjectionKey, ProjectionRecord,
    Replacement, ShareClaim, ShareConflict, ShareRecord, Skipped, TakenShare, Unparked,
    VersionConflict, divided, kept_text, shares_of,
};
pub use persistence_ids_query::PersistenceIdsQuery;
pub use record::{
    Epoch, InvalidPersistenceId, NUMBER_OF_SLICES, Partition, Payload, PersistenceId, Revision,
    SequenceNr, Timestamp, WriterId, slice_of,
};
pub use snapshot_store::{SnapshotCriteria, SnapshotMetadata, SnapshotRecord};
pub use state_store::{
    ChangeEvent, ChangeKind, ChangedState, CurrentState, LastChange, StateChange, StateChangesPage,
    StateChangesQuery, StateDelete, StateQueries, StateRecord, StateUpdate, StateWrite,
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
