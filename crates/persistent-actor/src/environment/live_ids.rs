//! The persistence ids that have an actor in this process.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use actix_persistence_storage_api::PersistenceId;

use crate::stopping::drain::{Drain, Drained};
use crate::stopping::drain_signal::DrainSignal;
use crate::stopping::gone::Gone;
use crate::{RecoveryError, ReserveError, StartError};

/// The live ids of one journal, or of one state store and the journal into which it writes its changes: starting an id
/// that is live is refused before any database is asked.
#[derive(Clone, Debug, Default)]
pub struct LiveIds(Arc<Mutex<Registry>>);

#[derive(Debug, Default)]
struct Registry {
    live: HashMap<PersistenceId, Live>,
    /// The number of actors that were ever live.
    generations: u64,
    /// Ids that must not become live, with how often each is reserved.
    reserved: HashMap<PersistenceId, usize>,
    /// The stop of all actors, set when everything stops; no actor becomes live any more.
    drain: Option<Drain>,
}

#[derive(Debug)]
struct Live {
    /// Distinguishes the actor from its successor.
    generation: u64,
    /// True if the actor is about to end, so that a successor may be started.
    stopping: bool,
    signal: Arc<DrainSignal>,
    /// The end of the actor; until then and after that it says why its last recovery failed.
    gone: Gone,
    /// The actors before it that are not gone yet, the first one first; all of them are stopping.
    earlier: Vec<Live>,
}

/// Keeps an id from becoming live until dropped.
#[derive(Debug)]
#[must_use = "the id is free again when this is dropped"]
pub struct ReservedId {
    ids: LiveIds,
    persistence_id: PersistenceId,
}

/// Keeps an id live until dropped.
#[derive(Debug)]
pub(crate) struct Registration {
    ids: LiveIds,
    persistence_id: PersistenceId,
    generation: u64,
    predecessors: Vec<Gone>,
    signal: Arc<DrainSignal>,
    gone: Gone,
}

impl LiveIds {
    /// Makes the id live.
    ///
    /// # Errors
    /// [`StartError::AlreadyRunning`] if it is, and not stopping; [`StartError::Reserved`] if it is reserved;
    /// [`StartError::Stopping`] if everything stops.
    pub(crate) fn register(
        &self,
        persistence_id: &PersistenceId,
    ) -> Result<Registration, StartError> {
        let gone = Gone::default();
        let signal = Arc::new(DrainSignal::new());
        let mut registry = self.lock();
        if registry.drain.is_some() {
            return Err(StartError::Stopping);
        }
        if registry.reserved.contains_key(persistence_id) {
            return Err(StartError::Reserved(persistence_id.clone()));
        }
        registry.generations += 1;
        let generation = registry.generations;
        let mut successor = Live {
            generation,
            stopping: false,
            signal: Arc::clone(&signal),
            gone: gone.clone(),
            earlier: Vec::new(),
        };
        match registry.live.entry(persistence_id.clone()) {
            Entry::Occupied(live) if !live.get().stopping => {
                return Err(StartError::AlreadyRunning(persistence_id.clone()));
            }
            Entry::Occupied(mut live) => {
                let live = live.get_mut();
                successor.earlier = std::mem::take(&mut live.earlier);
                let last = std::mem::replace(live, successor);
                live.earlier.push(last);
            }
            Entry::Vacant(vacant) => {
                vacant.insert(successor);
            }
        }
        let predecessors = &registry.live[persistence_id].earlier;
        Ok(Registration {
            predecessors: predecessors.iter().map(|live| live.gone.clone()).collect(),
            ids: self.clone(),
            persistence_id: persistence_id.clone(),
            generation,
            signal,
            gone,
        })
    }

    /// Keeps an id from becoming live while its data is changed without its actor; several reservations of an id may
    /// exist at the same time.
    ///
    /// # Errors
    /// [`ReserveError::Running`] if it is live, even if it is stopping; [`ReserveError::Stopping`] if everything
    /// stops.
    pub fn reserve(&self, persistence_id: &PersistenceId) -> Result<ReservedId, ReserveError> {
        let mut registry = self.lock();
        if registry.drain.is_some() {
            return Err(ReserveError::Stopping);
        }
        if registry.live.contains_key(persistence_id) {
            return Err(ReserveError::Running(persistence_id.clone()));
        }
        *registry.reserved.entry(persistence_id.clone()).or_default() += 1;
        Ok(ReservedId {
            ids: self.clone(),
            persistence_id: persistence_id.clone(),
        })
    }

    /// Refuses further actors from now on, and lets the live ones stop when everything that has arrived is done.
    ///
    /// Called again it returns the same actors again, whatever has become of them.
    pub fn drain(&self) -> Drain {
        let registry = &mut *self.lock();
        let live = &registry.live;
        let drain = registry.drain.get_or_insert_with(|| {
            let actors = live.iter().flat_map(|(persistence_id, live)| {
                let all = live.earlier.iter().chain([live]);
                all.map(|live| Drained {
                    persistence_id: persistence_id.clone(),
                    signal: Arc::clone(&live.signal),
                    gone: live.gone.clone(),
                })
            });
            Drain::start(actors.collect())
        });
        drain.clone()
    }

    /// Returns whether further actors are refused because everything stops.
    pub fn is_draining(&self) -> bool {
        self.lock().drain.is_some()
    }

    /// Waits until the actor that has the id at the call is gone, and those before it that are still stopping, and returns
    /// why it could not be recovered; a successor that is started meanwhile is not waited for. Returns at once if the id is
    /// not live.
    ///
    /// The reason is `None` for an actor that was recovered, or stopped before it was.
    ///
    /// Once it is gone, nothing of it runs any more, `stopped` included, and the id may be started or reserved.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    pub fn stopped(
        &self,
        persistence_id: &PersistenceId,
    ) -> impl Future<Output = Option<Arc<RecoveryError>>> + use<> {
        let live = self.lock();
        let live = live.live.get(persistence_id);
        let earlier: Vec<_> = live
            .iter()
            .flat_map(|live| &live.earlier)
            .map(|live| live.gone.clone())
            .collect();
        let gone = live.map(|live| live.gone.clone());
        async move {
            // One of these may be the last to go.
            for gone in earlier {
                gone.wait().await;
            }
            gone?.wait().await
        }
    }

    /// Returns why the last recovery of the actor that has the id failed; `None` if it has none, or one that is
    /// recovered or has not failed yet.
    pub fn recovery_failure(&self, persistence_id: &PersistenceId) -> Option<Arc<RecoveryError>> {
        let live = self.lock();
        live.live.get(persistence_id)?.gone.unrecovered()
    }

    /// Returns the ids that are live, in no particular order; those of actors on their way out too.
    pub fn ids(&self) -> Vec<PersistenceId> {
        self.lock().live.keys().cloned().collect()
    }

    /// Returns the number of live ids.
    pub fn len(&self) -> usize {
        self.lock().live.len()
    }

    /// Returns whether no id is live.
    pub fn is_empty(&self) -> bool {
        self.lock().live.is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, Registry> {
        // Every change under the lock is a single step, so a panic elsewhere leaves nothing half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Registration {
    pub(crate) fn persistence_id(&self) -> &PersistenceId {
        &self.persistence_id
    }

    /// Returns the signal by which the actor learns that everything stops.
    pub(crate) fn signal(&self) -> &DrainSignal {
        &self.signal
    }

    /// Lets a successor be started from now on; its recovery waits until this registration is dropped.
    pub(crate) fn stopping(&self) {
        if let Some(live) = self.ids.lock().live.get_mut(&self.persistence_id)
            && live.generation == self.generation
        {
            live.stopping = true;
        }
    }

    /// Waits until all actors before this one are gone.
    pub(crate) fn predecessors_gone(&self) -> impl Future<Output = ()> + 'static {
        let predecessors = self.predecessors.clone();
        async move {
            for predecessor in predecessors {
                predecessor.wait().await;
            }
        }
    }

    /// Notes why the actor could not be recovered; `None` once it is.
    pub(crate) fn set_unrecovered(&self, error: Option<&Arc<RecoveryError>>) {
        self.gone.set_unrecovered(error);
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let mut registry = self.ids.lock();
        if let Entry::Occupied(mut entry) = registry.live.entry(self.persistence_id.clone()) {
            let live = entry.get_mut();
            if live.generation != self.generation {
                live.earlier.retain(|one| one.generation != self.generation);
            } else if let Some(mut last) = live.earlier.pop() {
                // It ends before one that was there before it: that still has the id.
                last.earlier = std::mem::take(&mut live.earlier);
                *live = last;
            } else {
                entry.remove();
            }
        }
        drop(registry);
        // The id may be started by those who have waited for this.
        self.gone.set();
    }
}

impl Drop for ReservedId {
    fn drop(&mut self) {
        let mut registry = self.ids.lock();
        if let Entry::Occupied(mut reserved) = registry.reserved.entry(self.persistence_id.clone())
        {
            *reserved.get_mut() -= 1;
            if *reserved.get() == 0 {
                reserved.remove();
            }
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
        assert!(ids.register(&id()).is_err());
        assert!(ids.register(&PersistenceId::of("T", "2")).is_ok());
        drop(first);
        assert!(ids.register(&id()).is_ok());
    }

    #[test]
    fn the_end_of_an_actor_is_awaited_and_that_of_its_successor_is_not() {
        let ids = LiveIds::default();
        assert!(ids.stopped(&id()).now_or_never().is_some(), "never live");
        let first = ids.register(&id()).unwrap();
        assert_eq!(ids.ids(), [id()]);
        let mut stopped = Box::pin(ids.stopped(&id()));
        assert!((&mut stopped).now_or_never().is_none());
        first.stopping();
        let second = ids.register(&id()).unwrap();
        assert!((&mut stopped).now_or_never().is_none(), "on its way out");
        drop(first);
        assert!(stopped.now_or_never().is_some());
        assert!(ids.stopped(&id()).now_or_never().is_none(), "the successor");
        drop(second);
        assert!(ids.ids().is_empty());
    }

    #[test]
    fn an_id_is_reserved_as_often_as_wanted_and_never_while_it_is_live() {
        let ids = LiveIds::default();
        let first = ids.reserve(&id()).unwrap();
        let second = ids.reserve(&id()).unwrap();
        drop(first);
        let refused = ids.register(&id()).map(drop);
        assert_eq!(refused, Err(StartError::Reserved(id())));
        drop(second);
        let live = ids.register(&id()).unwrap();
        let running = Err(ReserveError::Running(id()));
        assert_eq!(ids.reserve(&id()).map(drop), running);
        live.stopping();
        assert_eq!(ids.reserve(&id()).map(drop), running);
        drop(live);
        assert!(ids.reserve(&id()).is_ok());
    }

    #[test]
    fn a_successor_is_live_after_the_stopping_actor_is_gone() {
        let ids = LiveIds::default();
        let first = ids.register(&id()).unwrap();
        first.stopping();
        let second = ids.register(&id()).unwrap();
        assert!(ids.register(&id()).is_err(), "the successor is live");
        assert!(second.predecessors_gone().now_or_never().is_none());
        drop(first);
        assert!(second.predecessors_gone().now_or_never().is_some());
        assert!(
            ids.register(&id()).is_err(),
            "the drop left the successor alone"
        );
        drop(second);
        assert!(ids.is_empty());
    }

    #[test]
    fn a_successor_that_ends_first_leaves_the_id_to_the_one_before_it() {
        let ids = LiveIds::default();
        let first = ids.register(&id()).unwrap();
        first.stopping();
        drop(ids.register(&id()).unwrap());
        assert_eq!(ids.ids(), [id()]);
        assert!(ids.reserve(&id()).is_err(), "the first one is not gone");
        let third = ids.register(&id()).unwrap();
        assert!(third.predecessors_gone().now_or_never().is_none());
        drop(first);
        assert!(third.predecessors_gone().now_or_never().is_some());
        assert!(ids.register(&id()).is_err(), "the third one is live");
        drop(third);
        assert!(ids.is_empty());
    }

    #[test]
    fn all_that_are_stopping_are_waited_for() {
        let ids = LiveIds::default();
        let first = ids.register(&id()).unwrap();
        first.stopping();
        let second = ids.register(&id()).unwrap();
        second.stopping();
        let third = ids.register(&id()).unwrap();
        let drain = ids.drain();
        assert_eq!(drain.actors(), 3);
        let mut stopped = Box::pin(ids.stopped(&id()));
        drop(second);
        assert!(third.predecessors_gone().now_or_never().is_none());
        drop(third);
        assert!((&mut stopped).now_or_never().is_none());
        drop(first);
        assert!(stopped.now_or_never().is_some());
        assert!(drain.finished().now_or_never().is_some());
        assert!(ids.is_empty());
    }
}
