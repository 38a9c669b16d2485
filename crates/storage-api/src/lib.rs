#![doc = include_str!("../README.md")]

mod journal;
mod snapshot_store;
mod state_store;

mod plugin;

mod atomic_write;
mod capabilities;
mod event_record;
mod outcome;
mod payload;
mod persistence_id;
mod recovery;
mod replay;
mod reset_progress;
mod revision;
mod sequence_nr;
mod slice;
mod snapshot_record;
mod state_record;
mod state_write;
mod timestamp;
mod writer_id;

mod additional_column;
mod change_event;
mod change_handler;
mod session;
mod sql_states;
mod sql_value;
mod state_change;
mod state_extensions;
mod state_offset;
mod state_queries;

mod storage_error;
mod text_limit;

mod back_off;
mod nearest;
mod roles;
mod section;
mod units;

pub use journal::Journal;
pub use plugin::Plugin;
pub use snapshot_store::SnapshotStore;
pub use state_store::StateStore;

pub use atomic_write::{AtomicWrite, InvalidAtomicWrite};
pub use capabilities::{Durability, JournalCapabilities, SnapshotCapabilities, StateCapabilities};
pub use event_record::EventRecord;
pub use outcome::WriteOutcome;
pub use payload::Payload;
pub use persistence_id::{InvalidPersistenceId, PersistenceId};
pub use recovery::{EventDeletion, Fence, Recovered, RecoveryRequest, StreamHead};
pub use replay::{PageLimit, ReplayPage, ReplayRange};
pub use reset_progress::ResetProgress;
pub use revision::Revision;
pub use sequence_nr::{Epoch, SequenceNr};
pub use slice::{NUMBER_OF_SLICES, slice_of};
pub use snapshot_record::{SnapshotCriteria, SnapshotMetadata, SnapshotRecord};
pub use state_record::{CurrentState, StateRecord, StateUpdate};
pub use state_write::StateWrite;
pub use text_limit::MAX_TEXT_BYTES;
pub use timestamp::Timestamp;
pub use writer_id::WriterId;

pub use additional_column::{AdditionalColumn, ColumnValue};
pub use change_event::ChangeEvent;
pub use change_handler::ChangeHandler;
pub use session::{ExtensionError, RowError, Session, Sql, SqlRow};
pub use sql_states::{FindStates, FoundState, SessionFuture, SessionWork, SqlStates};
pub use sql_value::{FromSqlValue, SqlValue};
pub use state_change::{ChangeKind, StateChange};
pub use state_extensions::{EntityExtensions, StateExtensions};
pub use state_offset::{InvalidStateOffset, StateOffset, StatePosition};
pub use state_queries::{
    ChangedState, PersistenceIdsQuery, StateChangesPage, StateChangesQuery, StateQueries,
};

pub use storage_error::{
    Effect, Operation, RevisionConflict, SequenceConflict, StorageError, StorageErrorKind,
    WriterPosition,
};

pub use back_off::BackOff;
pub use nearest::nearest;
pub use roles::Roles;
pub use section::{
    ConfigError, ConfigErrors, Item, Origin, Section, SectionReader, Untyped, Value,
};
