//! The parts that actors of the same stores share.

pub(crate) mod conflict_log;
pub(crate) mod live_ids;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use actix_persistence_journal_actor::JournalHandle;
use actix_persistence_snapshot_actor::SnapshotHandle;
use actix_persistence_state_actor::StateHandle;
use actix_persistence_storage_api::BackOff;

pub use live_ids::{LiveIds, ReservedId};

use crate::environment::conflict_log::ConflictLog;
use crate::schema::Schema;
use crate::serializer::{
    DEFAULT_EVENT_LIMIT, DEFAULT_SNAPSHOT_LIMIT, DEFAULT_STATE_LIMIT, HARD_PAYLOAD_LIMIT, Outgoing,
};
use crate::{
    Compression, DeadLetters, EncodeError, Event, OnConflict, PublishedEvents, Serializer,
    Serializers, Snapshot, StashPolicy, Stores,
};

/// The stores and settings an actor is started with.
#[non_exhaustive]
pub struct Environment {
    /// The stores of the actors.
    pub stores: Stores,
    /// The serializers that are known.
    pub serializers: Serializers,
    /// The serializer of events, or of states, whose type names none.
    pub event_serializer: Serializer,
    /// The serializer of snapshots whose type names none.
    pub snapshot_serializer: Serializer,
    /// The compression of events, or of states, whose type names none.
    pub event_compression: Compression,
    /// The compression of snapshots whose type names none.
    pub snapshot_compression: Compression,
    /// The back-off of failed actors.
    pub back_off: BackOffSettings,
    /// The number of messages that an actor holds while it recovers or persists, and the fate of further ones.
    pub stash_policy: StashPolicy,
    /// The ids that are live in this process, shared by all environments of one journal or state store; and of both,
    /// where an id must not belong to an event-sourced actor and to a durable state.
    pub live_ids: LiveIds,
    /// The readers of stored events.
    pub published_events: PublishedEvents,
    /// The readers of dead letters.
    pub dead_letters: DeadLetters,
    /// The log of conflicts with other writers.
    pub(crate) conflicts: ConflictLog,
}

/// The back-off with which a failed actor is rebuilt from its factory, as Akka's `BackoffSupervisor`.
///
/// ```
/// # use std::time::Duration;
/// # use actix_persistence_persistent_actor::BackOffSettings;
/// let soon = BackOffSettings::default()
///     .with_min(Duration::from_millis(100))
///     .with_max(Duration::from_secs(5))
///     .with_max_restarts(10);
/// # assert_eq!(soon.max_restarts, Some(10));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct BackOffSettings {
    /// The delay after the first failure.
    pub min: Duration,
    /// The longest delay between two attempts.
    pub max: Duration,
    /// The random part of each delay: 0.2 lengthens it by up to a fifth.
    pub random_factor: f64,
    /// The number of failures in a row that ends the actor for good; `None` for no limit.
    pub max_restarts: Option<u32>,
    /// The time after which an actor that works starts its delays again from `min`; `None` for half-way between `min`
    /// and `max`, as in Akka.
    pub reset_after: Option<Duration>,
    /// True if commands that wait survive a failure that waiting may cure; otherwise their channels close.
    pub keep_stash: bool,
    /// The reaction to a conflict with another writer. A conflict is no failure: neither the delays nor the limit count
    /// it.
    pub on_conflict: OnConflict,
}

impl Default for BackOffSettings {
    fn default() -> Self {
        Self {
            min: Duration::from_secs(3),
            max: Duration::from_secs(30),
            random_factor: 0.2,
            max_restarts: None,
            reset_after: None,
            keep_stash: true,
            on_conflict: OnConflict::Recover,
        }
    }
}

impl BackOffSettings {
    /// Returns the same with this delay after the first failure; one above [`max`](Self::max) is the longest too.
    #[must_use]
    pub fn with_min(mut self, min: Duration) -> Self {
        self.min = min;
        self
    }

    /// Returns the same with no delay longer than this.
    #[must_use]
    pub fn with_max(mut self, max: Duration) -> Self {
        self.max = max;
        self
    }

    /// Returns the same with delays lengthened by up to this share, 0 for none.
    #[must_use]
    pub fn with_random_factor(mut self, random_factor: f64) -> Self {
        self.random_factor = random_factor;
        self
    }

    /// Returns the same with this limit to the failures in a row.
    #[must_use]
    pub fn with_max_restarts(mut self, max_restarts: u32) -> Self {
        self.max_restarts = Some(max_restarts);
        self
    }

    /// Returns the same value, starting again from `min` once the actor has worked for this time.
    #[must_use]
    pub fn with_reset_after(mut self, reset_after: Duration) -> Self {
        self.reset_after = Some(reset_after);
        self
    }

    /// Returns the same value, keeping the commands that wait or not.
    #[must_use]
    pub fn with_keep_stash(mut self, keep_stash: bool) -> Self {
        self.keep_stash = keep_stash;
        self
    }

    /// Returns the same value, doing this when another writer was there first.
    #[must_use]
    pub fn with_on_conflict(mut self, on_conflict: OnConflict) -> Self {
        self.on_conflict = on_conflict;
        self
    }

    /// Returns the time that an actor has to work until its delays start again from `min`.
    pub(crate) fn resets_after(&self) -> Duration {
        let half_way = || self.min / 2 + self.max.max(self.min) / 2;
        self.reset_after.unwrap_or_else(half_way)
    }

    pub(crate) fn delays(&self) -> BackOff {
        BackOff::new(self.min, self.max, self.random_factor)
    }
}

impl Environment {
    /// Makes the environment of event-sourced actors on these stores, with default settings.
    pub fn new(journal: JournalHandle, snapshot_store: Option<SnapshotHandle>) -> Self {
        Self::on(Stores::Events {
            journal,
            snapshot_store,
        })
    }

    /// Makes the environment of durable states on this store, with default settings.
    pub fn of_states(store: StateHandle) -> Self {
        Self::on(Stores::State(store))
    }

    fn on(stores: Stores) -> Self {
        Self {
            stores,
            serializers: Serializers::default(),
            event_serializer: Serializer::default(),
            snapshot_serializer: Serializer::default(),
            event_compression: Compression::default(),
            snapshot_compression: Compression::default(),
            back_off: BackOffSettings::default(),
            stash_policy: StashPolicy::default(),
            live_ids: LiveIds::default(),
            published_events: PublishedEvents::default(),
            dead_letters: DeadLetters::default(),
            conflicts: ConflictLog::default(),
        }
    }

    /// Returns the most bytes of an event, or of a state.
    pub(crate) fn max_event_bytes(&self) -> usize {
        let limit = match &self.stores {
            Stores::Events { journal, .. } => {
                let declared = journal.capabilities().max_event_bytes;
                declared.unwrap_or(DEFAULT_EVENT_LIMIT)
            }
            Stores::State(store) => {
                let declared = store.capabilities().max_state_bytes;
                declared.unwrap_or(DEFAULT_STATE_LIMIT)
            }
        };
        limit.min(HARD_PAYLOAD_LIMIT)
    }

    fn max_snapshot_bytes(&self) -> usize {
        let declared = self
            .stores
            .snapshot_store()
            .and_then(|store| store.capabilities().max_snapshot_bytes);
        declared
            .unwrap_or(DEFAULT_SNAPSHOT_LIMIT)
            .min(HARD_PAYLOAD_LIMIT)
    }

    /// Encodes an event, or a state, of at most this many bytes.
    pub(crate) fn encode_event<E: Event>(
        &self,
        event: &E,
        schema: &Schema<E>,
        limit: usize,
    ) -> Result<Outgoing, EncodeError> {
        let serializer = E::SERIALIZER.unwrap_or(self.event_serializer);
        let encoded = schema.encode(event, &self.serializers, serializer, limit)?;
        let compression = E::COMPRESSION.unwrap_or(self.event_compression);
        let outgoing = Outgoing::new(encoded, compression)?;
        #[cfg(feature = "encryption")]
        let outgoing =
            outgoing.encrypted_for(event.data_subject().as_deref(), &self.serializers, limit)?;
        Ok(outgoing)
    }

    /// Encodes a snapshot.
    pub(crate) fn encode_snapshot<S: Snapshot>(
        &self,
        snapshot: &S,
        schema: &Schema<S>,
    ) -> Result<Outgoing, EncodeError> {
        let limit = self.max_snapshot_bytes();
        let serializer = S::SERIALIZER.unwrap_or(self.snapshot_serializer);
        let encoded = schema.encode(snapshot, &self.serializers, serializer, limit)?;
        let compression = S::COMPRESSION.unwrap_or(self.snapshot_compression);
        let outgoing = Outgoing::new(encoded, compression)?;
        #[cfg(feature = "encryption")]
        let outgoing =
            outgoing.encrypted_for(snapshot.data_subject().as_deref(), &self.serializers, limit)?;
        Ok(outgoing)
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment")
            .field("stores", &self.stores)
            .field("back_off", &self.back_off)
            .field("stash_policy", &self.stash_policy)
            .finish_non_exhaustive()
    }
}

/// Environments are shared by every arbiter.
const _: fn() = || {
    fn shared<T: Send + Sync>() {}
    shared::<Arc<Environment>>();
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counting_starts_again_half_way_between_the_delays_unless_it_is_set() {
        let seconds = Duration::from_secs;
        let settings = BackOffSettings::default();
        assert_eq!(settings.resets_after(), Duration::from_millis(16_500));
        let settings = settings.with_min(seconds(1)).with_max(seconds(120));
        assert_eq!(settings.resets_after(), Duration::from_millis(60_500));
        let never = settings.clone().with_min(Duration::MAX);
        assert!(never.resets_after() > seconds(u64::MAX / 2));
        let settings = settings.with_reset_after(seconds(4)).with_max(seconds(600));
        assert_eq!(settings.resets_after(), seconds(4));
    }
}
