//! The place where a payload is stored.

use actix_persistence_storage_api::PersistenceId;

/// The place under which a payload is stored; what is encrypted for one place cannot be read at another.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(
    not(feature = "encryption"),
    expect(dead_code, reason = "only encryption binds a payload to its place")
)]
pub(crate) struct Place<'a> {
    pub(crate) kind: PlaceKind,
    pub(crate) persistence_id: &'a PersistenceId,
    /// The sequence number of an event or a snapshot, or the revision of a state.
    pub(crate) number: u64,
}

/// The kind of record at a place. The numbers are part of what encryption authenticates: they never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlaceKind {
    Event = 1,
    Snapshot = 2,
    State = 3,
}

impl<'a> Place<'a> {
    pub(crate) fn of_event(persistence_id: &'a PersistenceId, number: u64) -> Self {
        Self::new(PlaceKind::Event, persistence_id, number)
    }

    pub(crate) fn of_snapshot(persistence_id: &'a PersistenceId, number: u64) -> Self {
        Self::new(PlaceKind::Snapshot, persistence_id, number)
    }

    pub(crate) fn of_state(persistence_id: &'a PersistenceId, number: u64) -> Self {
        Self::new(PlaceKind::State, persistence_id, number)
    }

    fn new(kind: PlaceKind, persistence_id: &'a PersistenceId, number: u64) -> Self {
        Self {
            kind,
            persistence_id,
            number,
        }
    }
}
