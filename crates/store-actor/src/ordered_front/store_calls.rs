//! The parts that are needed to call the store.

use std::future::Future;
use std::sync::Arc;

use actix_persistence_storage_api::{Operation, StorageError};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, timeout_at};

use super::OrderedFrontSettings;
use crate::ask::Ask;
use crate::call::{CallEnd, Caller};
use crate::circuit_breaker::CircuitBreaker;
use crate::refusal::Refuse;
use crate::slot::{Question, Slot};
use crate::store_health::StoreHealth;

/// Serves one request at a time for each of its callers.
pub(super) struct StoreCalls {
    pub(super) caller: Caller,
    pub(super) health: Arc<StoreHealth>,
    pub(super) store: String,
    /// The breaker of everything that changes something.
    writes: Arc<CircuitBreaker>,
    reads: Arc<CircuitBreaker>,
    side_by_side: Semaphore,
}

impl StoreCalls {
    pub(super) fn new(
        caller: Caller,
        health: Arc<StoreHealth>,
        settings: &OrderedFrontSettings,
    ) -> Self {
        let breaker = |what: &str| {
            let name = format!("{what} of {}", settings.store);
            CircuitBreaker::new(name, settings.circuit_breaker.clone(), &health)
        };
        let permits = settings
            .max_concurrent_calls
            .clamp(1, Semaphore::MAX_PERMITS);
        Self {
            caller,
            health: Arc::clone(&health),
            store: settings.store.clone(),
            writes: breaker(settings.writes),
            reads: breaker(settings.reads),
            side_by_side: Semaphore::new(permits),
        }
    }

    /// Returns the breaker that decides whether such an operation is called at all.
    pub(super) fn breaker(&self, operation: Operation) -> &Arc<CircuitBreaker> {
        if operation.writes() {
            &self.writes
        } else {
            &self.reads
        }
    }

    /// Waits for a turn to call the store; none if the answer is not needed any more.
    pub(super) async fn turn<Q: Question>(
        &self,
        deadline: Instant,
        slot: &Slot<Q>,
    ) -> Option<SemaphorePermit<'_>> {
        let permit = self.place(deadline).await?;
        (!slot.is_abandoned()).then_some(permit)
    }

    /// Waits for a place beside the other calls; none if that takes too long.
    pub(super) async fn place(&self, deadline: Instant) -> Option<SemaphorePermit<'_>> {
        let permit = timeout_at(deadline, self.side_by_side.acquire()).await;
        let permit = permit.ok()?.expect("the semaphore is never closed");
        (Instant::now() < deadline).then_some(permit)
    }

    pub(super) async fn read<T, F>(
        &self,
        permit: SemaphorePermit<'_>,
        mut slot: Slot<Ask<T>>,
        call: F,
        deadline: Instant,
    ) where
        T: Send + 'static,
        F: Future<Output = Result<T, StorageError>> + Send + 'static,
    {
        let entry = match self.reads.enter() {
            Ok(entry) => entry,
            Err(open) => return slot.refuse(&open.into()),
        };
        slot.dispatched();
        let call = self.caller.start(slot.question().operation(), call);
        let time_left = deadline.saturating_duration_since(Instant::now());
        let limit = self.reads.call_timeout().min(time_left);
        let end = call.within(limit).await;
        drop(permit);
        match end {
            CallEnd::InTime(result) => {
                entry.ended(&result);
                answer(slot, result);
            }
            CallEnd::Late(late) => {
                slot.fail(late.error());
                // The asker's time may be over before the store's is, and the next request need not wait for that.
                let rest = self.reads.call_timeout().saturating_sub(limit);
                self.caller.runtime().spawn(entry.watch(late, rest));
            }
        }
    }

    pub(super) async fn write<T, F>(
        &self,
        permit: SemaphorePermit<'_>,
        mut slot: Slot<Ask<T>>,
        call: F,
    ) where
        T: Send + 'static,
        F: Future<Output = Result<T, StorageError>> + Send + 'static,
    {
        let entry = match self.writes.enter() {
            Ok(entry) => entry,
            Err(open) => return slot.refuse(&open.into()),
        };
        slot.dispatched();
        let operation = slot.question().operation();
        let limit = self.writes.call_timeout();
        let call = self.caller.start(operation, call);
        let (result, late) = match call.within(limit).await {
            CallEnd::InTime(result) => (result, None),
            CallEnd::Late(late) => (Err(late.error()), Some(late)),
        };
        drop(permit);
        entry.ended(&result);
        answer(slot, result);
        // Nothing else of the id starts while it may still write; what it stores after all stays.
        if let Some(late) = late
            && !late.ended(limit).await
        {
            tracing::warn!(
                store = %self.store,
                %operation,
                "a late call of the store has not ended in its grace"
            );
        }
    }
}

fn answer<T: Send + 'static>(slot: Slot<Ask<T>>, result: Result<T, StorageError>) {
    match result {
        Ok(answer) => slot.answer(Ok(answer)),
        Err(error) => slot.fail(error),
    }
}
