//! The error of a start.

use actix_persistence_storage_api::{InvalidPersistenceId, PersistenceId};

use super::unknown_store::UnknownStore;
use crate::InvalidUpcasters;

/// The reason why an actor was not started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// An actor with this id is live on this journal or state store, as this process has opened it; two would overwrite
    /// each other's decisions.
    ///
    /// A second opening of the same database, under another plugin id or as another handle, is not noticed:
    /// there the two take the id from each other, and the asker gets each conflict. Open a database once in a process.
    /// One whose last address was dropped is live until its task has noticed, and one in back-off is live too; its end
    /// can be awaited, with [`LiveIds::stopped`](crate::LiveIds::stopped) or `Persistence::stopped` of the facade, or
    /// together with the start, by [`start_when_stopped`](crate::start_when_stopped).
    #[error(
        "an actor with the persistence id {0:?} is already running; await its end with `stopped`, or start with `start_when_stopped`"
    )]
    AlreadyRunning(PersistenceId),
    /// The id is being cleaned up; an actor can be started after that has ended.
    #[error("the data of the persistence id {0:?} is being cleaned up, start it when that is done")]
    Reserved(PersistenceId),
    /// The actor takes snapshots by itself, but there is no snapshot store: name one in the config, or leave out its
    /// [`retention`](crate::PersistentActor::retention).
    #[error(
        "the actor with the persistence id {0:?} retains snapshots, but there is no snapshot store: set 'persistence.snapshot-store.plugin'"
    )]
    NoSnapshotStore(PersistenceId),
    /// The id of the actor is no valid persistence id.
    #[error("{persistence_id:?} is no valid persistence id")]
    InvalidPersistenceId {
        /// The invalid id.
        persistence_id: PersistenceId,
        /// The rule that the id breaks.
        source: InvalidPersistenceId,
    },
    /// The config has no store for the plugin id that the actor names, or no default one for an actor that names none.
    #[error(transparent)]
    UnknownStore(#[from] UnknownStore),
    /// The actor got the stores of the other kind of actors: a journal for a durable state, or the other way round.
    #[error(
        "the actor with the persistence id {0:?} was given the stores of another kind of actors"
    )]
    WrongStores(PersistenceId),
    /// The events, states or snapshots of the actor [name](crate::Event::SERIALIZER) a format that is not registered.
    #[error(
        "the actor with the persistence id {persistence_id:?} stores by the unknown serializer {id}, this program knows {known}; register it with the builder"
    )]
    UnknownSerializer {
        /// The id of the actor.
        persistence_id: PersistenceId,
        /// The id of the format.
        id: u32,
        /// The ids and names of those that are known.
        known: String,
    },
    /// The type of its events, its states or its snapshots declares about its older forms what cannot be.
    #[error(
        "the actor with the persistence id {persistence_id:?} cannot read what older programs have stored"
    )]
    Upcasters {
        /// The persistence id of the actor.
        persistence_id: PersistenceId,
        /// The mistake in the declaration.
        source: InvalidUpcasters,
    },
    /// The arbiter has stopped.
    #[error("the arbiter has stopped")]
    ArbiterStopped,
    /// The persistence is stopping, or has stopped.
    #[error("no actor can be started any more, because the persistence is stopping")]
    Stopping,
}
