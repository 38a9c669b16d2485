//! The change that fails a transaction of several.

use std::sync::{Mutex, MutexGuard};

use actix_persistence_storage_api::{PersistenceId, StorageError};

use crate::{Dialect, SqlError};

/// The change at which the last attempt at a transaction failed, if the change may be the reason.
///
/// With it the caller need not look for it, and knows that the others may be stored although the error says that the database
/// is busy.
#[derive(Debug, Default)]
pub(super) struct Guilty(Mutex<Option<Suspect>>);

#[derive(Debug)]
enum Suspect {
    /// The change of an id.
    One(PersistenceId),
    /// Any of the changes that shared a statement.
    Any,
}

impl Guilty {
    /// Forgets the id, because another attempt begins.
    pub(super) fn forget(&self) {
        *self.lock() = None;
    }

    /// Notes the id for which a statement failed; returns the error.
    pub(super) fn note<D: Dialect>(&self, id: &PersistenceId, error: SqlError) -> SqlError {
        if error.may_be_of_a_row::<D>() {
            *self.lock() = Some(Suspect::One(id.clone()));
        }
        error
    }

    /// Notes that a statement failed that several changes share; returns the error.
    ///
    /// One that took too long shows none of them: a server that is too slow for one statement is not asked for hundreds.
    pub(super) fn note_any<D: Dialect>(&self, error: SqlError) -> SqlError {
        if error.may_be_of_a_row::<D>() && !error.is_time_out::<D>() {
            *self.lock() = Some(Suspect::Any);
        }
        error
    }

    /// Returns whether any of several changes may be the reason: which one is found out if each is made by itself.
    pub(super) fn is_any(&self) -> bool {
        matches!(&*self.lock(), Some(Suspect::Any))
    }

    /// Returns the error with the id, if one was noted and nothing can be stored.
    pub(super) fn named_in(&self, error: StorageError) -> StorageError {
        match self.lock().take() {
            Some(Suspect::One(id)) if error.is_not_stored() => error.with_persistence_id(id),
            _ => error,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Suspect>> {
        self.0
            .lock()
            .expect("nothing panics while it holds the lock")
    }
}
