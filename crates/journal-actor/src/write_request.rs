//! Asking for events to be stored.

use actix_persistence_storage_api::{
    AtomicWrite, Operation, PersistenceId, StorageError, WriteOutcome,
};
use actix_persistence_store_actor::Question;
use tokio::time::Instant;

/// A request to store atomic writes of one id, in order.
#[derive(Debug)]
pub struct WriteRequest {
    /// The persistence id of the events.
    pub persistence_id: PersistenceId,
    /// The writes to store; a write of another id fails the request.
    pub writes: Vec<AtomicWrite>,
    /// The time at which the asker stops waiting; afterwards the request is not sent any more.
    pub deadline: Instant,
}

/// The one answer to a [`WriteRequest`].
#[derive(Clone, Debug)]
pub struct WriteReply {
    /// The outcomes, one per write, in order; when the call as a whole failed, each is [`WriteOutcome::Failed`].
    pub outcomes: Vec<WriteOutcome>,
    /// The writes, to be freed by the thread that has allocated them, which takes an allocator the least time; empty where
    /// they were handed to the journal, which is sent copies of those that share a call.
    pub writes: Vec<AtomicWrite>,
}

/// The facts about a write request that are needed to answer it when nothing else does.
pub(crate) struct WriteQuestion {
    pub(crate) persistence_id: PersistenceId,
    pub(crate) writes: usize,
}

impl Question for WriteQuestion {
    type Answer = WriteReply;

    fn operation(&self) -> Operation {
        Operation::WriteMessages
    }

    fn persistence_id(&self) -> Option<&PersistenceId> {
        Some(&self.persistence_id)
    }

    fn failed(&self, error: StorageError) -> WriteReply {
        WriteReply {
            outcomes: vec![WriteOutcome::Failed(error); self.writes],
            writes: Vec::new(),
        }
    }
}
