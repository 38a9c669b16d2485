//! Brings each request to where its turn comes.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use actix_persistence_storage_api::{JournalCapabilities, NUMBER_OF_SLICES, PersistenceId};
use actix_persistence_store_actor::{
    BreakerOpen, Call, CircuitBreaker, Gate, Observed, Refuse, StoreHealth, StoreService,
};

use crate::halt::call_still;
use crate::journal_settings::JournalSettings;
use crate::lane::{Lane, LaneSender};
use crate::plugin_calls::PluginCalls;
use crate::request::{Ordered, Read, Request};
use crate::single::Single;

/// The number of blocks of slices that lanes share out, or more where there are more lanes: a store that divides the
/// slices into as many parts, or into more, has no part of two lanes.
const BLOCKS: usize = 8;

/// Hands the requests of the journal actor to the lanes and to the journal.
pub(crate) struct Dispatcher {
    gate: Gate<Request>,
    calls: Arc<PluginCalls>,
    lanes: Vec<LaneSender>,
    /// Held while halts are sent to all lanes, so that two such calls have the same order in every lane.
    halting: Mutex<()>,
    initialize_timeout: Duration,
}

impl Dispatcher {
    /// Starts the lanes of a journal.
    pub(crate) fn new(
        calls: PluginCalls,
        settings: &JournalSettings,
        capabilities: &JournalCapabilities,
    ) -> Self {
        let calls = Arc::new(calls);
        let lanes = settings.lanes.unwrap_or(capabilities.lanes).max(1);
        let name = format!("journal {:?}", settings.plugin_id);
        Self {
            gate: Gate::new(name, settings.max_held_requests),
            lanes: (0..lanes)
                .map(|_| Lane::start(calls.clone(), capabilities))
                .collect(),
            halting: Mutex::new(()),
            calls,
            initialize_timeout: settings.initialize_timeout,
        }
    }

    /// An id always has the same lane, or its order would be lost.
    ///
    /// Lanes share out blocks of slices that follow on each other, so that a journal that locks something for a block sees
    /// lanes that do not wait for each other. In turns, and not a large range each: ids that are numbered through have
    /// slices beside each other.
    fn lane(&self, persistence_id: &PersistenceId) -> &LaneSender {
        match self.lanes.as_slice() {
            [lane] => lane,
            lanes => {
                let blocks = lanes.len().next_power_of_two().max(BLOCKS);
                let block =
                    usize::from(persistence_id.slice()) * blocks / usize::from(NUMBER_OF_SLICES);
                &lanes[block % lanes.len()]
            }
        }
    }

    /// Returns the number of calls so far that have stored events.
    pub(crate) fn stored(&self) -> &Arc<Observed<u64>> {
        &self.calls.stored
    }

    fn breaker(&self, request: &Ordered) -> Option<&Arc<CircuitBreaker>> {
        match request {
            Ordered::Write(_) => Some(&self.calls.writes),
            Ordered::Alone(single) => single.has(&self.calls.writes),
            Ordered::TakeOver(_) | Ordered::Fence(_) => Some(&self.calls.recoveries),
            Ordered::Read(read) => self.breaker_of_read(read),
        }
    }

    /// A look counts as a recovery, because one begins with it.
    fn breaker_of_read(&self, read: &Read) -> Option<&Arc<CircuitBreaker>> {
        match read {
            Read::Look(_) => Some(&self.calls.recoveries),
            Read::Single(single) => single.has(&self.calls.reads),
        }
    }

    /// Brings all lanes to a halt for a call.
    fn route_still(&self, single: Single) {
        let halting = self.halting.lock().unwrap_or_else(PoisonError::into_inner);
        let halts = self.lanes.iter().map(LaneSender::halt).collect();
        drop(halting);
        let call = call_still(single, halts, self.calls.clone());
        self.calls.caller.runtime().spawn(call);
    }
}

fn check(breaker: Option<&Arc<CircuitBreaker>>) -> Result<(), BreakerOpen> {
    breaker.map_or(Ok(()), |breaker| breaker.check())
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
        self.calls.initialize()
    }

    fn initialize_timeout(&self) -> Duration {
        self.initialize_timeout
    }

    fn route(&self, request: Request) {
        match request {
            // A lane may be busy with a call that hangs; an open breaker answers without it.
            Request::Ordered(ordered) => match check(self.breaker(&ordered)) {
                Ok(()) => self.lane(ordered.waiter().persistence_id()).send(ordered),
                Err(open) => ordered.refuse(&open.into()),
            },
            Request::Read(read) => match check(self.breaker_of_read(&read)) {
                Ok(()) => self.lane(read.waiter().persistence_id()).send_read(read),
                Err(open) => read.refuse(&open.into()),
            },
            Request::AtOnce(single) => single.read(&self.calls),
            Request::Still(single) => match check(single.has(&self.calls.writes)) {
                Ok(()) => self.route_still(single),
                Err(open) => single.refuse(&open.into()),
            },
        }
    }
}
