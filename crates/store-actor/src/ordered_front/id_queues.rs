//! The queues of ids: one request of an id at a time, and different ids at the same time.

use std::collections::VecDeque;
use std::collections::hash_map::{Entry, HashMap};
use std::sync::{Arc, Mutex, MutexGuard};

use actix_persistence_storage_api::PersistenceId;

use super::request::Request;
use super::store_calls::StoreCalls;

/// The queues of the ids that have a request under way.
pub(super) struct IdQueues(Arc<Shared>);

struct Shared {
    /// The requests that wait for the one of their id that is served.
    queues: Mutex<HashMap<PersistenceId, VecDeque<Request>>>,
    calls: Arc<StoreCalls>,
}

/// The turn of a request: no other one of the id is served before it ends.
///
/// Dropped without its [`end`](Self::end), as by a runtime that shuts down, it takes the queue along, which answers what waits
/// there.
pub(super) struct Turn {
    persistence_id: PersistenceId,
    /// True if the queue is gone already; one that is there belongs to a later turn then.
    has_ended: bool,
    shared: Arc<Shared>,
}

impl IdQueues {
    pub(super) fn new(calls: Arc<StoreCalls>) -> Self {
        Self(Arc::new(Shared {
            queues: Mutex::default(),
            calls,
        }))
    }

    /// Serves the request after all earlier ones of its id.
    pub(super) fn push(&self, request: Request) {
        let persistence_id = request.job.persistence_id().clone();
        match self.0.lock().entry(persistence_id.clone()) {
            Entry::Occupied(mut queue) => return queue.get_mut().push_back(request),
            Entry::Vacant(vacant) => vacant.insert(VecDeque::new()),
        };
        let turn = Turn {
            persistence_id,
            has_ended: false,
            shared: Arc::clone(&self.0),
        };
        turn.serve(request);
    }
}

impl Turn {
    /// Lets the next request of the id be served.
    pub(super) fn end(mut self) {
        if let Some(next) = self.next() {
            self.serve(next);
        }
    }

    fn serve(self, request: Request) {
        let calls = Arc::clone(&self.shared.calls);
        request.job.serve(&calls, request.deadline, self);
    }

    /// Returns the next request; without one the queue is gone, under the lock, and a later request starts anew.
    fn next(&mut self) -> Option<Request> {
        let mut queues = self.shared.lock();
        let next = queues.get_mut(&self.persistence_id)?.pop_front();
        if next.is_none() {
            queues.remove(&self.persistence_id);
            self.has_ended = true;
        }
        next
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if !self.has_ended {
            let left = self.shared.lock().remove(&self.persistence_id);
            // Outside of the lock, because it wakes those who asked.
            drop(left);
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, HashMap<PersistenceId, VecDeque<Request>>> {
        self.queues
            .lock()
            .expect("nothing panics while it holds the lock")
    }
}
