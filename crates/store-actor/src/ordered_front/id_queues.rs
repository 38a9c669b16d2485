//! The queues of ids: one request of an id at a time, and different ids at the same time.

use std::collections::VecDeque;
use std::collections::hash_map::{Entry, HashMap};
use std::sync::{Arc, Mutex, MutexGuard};

use actix_persistence_storage_api::PersistenceId;
use tokio::sync::Notify;

use super::request::Request;
use super::store_calls::StoreCalls;

/// The queues of the ids that have a request under way.
pub(super) struct IdQueues(Arc<Shared>);

struct Shared {
    queues: Mutex<HashMap<PersistenceId, Queue>>,
    calls: Arc<StoreCalls>,
}

/// The requests that wait for the one of their id that is served.
#[derive(Default)]
struct Queue {
    waiting: VecDeque<Request>,
    /// True if no request waits for a pace until all are served.
    is_in_a_hurry: bool,
    /// Tells the one that is served of the next, or of a hurry, if it has asked.
    arrival: Option<Arc<Notify>>,
}

impl Queue {
    fn push(&mut self, request: Request) {
        self.waiting.push_back(request);
        self.tell();
    }

    fn tell(&self) {
        if let Some(arrival) = &self.arrival {
            arrival.notify_one();
        }
    }
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
            Entry::Occupied(mut queue) => return queue.get_mut().push(request),
            Entry::Vacant(vacant) => vacant.insert(Queue::default()),
        };
        let turn = Turn {
            persistence_id,
            has_ended: false,
            shared: Arc::clone(&self.0),
        };
        turn.serve(request);
    }

    /// Lets none of the requests wait for a pace that the id has now.
    pub(super) fn hurry(&self, persistence_id: &PersistenceId) {
        if let Some(queue) = self.0.lock().get_mut(persistence_id) {
            queue.is_in_a_hurry = true;
            queue.tell();
        }
    }
}

impl Turn {
    /// Lets the next request of the id be served.
    pub(super) fn end(mut self) {
        if let Some(next) = self.next() {
            self.serve(next);
        }
    }

    /// Waits until another request of the id waits for this one, or the id is in a hurry.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    pub(super) async fn is_waited_for(&self) {
        if let Some(arrival) = self.arrival() {
            arrival.notified().await;
        }
    }

    /// Returns what tells of the next request, or of a hurry, unless there is one already.
    fn arrival(&self) -> Option<Arc<Notify>> {
        let mut queues = self.shared.lock();
        let queue = queues.get_mut(&self.persistence_id)?;
        if queue.is_in_a_hurry || !queue.waiting.is_empty() {
            return None;
        }
        Some(Arc::clone(queue.arrival.get_or_insert_default()))
    }

    fn serve(self, request: Request) {
        let calls = Arc::clone(&self.shared.calls);
        request.job.serve(&calls, request.deadline, self);
    }

    /// Returns the next request; without one the queue is gone, under the lock, and a later request starts anew.
    fn next(&mut self) -> Option<Request> {
        let mut queues = self.shared.lock();
        let queue = queues.get_mut(&self.persistence_id)?;
        let next = queue.waiting.pop_front();
        // What it tells was for the turn that ends.
        queue.arrival = None;
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
    fn lock(&self) -> MutexGuard<'_, HashMap<PersistenceId, Queue>> {
        self.queues
            .lock()
            .expect("nothing panics while it holds the lock")
    }
}
