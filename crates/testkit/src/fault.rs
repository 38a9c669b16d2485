//! An error that fits every call.

use actix_persistence_storage_api::{Effect, StorageError, StorageErrorKind};

use crate::StoreCall;

/// The failure that a test sets for a call: a kind of trouble, or an error of its own.
///
/// ```
/// use actix_persistence_storage_api::StorageErrorKind;
/// use actix_persistence_testkit::Fault;
///
/// let disk_full = Fault::new(StorageErrorKind::Backend).with_message("the disk is full");
/// let lost_reply = Fault::new(StorageErrorKind::Timeout).with_unknown_effect();
/// # drop((disk_full, lost_reply));
/// ```
#[derive(Clone, Debug)]
pub struct Fault(What);

#[derive(Clone, Debug)]
enum What {
    Kind {
        kind: StorageErrorKind,
        effect: Effect,
        message: Option<String>,
    },
    Error(StorageError),
}

impl Fault {
    /// Makes a fault of this kind. The caller of a write gets an error that says that nothing is stored.
    pub fn new(kind: StorageErrorKind) -> Self {
        Self(What::Kind {
            kind,
            effect: Effect::NotStored,
            message: None,
        })
    }

    /// Lets the error say that the write may be stored. Changes nothing of a fault made [from an error](Self::from), which
    /// says so itself.
    #[must_use]
    pub fn with_unknown_effect(mut self) -> Self {
        if let What::Kind { effect, .. } = &mut self.0 {
            *effect = Effect::Unknown;
        }
        self
    }

    /// Adds a sentence that the error shows.
    #[must_use]
    pub fn with_message(self, text: impl Into<String>) -> Self {
        let text = text.into();
        Self(match self.0 {
            What::Kind { kind, effect, .. } => What::Kind {
                kind,
                effect,
                message: Some(text),
            },
            What::Error(error) => What::Error(error.with_message(text)),
        })
    }

    /// The error that a call fails with. It names the operation, and the id if there is one only.
    pub fn of(&self, call: &impl StoreCall) -> StorageError {
        let (kind, effect, message) = match &self.0 {
            What::Error(error) => return error.clone(),
            What::Kind {
                kind,
                effect,
                message,
            } => (*kind, *effect, message),
        };
        let operation = call.operation();
        let mut error = StorageError::new(kind, operation);
        if operation.writes() {
            error = error.with_effect(effect);
        }
        if let [id] = call.persistence_ids()[..] {
            error = error.with_persistence_id(id.clone());
        }
        match message {
            Some(message) => error.with_message(message),
            None => error,
        }
    }
}

impl From<StorageErrorKind> for Fault {
    fn from(kind: StorageErrorKind) -> Self {
        Self::new(kind)
    }
}

/// The error as it is, whatever the call.
impl From<StorageError> for Fault {
    fn from(error: StorageError) -> Self {
        Self(What::Error(error))
    }
}
