//! The dispatcher, which brings each request to the queue of its id.

use std::sync::Arc;
use std::time::Duration;

use actix_persistence_storage_api::{Operation, PersistenceId};

use super::id_queues::IdQueues;
use super::request::Request;
use super::store_calls::StoreCalls;
use super::{InitializeCall, OrderedFrontSettings};
use crate::call::Call;
use crate::gate::Gate;
use crate::refusal::Refuse;
use crate::store_health::StoreHealth;
use crate::store_service::StoreService;

/// Hands the requests of the actor to the store.
pub(super) struct Dispatcher {
    gate: Gate<Request>,
    calls: Arc<StoreCalls>,
    queues: IdQueues,
    initialize: InitializeCall,
    initialize_timeout: Duration,
}

impl Dispatcher {
    pub(super) fn new(
        calls: StoreCalls,
        initialize: InitializeCall,
        settings: OrderedFrontSettings,
    ) -> Self {
        let calls = Arc::new(calls);
        Self {
            gate: Gate::new(settings.store, settings.max_held_requests),
            queues: IdQueues::new(calls.clone()),
            calls,
            initialize,
            initialize_timeout: settings.initialize_timeout,
        }
    }

    /// Lets the requests of an id go at once that have been asked at a pace, and are past the gate.
    pub(super) fn hurry(&self, persistence_id: &PersistenceId) {
        self.queues.hurry(persistence_id);
    }
}

impl StoreService for Dispatcher {
    type Request = Request;

    fn gate(&self) -> &Gate<Request> {
        &self.gate
    }

    fn health(&self) -> &Arc<StoreHealth> {
        &self.calls.health
    }

    fn initialize(&self) -> Call<()> {
        let call = (self.initialize)();
        self.calls.caller.start(Operation::Initialize, call)
    }

    fn initialize_timeout(&self) -> Duration {
        self.initialize_timeout
    }

    fn route(&self, request: Request) {
        let breaker = self.calls.breaker(request.job.operation());
        // The id may wait for a call that hangs; an open breaker answers without it.
        match breaker.check() {
            Ok(()) => self.queues.push(request),
            Err(open) => request.refuse(&open.into()),
        }
    }
}
