//! Requests on their way to the store.

use std::future::Future;

use actix_persistence_storage_api::{Operation, PersistenceId, StorageError};
use async_trait::async_trait;
use tokio::sync::SemaphorePermit;
use tokio::time::Instant;

use super::store_calls::StoreCalls;
use crate::ask::Ask;
use crate::refusal::{Refusal, Refuse};
use crate::slot::{Question, Slot};

/// A question about one id, and until when anybody cares.
pub(super) struct Request {
    pub(super) deadline: Instant,
    pub(super) job: Box<dyn Job>,
}

/// A question, whatever its answer is.
#[async_trait]
pub(super) trait Job: Send {
    fn operation(&self) -> Operation;

    fn persistence_id(&self) -> &PersistenceId;

    /// Returns whether the asker has left.
    fn is_abandoned(&self) -> bool;

    fn refuse(self: Box<Self>, refusal: &Refusal);

    /// Calls the store; returns when the next request of the id may be served.
    async fn serve(
        self: Box<Self>,
        calls: &StoreCalls,
        permit: SemaphorePermit<'_>,
        deadline: Instant,
    );
}

/// A question and the call that answers it.
pub(super) struct Asked<T: Send + 'static, F> {
    pub(super) slot: Slot<Ask<T>>,
    pub(super) call: F,
}

impl Request {
    /// Whether the answer is not needed any more.
    pub(super) fn is_dead(&self, now: Instant) -> bool {
        self.deadline <= now || self.job.is_abandoned()
    }
}

impl Refuse for Request {
    fn refuse(self, refusal: &Refusal) {
        self.job.refuse(refusal);
    }
}

#[async_trait]
impl<T, F> Job for Asked<T, F>
where
    T: Send + 'static,
    F: Future<Output = Result<T, StorageError>> + Send + 'static,
{
    fn operation(&self) -> Operation {
        self.slot.question().operation()
    }

    fn persistence_id(&self) -> &PersistenceId {
        self.slot.question().persistence_id()
    }

    fn is_abandoned(&self) -> bool {
        self.slot.is_abandoned()
    }

    fn refuse(self: Box<Self>, refusal: &Refusal) {
        self.slot.refuse(refusal);
    }

    async fn serve(
        self: Box<Self>,
        calls: &StoreCalls,
        permit: SemaphorePermit<'_>,
        deadline: Instant,
    ) {
        if self.operation().writes() {
            calls.write(permit, *self).await;
        } else {
            calls.read(permit, *self, deadline).await;
        }
    }
}
