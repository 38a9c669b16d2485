//! The state of an id at the beginning of a recovery.

use actix_persistence_storage_api::{
    Fence, Operation, PersistenceId, SequenceNr, StorageError, StorageErrorKind, StreamHead,
    TakenOver,
};

/// The numbers that an incarnation knows of its id before it replays, and the fence of its first write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The highest number ever stored for the id, deleted events included; 0 for none.
    pub highest_sequence_nr: SequenceNr,
    /// The highest deleted number; 0 for none.
    pub deleted_to: SequenceNr,
    /// [`Fence::TakesOver`] after a look, [`Fence::Holds`] if the id had to be taken over at once.
    pub fence: Fence,
}

impl Standing {
    /// Makes the standing after a look at the id.
    ///
    /// # Errors
    /// If no writer may take the id over.
    pub(crate) fn after_look(
        persistence_id: &PersistenceId,
        head: StreamHead,
    ) -> Result<Self, StorageError> {
        if head.holds_changes {
            let message = "its events record the changes of a durable state; give the event-sourced actor another id";
            let error = StorageError::new(StorageErrorKind::Unsupported, Operation::ReadHead);
            return Err(error
                .with_persistence_id(persistence_id.clone())
                .with_message(message));
        }
        Ok(Self {
            highest_sequence_nr: head.highest_sequence_nr,
            deleted_to: head.deleted_to,
            fence: Fence::TakesOver { from: head.epoch },
        })
    }
}

/// The id was taken over.
impl From<TakenOver> for Standing {
    fn from(taken: TakenOver) -> Self {
        Self {
            highest_sequence_nr: taken.highest_sequence_nr,
            deleted_to: taken.deleted_to,
            fence: Fence::Holds(taken.epoch),
        }
    }
}
