//! The stores of an actor.

pub(crate) mod patience;
mod plugin_ids;
mod store_response;

use std::fmt;

use actix_persistence_journal_actor::JournalHandle;
use actix_persistence_snapshot_actor::SnapshotHandle;
use actix_persistence_state_actor::StateHandle;
use actix_persistence_storage_api::{Operation, PersistenceId, StorageError, StorageErrorKind};
use actix_persistence_store_actor::StoreHealth;

pub use plugin_ids::PluginIds;
pub use store_response::{DeleteMessagesError, SaveSnapshotError, StoreResponse};

use crate::{PersistentActor, RecoveryError};

/// The stores of actors of one kind.
#[derive(Clone)]
pub enum Stores {
    /// The stores of actors that are stored by their events.
    Events {
        /// The journal of the events.
        journal: JournalHandle,
        /// The store of the snapshots; without one, saving a snapshot fails and recovery replays every event.
        snapshot_store: Option<SnapshotHandle>,
    },
    /// The store of actors whose [current state](crate::DurableState) is stored.
    State(StateHandle),
}

impl Stores {
    /// Returns whether actors of this type are stored in such stores.
    pub(crate) fn fit<A: PersistentActor>(&self) -> bool {
        matches!(self, Stores::Events { .. }) == A::STORED_AS.is_events()
    }

    /// Returns the journal of the events.
    ///
    /// # Errors
    /// [`Unsupported`](StorageErrorKind::Unsupported) of actors whose state is stored.
    pub fn journal(&self) -> Result<&JournalHandle, StorageError> {
        match self {
            Stores::Events { journal, .. } => Ok(journal),
            Stores::State(_) => Err(unsupported(
                Operation::TakeOver,
                "a durable state has no journal",
            )),
        }
    }

    /// Returns the store of the snapshots, if there is one.
    pub fn snapshot_store(&self) -> Option<&SnapshotHandle> {
        match self {
            Stores::Events { snapshot_store, .. } => snapshot_store.as_ref(),
            Stores::State(_) => None,
        }
    }

    /// Returns the store of the states.
    ///
    /// # Errors
    /// [`Unsupported`](StorageErrorKind::Unsupported) of actors that are stored by their events.
    pub fn state_store(&self) -> Result<&StateHandle, StorageError> {
        match self {
            Stores::State(store) => Ok(store),
            Stores::Events { .. } => Err(unsupported(
                Operation::GetState,
                "the actor was given a journal, not a state store",
            )),
        }
    }

    /// Returns the health of the store that events, or states, are written to.
    pub(crate) fn health(&self) -> &StoreHealth {
        match self {
            Stores::Events { journal, .. } => journal.health(),
            Stores::State(store) => store.health(),
        }
    }

    /// Returns the store that is away, if that is all there is to a failed recovery.
    pub(crate) fn outage_behind(&self, error: &RecoveryError) -> Option<&StoreHealth> {
        let (health, source) = match error {
            RecoveryError::Journal { source, .. } | RecoveryError::StateStore { source, .. } => {
                (self.health(), source)
            }
            RecoveryError::SnapshotStore { source, .. } => {
                (&**self.snapshot_store()?.health(), source)
            }
            RecoveryError::SnapshotNeeded {
                source: Some(source),
                ..
            } => return self.outage_behind(source),
            _ => return None,
        };
        health.accounts_for(source).then_some(health)
    }

    /// Returns whether several events are stored together or not at all.
    pub(crate) fn has_atomic_batches(&self) -> bool {
        match self {
            Stores::Events { journal, .. } => journal.capabilities().atomic_batches,
            Stores::State(_) => false,
        }
    }

    /// Fails if the store keeps no tags.
    pub(crate) fn check_tags(&self, id: &PersistenceId) -> Result<(), StorageError> {
        let (keeps_tags, message) = match self {
            Stores::Events { journal, .. } => {
                (journal.capabilities().tags, "this journal keeps no tags")
            }
            Stores::State(store) => (store.capabilities().tags, "this state store keeps no tags"),
        };
        if keeps_tags {
            return Ok(());
        }
        Err(unsupported(self.write_operation(), message).with_persistence_id(id.clone()))
    }

    pub(crate) fn has_change_events(&self) -> bool {
        match self {
            Stores::Events { .. } => false,
            Stores::State(store) => store.capabilities().change_events,
        }
    }

    /// Returns the operation that a write is for the store.
    pub(crate) fn write_operation(&self) -> Operation {
        match self {
            Stores::Events { .. } => Operation::WriteMessages,
            Stores::State(_) => Operation::UpsertState,
        }
    }
}

fn unsupported(operation: Operation, message: &str) -> StorageError {
    StorageError::new(StorageErrorKind::Unsupported, operation)
        .not_stored()
        .with_message(message)
}

/// Shows the plugin ids only.
impl fmt::Debug for Stores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stores::Events {
                journal,
                snapshot_store,
            } => {
                let snapshots = snapshot_store.as_ref();
                f.debug_struct("Events")
                    .field("journal", &journal.settings().plugin_id)
                    .field(
                        "snapshot_store",
                        &snapshots.map(|s| &s.settings().plugin_id),
                    )
                    .finish()
            }
            Stores::State(store) => f
                .debug_tuple("State")
                .field(&store.settings().plugin_id)
                .finish(),
        }
    }
}
