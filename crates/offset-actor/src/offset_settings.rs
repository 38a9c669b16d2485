//! The settings of the actor in front of an offset store.

use std::sync::Arc;
use std::time::Duration;

use actix_persistence_store_actor::BreakerSettings;

/// The settings of the actor in front of an offset store.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct OffsetSettings {
    /// The plugin id of the store, for errors and logs.
    pub plugin_id: Arc<str>,
    /// The limits after which the store is not called any more, and the longest time of one call, the work of a commit
    /// included; reads have a breaker of their own.
    pub circuit_breaker: BreakerSettings,
    /// The time for which requests are held while initialising keeps failing.
    pub initialize_timeout: Duration,
    /// The longest time of a read, waiting included; never longer than a call time-out once it is sent.
    ///
    /// A request whose time ends while it waits for another request of its queue, or before the store is initialised, is
    /// never sent, but answered only when it would be its turn.
    pub read_timeout: Duration,
    /// The time for which a request that changes something waits for its turn; afterwards it is not sent any more, and
    /// answered as a read is.
    pub write_timeout: Duration,
    /// The number of requests that are held until the store is initialised.
    pub max_held_requests: usize,
    /// The number of calls that run at the same time; 0 counts as 1.
    ///
    /// It should be higher than the number of shares that this process works on: leases are renewed beside their commits.
    pub max_concurrent_calls: usize,
}

impl OffsetSettings {
    /// Returns the defaults: [`BreakerSettings::journal`], 30 s to initialise and to read, 60 s to write, 10,000 requests
    /// held, 64 calls at once.
    pub fn new(plugin_id: impl Into<Arc<str>>) -> Self {
        Self {
            plugin_id: plugin_id.into(),
            circuit_breaker: BreakerSettings::journal(),
            initialize_timeout: Duration::from_secs(30),
            read_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(60),
            max_held_requests: 10_000,
            max_concurrent_calls: 64,
        }
    }
}
