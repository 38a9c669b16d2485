//! The sections `published-events` and `dead-letters`: the number of notifications kept for slow readers.

use actix_persistence_persistent_actor::{DeadLetters, PublishedEvents};
use actix_persistence_storage_api::SectionReader;

/// The section of published events.
pub(crate) const PUBLISHED_EVENTS: &str = "published-events";
/// The section of dead letters.
pub(crate) const DEAD_LETTERS: &str = "dead-letters";
/// The key of both.
pub(crate) const CAPACITY: &str = "capacity";

/// The number of notifications of each kind that are kept for a slow reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotificationCapacities {
    pub(crate) published_events: usize,
    pub(crate) dead_letters: usize,
}

pub(super) fn read_notification_capacities(
    persistence: &mut SectionReader<'_>,
) -> NotificationCapacities {
    let mut capacity = |section, default, max: usize| {
        let Some(section) = persistence.section(section) else {
            return default;
        };
        let mut reader = section.reader();
        let capacity = reader.integer_or(CAPACITY, default as u64, 1..=max as u64);
        persistence.absorb(reader.finish());
        usize::try_from(capacity).unwrap_or(max)
    };
    NotificationCapacities {
        published_events: capacity(
            PUBLISHED_EVENTS,
            PublishedEvents::DEFAULT_CAPACITY,
            PublishedEvents::MAX_CAPACITY,
        ),
        dead_letters: capacity(
            DEAD_LETTERS,
            DeadLetters::DEFAULT_CAPACITY,
            DeadLetters::MAX_CAPACITY,
        ),
    }
}
