//! Code of a transaction, as calls hold it.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use actix_persistence_storage_api::SessionWork;

/// The code of a transaction, which can run once; clones are the same code.
#[derive(Clone)]
pub struct Transaction(Arc<Mutex<Option<SessionWork>>>);

impl Transaction {
    pub(crate) fn new(work: SessionWork) -> Self {
        Self(Arc::new(Mutex::new(Some(work))))
    }

    /// Takes the code; `None` if it was taken before, by a test or by the store.
    pub fn take(&self) -> Option<SessionWork> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub(crate) fn take_once(&self) -> SessionWork {
        self.take().expect("the code of a transaction runs once")
    }
}

/// Equal if both are the same code.
impl PartialEq for Transaction {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Debug for Transaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transaction").finish_non_exhaustive()
    }
}
