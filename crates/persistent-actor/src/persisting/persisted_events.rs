//! The events of one call, kept until their handlers have run.

use std::sync::Arc;

/// The events of one call, or the one state; shared only once a listener reads them.
pub(crate) enum PersistedEvents<E> {
    /// The events as the actor passed them.
    Owned(Vec<E>),
    /// The events, which were published to others.
    Shared(Vec<Arc<E>>),
    /// The call deletes a state, and has no event.
    Delete,
}

impl<E> PersistedEvents<E> {
    pub(crate) fn is_delete(&self) -> bool {
        matches!(self, PersistedEvents::Delete)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &E> {
        let (owned, shared) = match self {
            PersistedEvents::Owned(events) => (&events[..], &[][..]),
            PersistedEvents::Shared(events) => (&[][..], &events[..]),
            PersistedEvents::Delete => (&[][..], &[][..]),
        };
        owned.iter().chain(shared.iter().map(|event| &**event))
    }

    /// Returns the events, to be kept by others too.
    pub(crate) fn share(&mut self) -> &[Arc<E>] {
        if let PersistedEvents::Owned(events) = self {
            let events = std::mem::take(events);
            *self = PersistedEvents::Shared(events.into_iter().map(Arc::new).collect());
        }
        match self {
            PersistedEvents::Shared(events) => events,
            PersistedEvents::Owned(_) | PersistedEvents::Delete => &[],
        }
    }
}

impl<E> From<Vec<E>> for PersistedEvents<E> {
    fn from(events: Vec<E>) -> Self {
        PersistedEvents::Owned(events)
    }
}
