//! Brings each request to the queue of its id.

use std::sync::Arc;
use std::time::Duration;

use actix_persistence_store_actor::{Call, Gate, Refuse, StoreService};

use crate::id_queues::IdQueues;
use crate::request::{Kind, Request};
use crate::snapshot_settings::SnapshotSettings;
use crate::store_calls::StoreCalls;

/// What the snapshot actor does with requests.
pub(crate) struct Dispatcher {
    gate: Gate<Request>,
    calls: Arc<StoreCalls>,
    queues: IdQueues,
    initialize_timeout: Duration,
}

impl Dispatcher {
    pub(crate) fn new(calls: StoreCalls, settings: &SnapshotSettings) -> Self {
        let calls = Arc::new(calls);
        let name = format!("snapshot store {:?}", settings.plugin_id);
        Self {
            gate: Gate::new(name, settings.stash_capacity),
            queues: IdQueues::new(calls.clone()),
            calls,
            initialize_timeout: settings.initialize_timeout,
        }
    }
}

impl StoreService for Dispatcher {
    type Request = Request;

    fn gate(&self) -> &Gate<Request> {
        &self.gate
    }

    fn initialize(&self) -> Call<()> {
        self.calls.initialize()
    }

    fn initialize_timeout(&self) -> Duration {
        self.initialize_timeout
    }

    fn route(&self, request: Request) {
        let breaker = match &request.kind {
            Kind::Load(..) => &self.calls.loads,
            Kind::Change(..) => &self.calls.saves,
        };
        // The id may wait for a call that hangs; an open breaker answers without it.
        match breaker.check() {
            Ok(()) => self.queues.push(request),
            Err(open) => request.refuse(&open.into()),
        }
    }
}
