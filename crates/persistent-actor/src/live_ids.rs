//! Which persistence ids have an actor in this process.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use actix_persistence_storage_api::PersistenceId;
use tokio::sync::watch;

/// The live ids of one journal: starting an id that is live is refused before any database is asked.
#[derive(Clone, Debug, Default)]
pub struct LiveIds(Arc<Mutex<HashMap<PersistenceId, Live>>>);

#[derive(Debug)]
struct Live {
    /// Tells the actor apart from its successor.
    generation: u64,
    /// Whether it is on its way out, so that a successor may be started.
    stopping: bool,
    /// Closed when the actor is gone.
    gone: watch::Receiver<()>,
}

/// Keeps an id live until dropped.
#[derive(Debug)]
pub(crate) struct Registration {
    ids: LiveIds,
    persistence_id: PersistenceId,
    generation: u64,
    predecessor: Option<watch::Receiver<()>>,
    _gone: watch::Sender<()>,
}

impl LiveIds {
    /// Makes the id live; `None` if it is, and not stopping.
    pub(crate) fn register(&self, persistence_id: &PersistenceId) -> Option<Registration> {
        let (sender, gone) = watch::channel(());
        let mut ids = self.lock();
        let (generation, predecessor) = match ids.entry(persistence_id.clone()) {
            Entry::Occupied(live) if !live.get().stopping => return None,
            Entry::Occupied(mut live) => {
                let generation = live.get().generation + 1;
                let successor = Live {
                    generation,
                    stopping: false,
                    gone,
                };
                (generation, Some(live.insert(successor).gone))
            }
            Entry::Vacant(vacant) => {
                vacant.insert(Live {
                    generation: 0,
                    stopping: false,
                    gone,
                });
                (0, None)
            }
        };
        Some(Registration {
            ids: self.clone(),
            persistence_id: persistence_id.clone(),
            generation,
            predecessor,
            _gone: sender,
        })
    }

    /// How many ids are live.
    pub fn len(&self) -> usize {
        self.lock().len()
    }

    /// Whether no id is live.
    pub fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<PersistenceId, Live>> {
        // Every change under the lock is a single step, so a panic elsewhere leaves nothing half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Registration {
    pub(crate) fn persistence_id(&self) -> &PersistenceId {
        &self.persistence_id
    }

    /// Lets a successor be started from now on; its recovery waits until this registration is dropped.
    pub(crate) fn stopping(&self) {
        if let Some(live) = self.ids.lock().get_mut(&self.persistence_id)
            && live.generation == self.generation
        {
            live.stopping = true;
        }
    }

    /// Waits until the actor before this one is gone.
    pub(crate) fn predecessor_gone(&self) -> impl Future<Output = ()> + 'static {
        let predecessor = self.predecessor.clone();
        async move {
            if let Some(mut predecessor) = predecessor {
                // The sender never sends: the only change is that it is dropped.
                let _ = predecessor.changed().await;
            }
        }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let mut ids = self.ids.lock();
        if let Entry::Occupied(live) = ids.entry(self.persistence_id.clone())
            && live.get().generation == self.generation
        {
            live.remove();
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn id() -> PersistenceId {
        PersistenceId::of("T", "1")
    }

    #[test]
    fn a_live_id_is_refused_until_it_is_gone() {
        let ids = LiveIds::default();
        let first = ids.register(&id()).unwrap();
        assert!(ids.register(&id()).is_none());
        assert!(ids.register(&PersistenceId::of("T", "2")).is_some());
        drop(first);
        assert!(ids.register(&id()).is_some());
    }

    #[test]
    fn a_successor_of_a_stopping_actor_waits_until_it_is_gone_and_is_live_itself() {
        let ids = LiveIds::default();
        let first = ids.register(&id()).unwrap();
        first.stopping();
        let second = ids.register(&id()).unwrap();
        assert!(ids.register(&id()).is_none(), "the successor is live");
        assert!(second.predecessor_gone().now_or_never().is_none());
        drop(first);
        assert!(second.predecessor_gone().now_or_never().is_some());
        assert!(
            ids.register(&id()).is_none(),
            "the drop left the successor alone"
        );
        drop(second);
        assert!(ids.is_empty());
    }
}
