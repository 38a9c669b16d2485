//! Answering a request without asking the store.

use actix_persistence_storage_api::{
    InvalidPersistenceId, Operation, PersistenceId, StorageError, StorageErrorKind,
};

/// The reason why a request was never handed to the store; its contents are certainly not stored.
#[derive(Clone, Debug)]
pub struct Refusal {
    kind: StorageErrorKind,
    message: String,
    source: Option<StorageError>,
}

/// A request that can be answered with a [`Refusal`].
pub trait Refuse: Send + 'static {
    /// Answers the request with the reason why it is refused.
    fn refuse(self, refusal: &Refusal);
}

impl Refusal {
    /// Makes a refusal of this kind; the message says why: lower case, no full stop.
    pub fn new(kind: StorageErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            source: None,
        }
    }

    /// Returns the refusal of a request whose deadline passed, or whose asker left, while it waited.
    pub fn too_late() -> Self {
        let message = "the request's time was over before its turn came";
        Self::new(StorageErrorKind::Timeout, message)
    }

    /// Returns the refusal with this error as its source.
    #[must_use]
    pub fn with_source(mut self, source: StorageError) -> Self {
        self.source = Some(source);
        self
    }

    /// Returns the error that answers a request for `operation`, on `persistence_id` if it is about one.
    pub fn error(
        &self,
        operation: Operation,
        persistence_id: Option<&PersistenceId>,
    ) -> StorageError {
        let mut error = StorageError::new(self.kind, operation).with_message(self.message.as_str());
        if let Some(id) = persistence_id {
            error = error.with_persistence_id(id.clone());
        }
        if operation.writes() {
            error = error.not_stored();
        }
        match &self.source {
            Some(source) => error.with_source(source.clone()),
            None => error,
        }
    }
}

/// Refuses a request about an invalid persistence id: two invalid ids can share a text, and no store distinguishes
/// them.
impl From<InvalidPersistenceId> for Refusal {
    fn from(invalid: InvalidPersistenceId) -> Self {
        Self::new(StorageErrorKind::Unsupported, invalid.to_string())
    }
}
