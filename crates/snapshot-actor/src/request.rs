//! Requests on their way to the snapshot store.

use actix_persistence_storage_api::{
    Payload, PersistenceId, SnapshotCriteria, SnapshotMetadata, SnapshotRecord,
};
use actix_persistence_store_actor::{Ask, Question, Refusal, Refuse, Slot};
use tokio::time::Instant;

/// A question about the snapshots of one id, and until when anybody cares.
pub(crate) struct Request {
    pub(crate) deadline: Instant,
    pub(crate) kind: Kind,
}

pub(crate) enum Kind {
    Load(Slot<Ask<Option<SnapshotRecord>>>, SnapshotCriteria),
    Change(Slot<Ask<()>>, Change),
}

/// What changes what is stored.
#[derive(Clone)]
pub(crate) enum Change {
    Save(SnapshotMetadata, Payload),
    Delete(SnapshotMetadata),
    DeleteMatching(SnapshotCriteria),
}

impl Request {
    pub(crate) fn persistence_id(&self) -> &PersistenceId {
        match &self.kind {
            Kind::Load(slot, _) => slot.question().persistence_id(),
            Kind::Change(slot, _) => slot.question().persistence_id(),
        }
    }

    /// Whether nobody would use the answer any more.
    pub(crate) fn is_dead(&self, now: Instant) -> bool {
        let abandoned = match &self.kind {
            Kind::Load(slot, _) => slot.is_abandoned(),
            Kind::Change(slot, _) => slot.is_abandoned(),
        };
        abandoned || self.deadline <= now
    }
}

impl Refuse for Request {
    fn refuse(self, refusal: &Refusal) {
        match self.kind {
            Kind::Load(slot, _) => slot.refuse(refusal),
            Kind::Change(slot, _) => slot.refuse(refusal),
        }
    }
}
