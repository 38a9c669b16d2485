//! The counts of calls that have stored something.

use std::sync::{Arc, OnceLock};

use actix_persistence_storage_api::StateWrite;
use actix_persistence_store_actor::Observed;

/// The numbers of calls that have stored changes, and events of changes; clones count the same.
#[derive(Clone)]
pub(crate) struct Stored {
    pub(crate) changes: Arc<Observed<u64>>,
    /// The count of the journal that gets the events.
    events: Arc<OnceLock<Arc<Observed<u64>>>>,
}

impl Stored {
    pub(crate) fn new() -> Self {
        Self {
            changes: Arc::new(Observed::new(0)),
            events: Arc::default(),
        }
    }

    /// Counts events there, unless they are counted elsewhere.
    pub(crate) fn count_events_in(&self, events: Arc<Observed<u64>>) {
        self.events.get_or_init(|| events);
    }

    /// Counts a call that has stored a change, and perhaps an event of one.
    pub(crate) fn count(&self, has_event: bool) {
        self.changes.update(|calls| *calls += 1);
        if let Some(events) = self.events.get().filter(|_| has_event) {
            events.update(|calls| *calls += 1);
        }
    }
}

/// Returns whether an event is stored with a change.
pub(crate) fn has_event(change: &StateWrite) -> bool {
    match change {
        StateWrite::Upsert(update) => update.change_event.is_some(),
        StateWrite::Delete(delete) => delete.change_event.is_some(),
    }
}
