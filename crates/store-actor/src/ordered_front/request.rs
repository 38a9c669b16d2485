//! Requests on their way to the store.

use std::future::Future;
use std::sync::Arc;

use actix_persistence_storage_api::{Operation, PersistenceId, StorageError};
use tokio::time::Instant;

use super::groups::Groups;
use super::id_queues::Turn;
use super::store_calls::StoreCalls;
use crate::ask::Ask;
use crate::pace::Pace;
use crate::refusal::{Refusal, Refuse};
use crate::slot::{Question, Slot};

/// A question about one id, and the time until which its asker waits.
pub(super) struct Request {
    pub(super) deadline: Instant,
    pub(super) job: Box<dyn Job>,
}

/// A question, whatever its answer is.
pub(super) trait Job: Send {
    fn operation(&self) -> Operation;

    fn persistence_id(&self) -> &PersistenceId;

    fn refuse(self: Box<Self>, refusal: &Refusal);

    /// Begins to serve the request, whose turn has come and ends when the next one of the id may be served.
    fn serve(self: Box<Self>, calls: &Arc<StoreCalls>, deadline: Instant, turn: Turn);
}

/// A question and the call that answers it.
pub(super) struct Asked<T: Send + 'static, F> {
    pub(super) slot: Slot<Ask<T>>,
    pub(super) call: F,
}

/// A write that waits for the pace.
pub(super) struct Paced<T: Send + 'static, F> {
    pub(super) asked: Asked<T, F>,
    pub(super) pace: Pace,
    pub(super) bytes: usize,
    /// The moment at which it waits for the pace no longer.
    pub(super) latest: Instant,
}

/// A change that shares its call with others.
pub(super) struct Grouped<C> {
    pub(super) slot: Slot<Ask<()>>,
    pub(super) change: C,
    pub(super) groups: Groups<C>,
}

impl Refuse for Request {
    fn refuse(self, refusal: &Refusal) {
        self.job.refuse(refusal);
    }
}

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

    fn refuse(self: Box<Self>, refusal: &Refusal) {
        self.slot.refuse(refusal);
    }

    fn serve(self: Box<Self>, calls: &Arc<StoreCalls>, deadline: Instant, turn: Turn) {
        let runtime = calls.caller.runtime();
        let calls = Arc::clone(calls);
        runtime.spawn(async move {
            self.call(&calls, deadline).await;
            turn.end();
        });
    }
}

impl<T, F> Asked<T, F>
where
    T: Send + 'static,
    F: Future<Output = Result<T, StorageError>> + Send + 'static,
{
    /// Calls the store when there is room for the call; returns when the next request of the id may be served.
    async fn call(self, calls: &StoreCalls, deadline: Instant) {
        let Self { slot, call } = self;
        let Some(permit) = calls.turn(deadline, &slot).await else {
            return slot.refuse(&Refusal::too_late());
        };
        if slot.question().operation().writes() {
            calls.write(permit, slot, call).await;
        } else {
            calls.read(permit, slot, call, deadline).await;
        }
    }
}

impl<T, F> Job for Paced<T, F>
where
    T: Send + 'static,
    F: Future<Output = Result<T, StorageError>> + Send + 'static,
{
    fn operation(&self) -> Operation {
        self.asked.operation()
    }

    fn persistence_id(&self) -> &PersistenceId {
        self.asked.persistence_id()
    }

    fn refuse(self: Box<Self>, refusal: &Refusal) {
        self.asked.slot.refuse(refusal);
    }

    fn serve(self: Box<Self>, calls: &Arc<StoreCalls>, deadline: Instant, turn: Turn) {
        // It is looked at now: an asker that leaves right after it has asked lets the write go on.
        let is_needed = !self.asked.slot.is_abandoned();
        let runtime = calls.caller.runtime();
        let calls = Arc::clone(calls);
        runtime.spawn(async move {
            if is_needed && Instant::now() < deadline {
                self.call(&calls, deadline, &turn).await;
            } else {
                self.refuse(&Refusal::too_late());
            }
            turn.end();
        });
    }
}

impl<T, F> Paced<T, F>
where
    T: Send + 'static,
    F: Future<Output = Result<T, StorageError>> + Send + 'static,
{
    /// Calls the store when the pace lets it, and there is room for the call.
    async fn call(self, calls: &StoreCalls, deadline: Instant, turn: &Turn) {
        let Asked { mut slot, call } = self.asked;
        tokio::select! {
            // In this order, so that its bytes count even if it does not wait.
            biased;
            () = self.pace.turn(self.bytes, self.latest) => {}
            () = turn.is_waited_for() => {}
            // Without a pace it would be under way by now, and so it is made.
            () = slot.abandoned() => {}
        }
        match calls.place(deadline).await {
            Some(permit) => calls.write(permit, slot, call).await,
            None => slot.refuse(&Refusal::too_late()),
        }
    }
}

impl<C: Clone + Send + 'static> Job for Grouped<C> {
    fn operation(&self) -> Operation {
        self.slot.question().operation()
    }

    fn persistence_id(&self) -> &PersistenceId {
        self.slot.question().persistence_id()
    }

    fn refuse(self: Box<Self>, refusal: &Refusal) {
        self.slot.refuse(refusal);
    }

    fn serve(self: Box<Self>, calls: &Arc<StoreCalls>, deadline: Instant, turn: Turn) {
        let Self {
            slot,
            change,
            groups,
        } = *self;
        groups.join(calls, slot, change, deadline, turn);
    }
}
