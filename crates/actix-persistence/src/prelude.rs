//! The names that a file with persistent actors needs: `use actix_persistence::prelude::*;`.

pub use actix_persistence_persistent_actor::{
    BackOffSettings, DurableState, Event, EventMeta, FromPersistError, ManyEvents, NoEvent,
    NoSnapshot, OnConflict, OneEvent, Overflow, Persist, PersistError, PersistentActor,
    PersistentContext, Recovery, RecoveryError, RecoveryReplies, RejectionCause, Reply, ReplyTo,
    Retention, Serializer, Snapshot, SnapshotOffer, StartError, StashPolicy, State, StoreResponse,
    StoredState, TakeOver, UserStash,
};
pub use actix_persistence_storage_api::{PersistenceId, Revision, SequenceNr, SnapshotCriteria};

pub use crate::Persistence;
