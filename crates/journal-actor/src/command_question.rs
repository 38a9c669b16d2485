//! Asking for a command of the plugin's own.

use actix_persistence_storage_api::{
    AnyCommand, CommandAnswer, Operation, PersistenceId, StorageError,
};
use actix_persistence_store_actor::Question;

/// A question whose answer is that of a command.
pub(crate) struct CommandQuestion(pub(crate) AnyCommand);

impl Question for CommandQuestion {
    type Answer = Result<Option<CommandAnswer>, StorageError>;

    fn operation(&self) -> Operation {
        Operation::of_command(&self.0.rules().turn)
    }

    fn persistence_id(&self) -> Option<&PersistenceId> {
        self.0.rules().turn.persistence_id()
    }

    fn failed(&self, error: StorageError) -> Self::Answer {
        Err(error)
    }
}
