//! A question whose answer is a result.

use std::marker::PhantomData;

use actix_persistence_storage_api::{Operation, PersistenceId, StorageError};

use crate::slot::Question;

/// Asks for a `T`; the answer is `Result<T, StorageError>`.
pub struct Ask<T> {
    operation: Operation,
    persistence_id: PersistenceId,
    /// True if the id is only the name of a queue.
    is_queue: bool,
    answer: PhantomData<fn() -> T>,
}

impl<T> Ask<T> {
    /// Makes a question about one id.
    pub fn new(operation: Operation, persistence_id: PersistenceId) -> Self {
        Self {
            operation,
            persistence_id,
            is_queue: false,
            answer: PhantomData,
        }
    }

    /// Makes a question that waits in this queue and is about no id: errors name none.
    pub fn in_queue(operation: Operation, queue: PersistenceId) -> Self {
        Self {
            is_queue: true,
            ..Self::new(operation, queue)
        }
    }

    /// Returns the id that is asked about, or the queue.
    pub fn persistence_id(&self) -> &PersistenceId {
        &self.persistence_id
    }
}

impl<T: Send + 'static> Question for Ask<T> {
    type Answer = Result<T, StorageError>;

    fn operation(&self) -> Operation {
        self.operation
    }

    fn persistence_id(&self) -> Option<&PersistenceId> {
        (!self.is_queue).then_some(&self.persistence_id)
    }

    fn failed(&self, error: StorageError) -> Self::Answer {
        Err(error)
    }
}
