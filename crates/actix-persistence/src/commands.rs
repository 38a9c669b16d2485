//! Commands of a plugin's own for its journal.

use actix_persistence_persistent_actor::UnknownStore;
use actix_persistence_storage_api::{JournalCommand, StorageError};

use crate::Persistence;

/// The reason why a command has no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommandError {
    /// The config has no such journal.
    #[error(transparent)]
    UnknownStore(#[from] UnknownStore),
    /// The journal does not know the command, refuses it or failed; the error says which, and knows the effect.
    #[error("could not run the command {command}")]
    Storage {
        /// The name of the command's type.
        command: &'static str,
        /// The error of the journal, or of the actor in front of it.
        source: StorageError,
    },
}

impl Persistence {
    /// Asks a journal, the default one for `None`, for a command of its plugin's own, and returns the answer.
    ///
    /// The command goes through the actor in front of the journal, as what actors ask does: it waits until the journal is
    /// initialised, and takes the turn among the other requests that it
    /// [says itself](JournalCommand::rules). [`stop`](Self::stop) waits for it.
    ///
    /// # Errors
    /// [`CommandError`]; its source is of the kind
    /// [`Unsupported`](actix_persistence_storage_api::StorageErrorKind::Unsupported) if the journal does not know the
    /// command.
    ///
    /// # Cancel safety
    /// If the future is dropped before the turn of the command has come, the journal is not asked. Afterwards the command
    /// goes on to its end.
    pub async fn ask_journal<C: JournalCommand>(
        &self,
        plugin_id: Option<&str>,
        command: C,
    ) -> Result<C::Answer, CommandError> {
        let journal = self.0.stores.journal(plugin_id)?;
        let answer = journal.handle.ask(command).await;
        answer.map_err(|source| CommandError::Storage {
            command: std::any::type_name::<C>(),
            source,
        })
    }
}
