//! The error of opening persistence.

use std::io;

use actix_persistence_persistent_actor::SerializerCollision;
use actix_persistence_storage_api::{ConfigErrors, StorageError};

use crate::config::ConfigLoadError;

/// The reason why an application cannot start; waiting would not help.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The config cannot be read.
    #[error(transparent)]
    Load(#[from] ConfigLoadError),
    /// The config makes no sense; every mistake with its place.
    #[error("the config has mistakes\n{0}")]
    Config(ConfigErrors),
    /// Two serializers that the program registered have the same id or name, or one has an id or a name of the library's.
    #[error("could not register the serializers")]
    Serializers(#[from] SerializerCollision),
    /// A journal cannot be used.
    #[error("could not open the journal '{plugin_id}'")]
    Journal {
        /// The plugin id of the journal.
        plugin_id: String,
        /// The error of the store.
        source: StorageError,
    },
    /// A snapshot store cannot be used.
    #[error("could not open the snapshot store '{plugin_id}'")]
    SnapshotStore {
        /// The plugin id of the snapshot store.
        plugin_id: String,
        /// The error of the store.
        source: StorageError,
    },
    /// A state store cannot be used.
    #[error("could not open the state store '{plugin_id}'")]
    StateStore {
        /// The plugin id of the state store.
        plugin_id: String,
        /// The error of the store.
        source: StorageError,
    },
    /// An offset store cannot be used.
    #[error("could not open the offset store '{plugin_id}'")]
    OffsetStore {
        /// The plugin id of the offset store.
        plugin_id: String,
        /// The error of the store.
        source: StorageError,
    },
    /// The threads for the stores could not be started.
    #[error("could not start the threads of the stores")]
    Threads(#[source] io::Error),
}

impl From<ConfigErrors> for OpenError {
    fn from(errors: ConfigErrors) -> Self {
        OpenError::Config(errors)
    }
}
