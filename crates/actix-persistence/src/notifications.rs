//! Notifications of the actors, for the rest of the program.

use actix_persistence_persistent_actor::{DeadLetter, Event, PublishedEvent, Subscription};

use crate::Persistence;

impl Persistence {
    /// Returns every event of this type that any actor of this persistence stores from now on.
    ///
    /// An event is published when its actor learns that it is stored, before its handlers run; those of one actor in
    /// the order of their numbers. Replay publishes nothing. For notifications, not for exactly-once processing: a
    /// reader that is late by more than the setting `persistence.published-events.capacity` (1,024, rounded up to
    /// a power of two) gets the number of events that it missed, and events are left out whose actor failed before it
    /// learned that they are stored.
    ///
    /// The stream may be read on any thread; it ends when the last clone of this handle and the last actor are gone.
    pub fn events<E: Event>(&self) -> Subscription<PublishedEvent<E>> {
        self.0.published_events.subscribe()
    }

    /// Subscribes to the dead letters of this persistence, from now on: messages that were dropped without an answer,
    /// and failures of snapshots and deletes that the actor does not handle.
    ///
    /// A reader that is late by more than the setting `persistence.dead-letters.capacity` (1,024, rounded up to a
    /// power of two) gets the number of those that it missed.
    pub fn dead_letters(&self) -> Subscription<DeadLetter> {
        self.0.dead_letters.subscribe()
    }
}
