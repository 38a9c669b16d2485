//! The queues of ids: one request of an id at a time, and different ids at the same time.

use std::collections::VecDeque;
use std::collections::hash_map::{Entry, HashMap};
use std::sync::{Arc, Mutex, MutexGuard};

use actix_persistence_storage_api::PersistenceId;

use super::request::Request;
use super::store_calls::StoreCalls;

/// The queues of the ids that have a request under way; each has a task that serves it until it is empty.
pub(super) struct IdQueues {
    queues: Arc<Mutex<HashMap<PersistenceId, VecDeque<Request>>>>,
    calls: Arc<StoreCalls>,
}

/// Serves the queue of one id.
struct Worker {
    persistence_id: PersistenceId,
    /// True if the queue is gone already; one that is there belongs to a later worker then.
    finished: bool,
    queues: Arc<Mutex<HashMap<PersistenceId, VecDeque<Request>>>>,
    calls: Arc<StoreCalls>,
}

impl IdQueues {
    pub(super) fn new(calls: Arc<StoreCalls>) -> Self {
        Self {
            queues: Arc::default(),
            calls,
        }
    }

    /// Serves the request after all earlier ones of its id.
    pub(super) fn push(&self, request: Request) {
        let persistence_id = request.job.persistence_id().clone();
        match lock(&self.queues).entry(persistence_id.clone()) {
            Entry::Occupied(mut queue) => return queue.get_mut().push_back(request),
            Entry::Vacant(vacant) => vacant.insert(VecDeque::new()),
        };
        let worker = Worker {
            persistence_id,
            finished: false,
            queues: self.queues.clone(),
            calls: self.calls.clone(),
        };
        let runtime = self.calls.caller.runtime();
        runtime.spawn(worker.run(request));
    }
}

impl Worker {
    async fn run(mut self, first: Request) {
        let mut next = Some(first);
        while let Some(request) = next {
            request.job.serve(&self.calls, request.deadline).await;
            next = self.next();
        }
    }

    /// Returns the next request; without one the queue is gone, under the lock, and a later request starts anew.
    fn next(&mut self) -> Option<Request> {
        let mut queues = lock(&self.queues);
        let next = queues.get_mut(&self.persistence_id)?.pop_front();
        if next.is_none() {
            queues.remove(&self.persistence_id);
            self.finished = true;
        }
        next
    }
}

/// A worker that ends with its runtime takes its queue along, which answers what waits there.
impl Drop for Worker {
    fn drop(&mut self) {
        if !self.finished {
            let left = lock(&self.queues).remove(&self.persistence_id);
            // Outside of the lock, because it wakes those who asked.
            drop(left);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex
        .lock()
        .expect("nothing panics while it holds the lock")
}
