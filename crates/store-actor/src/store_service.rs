//! The service that handles the requests of a store actor.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use crate::call::Call;
use crate::gate::Gate;
use crate::refusal::Refuse;
use crate::store_health::StoreHealth;

/// The part of a store actor that is not actix: it outlives the actor, which only brings it the requests.
pub trait StoreService: Send + Sync + 'static {
    /// The requests of the service.
    type Request: Refuse;

    /// Returns the gate that holds requests until [`initialize`](Self::initialize) has succeeded.
    fn gate(&self) -> &Gate<Self::Request>;

    /// Returns the health of the store.
    fn health(&self) -> &Arc<StoreHealth>;

    /// Starts an attempt to make the store ready.
    fn initialize(&self) -> Call<()>;

    /// Returns the time for which requests are held while attempts fail, and for which one attempt is waited for before
    /// the next.
    fn initialize_timeout(&self) -> Duration;

    /// Sets a request going, now that the store is ready; never blocks and never comes back to the gate.
    ///
    /// Any thread may call it, several at the same time.
    fn route(&self, request: Self::Request);
}

/// Sets a request going; a panic on the way drops it, which answers it, and is none of the sender's.
pub(crate) fn route<S: StoreService>(service: &S, request: S::Request) {
    if catch_unwind(AssertUnwindSafe(|| service.route(request))).is_err() {
        let store = service.gate().name();
        tracing::error!(store, "a request panicked on its way to the store");
    }
}
