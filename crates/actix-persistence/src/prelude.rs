//! What a file with persistent actors needs: `use actix_persistence::prelude::*;`.

pub use actix_persistence_persistent_actor::{
    BackOffSettings, DurableState, Event, NoSnapshot, OnConflict, Persist, PersistError,
    PersistentActor, PersistentContext, Recovery, RecoveryError, Reply, ReplyTo, Retention,
    Snapshot, SnapshotOffer, StartError, StashPolicy, State, StoreResponse, TakeOver, UserStash,
};
pub use actix_persistence_storage_api::{PersistenceId, SequenceNr, SnapshotCriteria};

pub use crate::Persistence;
