//! The projections that run in a process, so that all of them can be stopped.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use actix_persistence_storage_api::ProjectionKey;
use tokio::sync::watch;

/// The projections that run in a process; clones share them.
#[derive(Clone, Debug, Default)]
pub struct RunningProjections(Arc<Mutex<Vec<Running>>>);

/// A projection that runs, or has run.
#[derive(Clone, Debug)]
struct Running {
    key: ProjectionKey,
    stop: watch::Sender<bool>,
    /// Closed once its part has ended.
    ended: watch::Receiver<()>,
}

impl RunningProjections {
    /// Adds a projection: true stops it, and the other channel is closed when it has ended.
    pub(crate) fn add(
        &self,
        key: ProjectionKey,
        stop: watch::Sender<bool>,
        ended: watch::Receiver<()>,
    ) {
        let mut running = self.running();
        running.retain(Running::goes_on);
        running.push(Running { key, stop, ended });
    }

    /// Tells all projections to stop; the future ends when they have.
    ///
    /// # Cancel safety
    /// They stop even if the future is dropped.
    pub fn stop(&self) -> impl Future<Output = ()> + Send + use<> {
        let running = self.running().clone();
        for one in &running {
            one.stop.send_replace(true);
        }
        async move {
            for mut one in running {
                while one.ended.changed().await.is_ok() {}
            }
        }
    }

    /// Returns the projections whose part has not ended.
    pub fn busy(&self) -> Vec<ProjectionKey> {
        let running = self.running();
        let busy = running.iter().filter(|one| one.goes_on());
        busy.map(|one| one.key.clone()).collect()
    }

    fn running(&self) -> MutexGuard<'_, Vec<Running>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Running {
    fn goes_on(&self) -> bool {
        self.ended.has_changed().is_ok()
    }
}
