#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod builder;
mod cleanup;
mod find_states;
mod notifications;
mod persistence;
mod replay;
mod state_queries;
mod stop;
mod stop_report;
mod stop_signals;
mod store_schema;
mod transact;
mod weaker_snapshots;

pub mod prelude;

mod config;
mod open_error;

mod current;
mod environments;
mod made_stores;
mod opened_store;
mod plugin_id;
#[cfg(feature = "sqlite")]
mod sqlite_url;
mod store_entries;
mod store_runtime;

pub use builder::Builder;
pub use cleanup::CleanupStores;
pub use find_states::{FindStatesError, Found};
pub use persistence::Persistence;
pub use replay::{ReplayError, Replayed};
pub use state_queries::StateQueriesError;
pub use stop_report::StopReport;
pub use store_schema::StoreSchema;
pub use transact::TransactError;

pub use config::{Config, ConfigLoadError};
pub use open_error::OpenError;

pub use actix_persistence_cleanup::{
    Batch, BatchError, BatchReport, Cleanup, CleanupError, Numbers, Preview, Progress, Task,
};
pub use actix_persistence_persistent_actor::{
    BackOffSettings, DEFAULT_EVENT_LIMIT, DEFAULT_SNAPSHOT_LIMIT, DEFAULT_STATE_LIMIT, DeadLetter,
    DeadLetterCause, DecodeError, DeleteMessagesError, DurableState, EncodeError, ErrorChain,
    Event, EventMeta, FromPersistError, FullStash, HARD_PAYLOAD_LIMIT, LoadSnapshotError,
    LoadedSnapshot, ManyEvents, Missed, NoEvent, NoSnapshot, OneEvent, Overflow, OverflowReplies,
    OverflowStrategy, Persist, PersistError, PersistFuture, PersistentActor, PersistentContext,
    PublishedEvent, Recovery, RecoveryError, RecoveryReplies, RejectionCause, ReplayIssue,
    ReplayIssueKind, Reply, ReplyTo, Retention, SaveSnapshotError, Serializer, Snapshot,
    SnapshotOffer, StartError, StashPolicy, State, StoreResponse, StoredState, Subscription,
    UnfinishedActor, UnfinishedWork, UserStash, decode_state,
};
pub use actix_persistence_query::{
    Changed, ChangesStream, Deleted, InvalidSliceRanges, NoQueries, PersistenceIdsStream,
    QueryError, QuerySettings, StateQuery, Updated, slice_ranges,
};

pub use actix_persistence_storage_api as storage_api;
pub use actix_persistence_storage_api::{
    AdditionalColumn, ChangeHandler, ChangeKind, ColumnValue, ConfigError, ConfigErrors,
    ExtensionError, FindStates, InvalidPersistenceId, Origin, PersistenceId, Revision, Roles,
    Section, SequenceNr, Session, SnapshotCriteria, SnapshotMetadata, Sql, SqlRow, SqlValue,
    StateChange, StateOffset, StorageError, StorageErrorKind, Timestamp, Value,
};

pub use actix_persistence_memory as memory;
#[cfg(feature = "mysql")]
pub use actix_persistence_mysql as mysql;
#[cfg(feature = "postgres")]
pub use actix_persistence_postgres as postgres;
#[cfg(feature = "sqlite")]
pub use actix_persistence_sqlite as sqlite;
