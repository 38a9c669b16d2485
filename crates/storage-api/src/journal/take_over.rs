//! The head of a stream, and how a writer takes a persistence id over.

use crate::{Epoch, PersistenceId, SequenceNr, WriterId};

/// The highest numbers and the epoch of an id, read at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamHead {
    /// The highest number ever stored for the id, deleted events included; 0 for none.
    pub highest_sequence_nr: SequenceNr,
    /// The highest deleted number; 0 for none.
    pub deleted_to: SequenceNr,
    /// The epoch of the writer that took the id over last; 0 if it was never taken over.
    pub epoch: Epoch,
    /// True if the events of the id record the changes of a durable state: then no writer may take the id over.
    pub holds_changes: bool,
}

/// The condition on the epoch of an id under which a write of the id is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fence {
    /// The writer has taken the id over: its epoch is still this one, and stays.
    Holds(Epoch),
    /// The writer takes the id over with this write: the epoch is still the one that was read, 0 for an id that was
    /// never taken over, and the write raises it by one.
    TakesOver {
        /// The epoch that was read.
        from: Epoch,
    },
}

impl Fence {
    /// Returns the epoch that an id must have for the write.
    pub fn expected(self) -> Epoch {
        match self {
            Fence::Holds(epoch) | Fence::TakesOver { from: epoch } => epoch,
        }
    }

    /// Returns the epoch that the id has after the write.
    pub fn afterwards(self) -> Epoch {
        match self {
            Fence::Holds(epoch) => epoch,
            Fence::TakesOver { from } => from.saturating_add(1),
        }
    }

    /// Returns the fence of the next write of the same writer after this write is stored.
    pub fn once_stored(self) -> Fence {
        Fence::Holds(self.afterwards())
    }

    /// Returns whether a write at this fence may be stored for an id with this epoch; epoch 0 is never held.
    pub fn allows(self, epoch: Epoch) -> bool {
        self.expected() == epoch && self != Fence::Holds(0)
    }
}

/// The epoch that a writer got when it took an id over.
impl From<Epoch> for Fence {
    fn from(epoch: Epoch) -> Self {
        Fence::Holds(epoch)
    }
}

/// A delete of events up to a number, perhaps at one epoch only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventDeletion {
    /// The last event to delete, inclusive.
    pub to: SequenceNr,
    /// The epoch that the id must have; `None` for tools, which need none.
    pub epoch: Option<Epoch>,
}

impl EventDeletion {
    /// Deletes up to this number, inclusive, whatever the epoch of the id is.
    pub fn up_to(to: SequenceNr) -> Self {
        Self { to, epoch: None }
    }

    /// Limits the deletion to when the id has this epoch; 0 is that of an id that was never taken over.
    #[must_use]
    pub fn at_epoch(mut self, epoch: Epoch) -> Self {
        self.epoch = Some(epoch);
        self
    }
}

/// A delete up to this number, whatever the epoch of the id is.
impl From<SequenceNr> for EventDeletion {
    fn from(to: SequenceNr) -> Self {
        Self::up_to(to)
    }
}

/// A request to take over an id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakeOverRequest {
    /// The persistence id to take over.
    pub persistence_id: PersistenceId,
    /// The incarnation that will write.
    pub writer: WriterId,
}

impl TakeOverRequest {
    /// Makes a request from its parts.
    pub fn new(persistence_id: PersistenceId, writer: WriterId) -> Self {
        Self {
            persistence_id,
            writer,
        }
    }
}

/// The numbers and the epoch that a writer needs, once it has taken an id over, to replay and write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TakenOver {
    /// The highest number ever stored for the id, deleted events included; 0 for none.
    pub highest_sequence_nr: SequenceNr,
    /// The highest deleted number; 0 for none.
    pub deleted_to: SequenceNr,
    /// The new epoch, to be carried by every write of this incarnation; at least 1.
    pub epoch: Epoch,
}
