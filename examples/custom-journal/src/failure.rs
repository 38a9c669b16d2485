//! The error of a file operation, before the operation of the contract is known.

use std::error::Error;
use std::io::{self, ErrorKind};

use actix_persistence_storage_api::{Effect, Operation, StorageError, StorageErrorKind};

/// A trouble of the stores; [`of`](Self::of) makes a [`StorageError`] of it.
#[derive(Debug)]
pub(crate) struct Failure {
    kind: StorageErrorKind,
    effect: Effect,
    message: String,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl Failure {
    /// A failure after which nothing is stored; the message says what to change.
    pub(crate) fn new(kind: StorageErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            effect: Effect::NotStored,
            message: message.into(),
            source: None,
        }
    }

    /// Returns the error for stored data that cannot be read; the message names the place.
    pub(crate) fn corrupt(message: impl Into<String>) -> Self {
        Self::new(StorageErrorKind::Corrupt, message)
    }

    /// An error of the file system, after which nothing is stored; the message says what it was about.
    pub(crate) fn io(message: impl Into<String>, error: io::Error) -> Self {
        let failure = Self::new(kind_of(error.kind()), message);
        Self {
            source: Some(error.into()),
            ..failure
        }
    }

    /// The same failure, when what was to be stored may be there all the same.
    pub(crate) fn unknown(mut self) -> Self {
        self.effect = Effect::Unknown;
        self
    }

    /// The failure of this operation.
    pub(crate) fn of(self, operation: Operation) -> StorageError {
        let mut error = StorageError::new(self.kind, operation).with_message(self.message);
        if operation.writes() {
            error = error.with_effect(self.effect);
        }
        match self.source {
            Some(source) => error.with_source(source),
            None => error,
        }
    }
}

/// Returns a kind that makes the application's start fail if only a person can mend it; anything else is tried again.
fn kind_of(error: ErrorKind) -> StorageErrorKind {
    match error {
        // The last two: a file stands where a directory should.
        ErrorKind::PermissionDenied
        | ErrorKind::ReadOnlyFilesystem
        | ErrorKind::NotADirectory
        | ErrorKind::AlreadyExists => StorageErrorKind::AccessDenied,
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => StorageErrorKind::Unavailable,
        _ => StorageErrorKind::Backend,
    }
}
