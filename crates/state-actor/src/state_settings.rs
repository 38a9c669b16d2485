//! The settings of the actor in front of a state store.

use std::sync::Arc;
use std::time::Duration;

use actix_persistence_store_actor::BreakerSettings;

/// The settings of the actor in front of a state store.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StateSettings {
    /// The plugin id of the store, for errors and logs.
    pub plugin_id: Arc<str>,
    /// The limits after which the store is not called any more, and the longest time of one call; writes and deletes
    /// share a breaker, reads have their own.
    pub circuit_breaker: BreakerSettings,
    /// The time for which requests are held while initialising keeps failing.
    pub initialize_timeout: Duration,
    /// The longest time of a read, waiting included; never longer than a call time-out once it is sent.
    ///
    /// A request whose time ends while it waits for another request of its id, or before the store is initialised, is
    /// never sent, but answered only when it would be its turn.
    pub recovery_timeout: Duration,
    /// The time for which a write or delete waits for its turn; afterwards it is not sent any more, and answered as a
    /// read is.
    pub write_timeout: Duration,
    /// The time for which an actor waits for its turn to recover.
    ///
    /// Longer than the other limits, because when thousands of actors start at once the last one waits for all others.
    pub recovery_permit_timeout: Duration,
    /// The number of actors that may recover at the same time; 0 counts as 1.
    pub max_concurrent_recoveries: usize,
    /// The number of requests that are held until the store is initialised.
    pub max_held_requests: usize,
    /// The number of calls that run at the same time, each for another id; 0 counts as 1.
    ///
    /// Changes that share calls are not counted. Each other call is a transaction of its own: more of them than the store has
    /// connections gain nothing, and those that wait for one use up their time.
    pub max_concurrent_calls: usize,
}

impl StateSettings {
    /// Returns the defaults: [`BreakerSettings::journal`], 30 s for everything but the permit with 2 minutes, 50
    /// recoveries at once, 10,000 requests held, 16 calls at once.
    pub fn new(plugin_id: impl Into<Arc<str>>) -> Self {
        Self {
            plugin_id: plugin_id.into(),
            circuit_breaker: BreakerSettings::journal(),
            initialize_timeout: Duration::from_secs(30),
            recovery_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(30),
            recovery_permit_timeout: Duration::from_secs(120),
            max_concurrent_recoveries: 50,
            max_held_requests: 10_000,
            max_concurrent_calls: 16,
        }
    }
}
