//! The settings of the actor in front of a snapshot store.

use std::sync::Arc;
use std::time::Duration;

use actix_persistence_store_actor::BreakerSettings;

/// The settings of the actor in front of a snapshot store.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SnapshotSettings {
    /// The plugin id of the store, for errors and logs.
    pub plugin_id: Arc<str>,
    /// The limits after which the store is not called any more, and the longest time of one call; saves and deletes
    /// share a breaker, loads have their own.
    pub circuit_breaker: BreakerSettings,
    /// The time for which requests are held while initialising keeps failing.
    pub initialize_timeout: Duration,
    /// The longest time of a load, waiting included; never longer than a call time-out once it is sent.
    ///
    /// A request whose time ends while it waits for another request of its id, or before the store is initialised, is
    /// never sent, but answered only when it would be its turn.
    pub load_timeout: Duration,
    /// The time for which a save or delete waits for its turn; afterwards it is not sent any more, and answered as a
    /// load is.
    pub save_timeout: Duration,
    /// The number of requests that are held until the store is initialised.
    pub max_held_requests: usize,
    /// The number of calls that run at the same time, each for another id; 0 counts as 1.
    pub max_concurrent_calls: usize,
    /// The bytes of snapshots, as they are stored, that are saved each second, so that they do not hold events up; 0 saves
    /// each at once.
    ///
    /// A save waits for this for half of `save_timeout` at most, and not while another request of its id waits for it, its id
    /// or [everything](crate::SnapshotHandle::pace) is in a [hurry](crate::SnapshotHandle::hurry), or its asker has left. The
    /// wait takes no place from other calls.
    pub bytes_per_second: u64,
    /// True if recoveries pass over a snapshot that cannot be used, unless their actor decides; the recovery
    /// reads this setting, not the store.
    pub snapshot_is_optional: bool,
}

impl SnapshotSettings {
    /// Returns the defaults: [`BreakerSettings::snapshot_store`], 30 s to initialise and to load, 60 s to save, 10,000
    /// requests held, 16 calls at once, 8 MiB a second, no snapshot optional.
    pub fn new(plugin_id: impl Into<Arc<str>>) -> Self {
        Self {
            plugin_id: plugin_id.into(),
            circuit_breaker: BreakerSettings::snapshot_store(),
            initialize_timeout: Duration::from_secs(30),
            load_timeout: Duration::from_secs(30),
            save_timeout: Duration::from_secs(60),
            max_held_requests: 10_000,
            max_concurrent_calls: 16,
            bytes_per_second: 8 * 1024 * 1024,
            snapshot_is_optional: false,
        }
    }
}
