//! The settings of the actor in front of a journal.

use std::sync::Arc;
use std::time::Duration;

use actix_persistence_store_actor::BreakerSettings;

use crate::ReplayFilterSettings;

/// The settings of the actor in front of a journal.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct JournalSettings {
    /// The plugin id of the journal, for errors and logs.
    pub plugin_id: Arc<str>,
    /// The limits after which the journal is not called any more, and the longest time of one call.
    ///
    /// Writes with deletes, recoveries, and reads of the highest number have a breaker each.
    pub circuit_breaker: BreakerSettings,
    /// The time for which requests are held while initialising keeps failing.
    pub initialize_timeout: Duration,
    /// The longest time of a write, waiting included; askers derive their deadlines from it, and deletes get it as
    /// theirs.
    ///
    /// Longer than [`BreakerSettings::call_timeout`], or requests are given up on that are about to be answered.
    pub write_timeout: Duration,
    /// The longest time of one page of a replay, of a recovery, or of a read of the highest number, waiting included.
    ///
    /// A request whose time ends while it waits is answered when its lane looks through its queue next, and never sent.
    /// A recovery merged with later ones is waited for as long as the last of them, at most a call time-out.
    pub recovery_event_timeout: Duration,
    /// The time for which an actor waits for its turn to recover.
    ///
    /// Longer than the other limits, because when thousands of actors start at once the last one waits for all others.
    pub recovery_permit_timeout: Duration,
    /// The number of actors that may recover at the same time; 0 counts as 1.
    pub max_concurrent_recoveries: usize,
    /// The number of requests that are held until the journal is initialised.
    pub max_held_requests: usize,
    /// The number of writing calls that run at the same time; `None` for the number that the journal declares, 0 counts
    /// as 1.
    pub lanes: Option<usize>,
    /// The check of replayed events for overlapping writers, which the caller of the replay makes.
    pub replay_filter: ReplayFilterSettings,
}

impl JournalSettings {
    /// Returns the defaults: [`BreakerSettings::journal`], 30 s for everything but the permit with 2 minutes, 50
    /// recoveries at once, 10,000 requests held, lanes as declared, a replay filter that fails.
    pub fn new(plugin_id: impl Into<Arc<str>>) -> Self {
        Self {
            plugin_id: plugin_id.into(),
            circuit_breaker: BreakerSettings::journal(),
            initialize_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(30),
            recovery_event_timeout: Duration::from_secs(30),
            recovery_permit_timeout: Duration::from_secs(120),
            max_concurrent_recoveries: 50,
            max_held_requests: 10_000,
            lanes: None,
            replay_filter: ReplayFilterSettings::default(),
        }
    }
}
