#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod builder;
mod commands;
mod event_queries;
mod find_states;
mod notifications;
mod persistence;
#[cfg(feature = "projection-test")]
mod projection_test;
mod projections;
mod replay;
mod state_queries;
mod stopping;
mod stored_projections;
mod transact;

pub mod cleanup;
pub mod config;
pub mod error;
pub mod payload;
pub mod prelude;
pub mod projection;
pub mod query;
pub mod sql;
pub mod stash;

mod open_error;

mod current;
#[cfg(feature = "sqlite")]
mod sqlite_url;
mod stores;

pub use builder::Builder;
pub use config::Config;
pub use open_error::OpenError;
pub use persistence::Persistence;
pub use replay::Replayed;
pub use stopping::StopReport;

#[cfg(feature = "shape-lock")]
pub use actix_persistence_persistent_actor::ShapeLock;
pub use actix_persistence_persistent_actor::{
    BackOffSettings, Chain, DeadLetter, DurableState, Event, EventMeta, Lagged, LoadedSnapshot,
    ManyEvents, Metadata, NoEvent, NoSnapshot, OnConflict, OneEvent, Persist, PersistError,
    PersistFuture, PersistentActor, PersistentContext, PublishedEvent, Recovery, RecoveryError,
    RecoveryReplies, Reply, ReplyTo, Retention, Scoped, Serializer, Snapshot, SnapshotOffer,
    StartError, State, StateUpcasters, StoreResponse, Stored, Subscription, Tagged, TakeOver,
    UnfinishedActor, UnfinishedWork, Upcasters,
};
pub use actix_persistence_storage_api as storage_api;
pub use actix_persistence_storage_api::{
    PersistenceId, Revision, SequenceNr, SnapshotCriteria, SnapshotMetadata, Timestamp,
};

pub use actix_persistence_memory as memory;
#[cfg(feature = "mysql")]
pub use actix_persistence_mysql as mysql;
#[cfg(feature = "postgres")]
pub use actix_persistence_postgres as postgres;
#[cfg(feature = "sqlite")]
pub use actix_persistence_sqlite as sqlite;
