//! The events that are stored in this process, for every reader that subscribes.

use std::fmt;
use std::sync::Arc;

use actix_persistence_storage_api::{PersistenceId, SequenceNr, Timestamp};

use crate::error::panics::caught;
use crate::persisting::persisted_events::PersistedEvents;
use crate::publishing::notifications::{MAX_CAPACITY, Notifications};
use crate::{Event, Metadata, Subscription};

/// An event that was stored.
#[non_exhaustive]
pub struct PublishedEvent<E> {
    /// The actor that persisted it.
    pub persistence_id: PersistenceId,
    /// The number of the event; those of one actor are published in ascending order. Of a state, its revision.
    pub sequence_nr: SequenceNr,
    /// The time that is stored with it; of a state, when it was sent to its store.
    pub timestamp: Timestamp,
    /// The metadata that is stored with it; of a state, which is stored without, empty.
    pub metadata: Metadata,
    /// The event, shared with the actor and every other reader.
    pub event: Arc<E>,
}

/// Publishes the events of all actors that share it, each to those who listen to its type.
///
/// As Akka's `EventStream` would if actors published what they persist, with the order of the journal: an event is
/// published once its actor knows that it is stored, before any handler runs, and at most once. Replay publishes nothing.
/// Events whose actor failed, or lost its process, before it learned that they are stored are not published; the next
/// number shows the gap. What must see every event reads the journal.
///
/// To those who listen to its type, a stored [`State`](crate::State) is an event; a delete publishes nothing.
#[derive(Clone)]
pub struct PublishedEvents(Arc<Notifications>);

impl PublishedEvents {
    /// The number of events that are kept for a slow reader unless something else is set.
    pub const DEFAULT_CAPACITY: usize = 1_024;
    /// The largest capacity that a channel may have, in events.
    pub const MAX_CAPACITY: usize = MAX_CAPACITY;

    /// Makes a channel that keeps `capacity` events for a slow reader: from 1 to [`MAX_CAPACITY`](Self::MAX_CAPACITY),
    /// rounded up to a power of two; a value outside counts as the nearest of these.
    pub fn new(capacity: usize) -> Self {
        Self(Notifications::new(capacity))
    }

    /// Returns every event of this type that is stored from now on, of all actors; those persisted after the call are
    /// among them.
    pub fn subscribe<E: Event>(&self) -> Subscription<PublishedEvent<E>> {
        self.0.subscribe()
    }

    /// Publishes the stored events of one call to every reader, numbered from `first` on.
    pub(crate) fn publish<E: Event>(
        &self,
        persistence_id: &PersistenceId,
        first: SequenceNr,
        timestamp: Timestamp,
        metadata: &Metadata,
        events: &mut PersistedEvents<E>,
    ) {
        let Some(listeners) = self.0.listeners::<PublishedEvent<E>>() else {
            return;
        };
        for (sequence_nr, event) in (first..).zip(events.share()) {
            let published = PublishedEvent {
                persistence_id: persistence_id.clone(),
                sequence_nr,
                timestamp,
                metadata: metadata.clone(),
                event: Arc::clone(event),
            };
            // An event that it pushes out of a full channel is dropped here, and that may be code of the user.
            if let Err(panic) = caught(|| drop(listeners.send(published))) {
                tracing::error!(%persistence_id, sequence_nr, panic, "publishing an event panicked");
            }
        }
    }
}

impl Default for PublishedEvents {
    fn default() -> Self {
        Self::new(Self::DEFAULT_CAPACITY)
    }
}

impl fmt::Debug for PublishedEvents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PublishedEvents").finish_non_exhaustive()
    }
}

// Derived, it would ask for an event that can be cloned.
impl<E> Clone for PublishedEvent<E> {
    fn clone(&self) -> Self {
        Self {
            persistence_id: self.persistence_id.clone(),
            sequence_nr: self.sequence_nr,
            timestamp: self.timestamp,
            metadata: self.metadata.clone(),
            event: Arc::clone(&self.event),
        }
    }
}

/// Shows no event, so that no payload gets into a log by accident.
impl<E> fmt::Debug for PublishedEvent<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PublishedEvent")
            .field("persistence_id", &self.persistence_id)
            .field("sequence_nr", &self.sequence_nr)
            .field("timestamp", &self.timestamp)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::{FutureExt, StreamExt};
    use serde::{Deserialize, Serialize};

    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Heard(u32);

    #[derive(Serialize, Deserialize)]
    struct Other;

    impl Event for Heard {
        const MANIFEST: &'static str = "test.heard";
        const VERSION: u32 = 1;
    }

    impl Event for Other {
        const MANIFEST: &'static str = "test.other";
        const VERSION: u32 = 1;
    }

    fn publish(hub: &PublishedEvents, events: &mut PersistedEvents<Heard>) {
        let id = PersistenceId::of("T", "1");
        hub.publish(&id, 7, Timestamp::UNSET, &Metadata::new(), events);
    }

    #[test]
    fn events_stay_where_they_are_without_a_listener_to_their_type() {
        let hub = PublishedEvents::default();
        let mut events = PersistedEvents::from(vec![Heard(1), Heard(2)]);
        publish(&hub, &mut events);
        assert!(matches!(events, PersistedEvents::Owned(_)));
        let _other = hub.subscribe::<Other>();
        publish(&hub, &mut events);
        assert!(matches!(events, PersistedEvents::Owned(_)));
        drop(hub.subscribe::<Heard>());
        publish(&hub, &mut events);
        assert!(matches!(events, PersistedEvents::Owned(_)));
    }

    #[test]
    fn listeners_and_handlers_share_the_events() {
        let hub = PublishedEvents::default();
        let mut subscription = hub.subscribe::<Heard>();
        let mut events = PersistedEvents::from(vec![Heard(1), Heard(2)]);
        publish(&hub, &mut events);
        for (nr, own) in (7..).zip(events.iter()) {
            let item = subscription.next().now_or_never().unwrap().unwrap();
            let published = item.unwrap();
            assert_eq!((published.sequence_nr, &*published.event), (nr, own));
            assert!(std::ptr::eq(&*published.event, own));
        }
    }
}
