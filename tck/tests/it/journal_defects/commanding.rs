//! Defects of commands that a journal does not know.

use actix_persistence_memory::MemoryJournal;
use actix_persistence_storage_api::{
    AnyCommand, CommandAnswer, CommandRules, EventDeletion, Journal, JournalCommand, Operation,
    SequenceNr, StorageError, StorageErrorKind, WriterId,
};
use actix_persistence_tck::TakeOverOne;
use async_trait::async_trait;

use super::defect;
use crate::broken_journal::JournalDefect;

/// A command that the broken journals take every other one for.
struct Known;

impl JournalCommand for Known {
    type Answer = ();

    fn rules(&self) -> CommandRules {
        CommandRules::beside()
    }
}

defect! {
    /// Takes a command of any type for one that it knows.
    AnswersEveryCommand,
    command(_inner, _command) {
        Ok(Some(CommandAnswer::to(&Known, ())))
    }
}

defect! {
    /// Fails where it should say that it does not know the command.
    FailsForUnknownCommands,
    command(_inner, command) {
        let operation = Operation::of_command(&command.rules().turn);
        Err(StorageError::new(StorageErrorKind::Unsupported, operation))
    }
}

defect! {
    /// Takes an id over before it looks at the command.
    TakesOverForACommand,
    command(inner, command) {
        if let Some(id) = command.rules().turn.persistence_id() {
            inner.take_over_one(id, WriterId::random()).await?;
        }
        Ok(None)
    }
}

defect! {
    /// Deletes for any command that may delete.
    DeletesForACommand,
    command(inner, command) {
        let turn = &command.rules().turn;
        if let Some(id) = turn.persistence_id().filter(|_| turn.changes()) {
            inner.delete_messages_to(id, EventDeletion::up_to(SequenceNr::MAX)).await?;
        }
        Ok(None)
    }
}
