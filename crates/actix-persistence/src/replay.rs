//! Reading streams without becoming their writer.

use std::sync::Arc;

use actix_persistence_persistent_actor::{
    Event, EventMeta, PersistentActor, PluginIds, RecoveryError, UnknownStore, replay_actor,
    replay_events,
};
use actix_persistence_storage_api::{InvalidPersistenceId, PersistenceId, ReplayRange, SequenceNr};

use crate::Persistence;

/// An actor with the state that its stored stream makes.
#[derive(Debug)]
#[non_exhaustive]
pub struct Replayed<A> {
    /// The actor; it was never started.
    pub actor: A,
    /// The number of the last event in its state, or the revision of that; 0 if nothing was ever stored.
    pub sequence_nr: SequenceNr,
}

/// The reason why a stream could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// The text is no valid persistence id, so nothing can be stored under it.
    #[error("{persistence_id:?} is no valid persistence id")]
    InvalidPersistenceId {
        /// The invalid id.
        persistence_id: PersistenceId,
        /// The rule that the id breaks.
        source: InvalidPersistenceId,
    },
    /// The config has no such store.
    #[error(transparent)]
    UnknownStore(UnknownStore),
    /// The stream cannot be brought back.
    #[error(transparent)]
    Recovery(#[from] RecoveryError),
}

impl Persistence {
    /// Brings the state of an actor back without starting it: from its snapshot and the events after it, or from its
    /// stored state, whose revision is the number then.
    ///
    /// Only reads: no other actor of the same id is disturbed, here or in another process. It needs no actix system, and is
    /// `Send` if the actor is, its events and its snapshots.
    ///
    /// # Errors
    /// [`ReplayError`] if the stream cannot be read or decoded.
    ///
    /// # Panics
    /// Outside of a tokio runtime with timers.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    pub async fn replay<A: PersistentActor>(&self, actor: A) -> Result<Replayed<A>, ReplayError> {
        check(&actor.persistence_id())?;
        let environment = self
            .environment(PluginIds::of(&actor))
            .map_err(ReplayError::UnknownStore)?;
        let (actor, sequence_nr) = replay_actor(actor, environment).await?;
        Ok(Replayed { actor, sequence_nr })
    }

    /// Calls `each` with every event of an id in the default journal, in order, with its number, time and metadata; those
    /// that are read from one stored event have the same.
    ///
    /// Only reads, page by page, so that a long stream takes no more memory than a short one.
    ///
    /// # Errors
    /// [`ReplayError`] if the stream cannot be read, or an event is missing or cannot be decoded.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    pub async fn replay_events<E: Event>(
        &self,
        persistence_id: PersistenceId,
        mut each: impl FnMut(&EventMeta, E),
    ) -> Result<(), ReplayError> {
        check(&persistence_id)?;
        let default = PluginIds::Events {
            journal: None,
            snapshot_store: None,
        };
        let environment = self
            .environment(default)
            .map_err(ReplayError::UnknownStore)?;
        let environment = Arc::as_ref(&environment);
        replay_events(
            environment,
            persistence_id,
            ReplayRange::ALL,
            (),
            |(), meta, event| each(meta, event),
        )
        .await?;
        Ok(())
    }
}

fn check(persistence_id: &PersistenceId) -> Result<(), ReplayError> {
    persistence_id
        .validate()
        .map_err(|source| ReplayError::InvalidPersistenceId {
            persistence_id: persistence_id.clone(),
            source,
        })
}
