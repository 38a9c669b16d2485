//! The live actors of one journal or state store, asked to stop.

use std::sync::Arc;

use actix_persistence_storage_api::PersistenceId;

use crate::UnfinishedActor;
use crate::stopping::drain_signal::{DrainSignal, Urgency};
use crate::stopping::gone::Gone;

/// The actors that were live when their journal was asked to stop; made by [`LiveIds::drain`](crate::LiveIds::drain).
#[derive(Clone, Debug)]
pub struct Drain(Arc<[Drained]>);

/// An actor that is to stop.
#[derive(Debug)]
pub(crate) struct Drained {
    pub(crate) persistence_id: PersistenceId,
    pub(crate) signal: Arc<DrainSignal>,
    /// The end of the actor.
    pub(crate) gone: Gone,
}

impl Drain {
    pub(crate) fn start(actors: Vec<Drained>) -> Self {
        for actor in &actors {
            actor.signal.raise(Urgency::Drain);
        }
        Self(actors.into())
    }

    /// Returns the number of actors that had to stop.
    pub fn actors(&self) -> usize {
        self.0.len()
    }

    /// Waits until every actor is gone.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    pub async fn finished(&self) {
        for actor in self.0.iter() {
            actor.gone.clone().wait().await;
        }
    }

    /// Returns the work that the actors have not done, in no particular order.
    pub fn unfinished(&self) -> Vec<UnfinishedActor> {
        self.0
            .iter()
            .filter_map(|actor| {
                let left = actor.signal.left()?;
                Some(UnfinishedActor {
                    persistence_id: actor.persistence_id.clone(),
                    work: left.work,
                    waiting: left.waiting,
                })
            })
            .collect()
    }

    /// Lets every actor that is left end with its present turn.
    pub fn end(&self) {
        for actor in self.0.iter() {
            actor.signal.raise(Urgency::End);
        }
    }
}
