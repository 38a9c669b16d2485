//! How a journal is treated.

use std::sync::Arc;
use std::time::Duration;

use actix_persistence_store_actor::BreakerSettings;

use crate::ReplayFilterSettings;

/// What the actor in front of a journal has to know.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct JournalSettings {
    /// Which journal this is, for errors and logs.
    pub plugin_id: Arc<str>,
    /// When to stop calling it, and how long one call may take.
    ///
    /// Writes with deletes, recoveries, and reads of the highest number have a breaker each.
    pub circuit_breaker: BreakerSettings,
    /// How long requests are held while initialising keeps failing.
    pub initialize_timeout: Duration,
    /// How long a write may take in all, waiting included; askers make their deadlines from it, deletes get it as theirs.
    ///
    /// Longer than [`BreakerSettings::call_timeout`], or requests are given up on that are about to be answered.
    pub write_timeout: Duration,
    /// How long one page of a replay, a recovery, or a read of the highest number may take in all, waiting included.
    ///
    /// One whose time ends while it waits is answered when its lane looks through its queue next, and never sent.
    /// A recovery merged with later ones is waited for as long as the last of them, at most a call time-out.
    pub recovery_event_timeout: Duration,
    /// How long an actor waits for its turn to recover.
    ///
    /// Longer than the other limits, because when thousands of actors start at once the last one waits for all others.
    pub recovery_permit_timeout: Duration,
    /// How many actors may recover at once; 0 counts as 1.
    pub max_concurrent_recoveries: usize,
    /// How many requests are held until the journal is initialised.
    pub stash_capacity: usize,
    /// How many calls that write run side by side; `None` for what the journal declares, 0 counts as 1.
    pub lanes: Option<usize>,
    /// How replayed events are checked for overlapping writers, by whoever replays them.
    pub replay_filter: ReplayFilterSettings,
}

impl JournalSettings {
    /// The defaults: [`BreakerSettings::journal`], 30 s for everything but the permit with 2 minutes, 50 recoveries at
    /// once, 10,000 requests held, lanes as declared, a replay filter that fails.
    pub fn new(plugin_id: impl Into<Arc<str>>) -> Self {
        Self {
            plugin_id: plugin_id.into(),
            circuit_breaker: BreakerSettings::journal(),
            initialize_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(30),
            recovery_event_timeout: Duration::from_secs(30),
            recovery_permit_timeout: Duration::from_secs(120),
            max_concurrent_recoveries: 50,
            stash_capacity: 10_000,
            lanes: None,
            replay_filter: ReplayFilterSettings::default(),
        }
    }
}
