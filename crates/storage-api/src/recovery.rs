//! Taking over a persistence id in order to write.

use crate::{Epoch, PersistenceId, SequenceNr, WriterId};

/// Asks to take over an id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecoveryRequest {
    /// What to take over.
    pub persistence_id: PersistenceId,
    /// The incarnation that will write.
    pub writer: WriterId,
}

/// What an incarnation needs to know before it replays and writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recovered {
    /// The highest number ever stored for the id, deleted events included; 0 for none.
    pub highest_sequence_nr: SequenceNr,
    /// The highest deleted number; 0 for none.
    pub deleted_to: SequenceNr,
    /// The new epoch, to be carried by every write of this incarnation; at least 1.
    pub epoch: Epoch,
}
