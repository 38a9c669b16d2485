//! Asking for events to be stored.

use actix_persistence_storage_api::{
    AtomicWrite, Operation, PersistenceId, StorageError, WriteOutcome, WriterId,
};
use actix_persistence_store_actor::Question;
use tokio::time::Instant;

/// Atomic writes of one id, to be stored in order.
#[derive(Debug)]
pub struct WriteRequest {
    /// Whose events these are.
    pub persistence_id: PersistenceId,
    /// What to store; a write of another id fails the request.
    pub writes: Vec<AtomicWrite>,
    /// Who asks; comes back with the reply.
    pub incarnation: WriterId,
    /// When the asker stops waiting: afterwards the request is not sent any more.
    pub deadline: Instant,
}

/// The one answer to a [`WriteRequest`].
#[derive(Clone, Debug)]
pub struct WriteReply {
    /// Who asked.
    pub incarnation: WriterId,
    /// One per write, in order; when the call as a whole failed, each is [`WriteOutcome::Failed`].
    pub outcomes: Vec<WriteOutcome>,
}

/// What is known of a write request when nobody else answers it.
pub(crate) struct WriteQuestion {
    pub(crate) persistence_id: PersistenceId,
    pub(crate) incarnation: WriterId,
    pub(crate) writes: usize,
}

impl Question for WriteQuestion {
    type Answer = WriteReply;

    fn operation(&self) -> Operation {
        Operation::WriteMessages
    }

    fn persistence_id(&self) -> &PersistenceId {
        &self.persistence_id
    }

    fn failed(&self, error: StorageError) -> WriteReply {
        WriteReply {
            incarnation: self.incarnation,
            outcomes: vec![WriteOutcome::Failed(error); self.writes],
        }
    }
}
