//! The snapshot store, and what it takes to call it.

use std::sync::Arc;

use actix_persistence_storage_api::{
    Operation, PersistenceId, SnapshotCriteria, SnapshotRecord, SnapshotStore, StorageError,
};
use actix_persistence_store_actor::{
    Ask, Call, CallEnd, Caller, CircuitBreaker, Question, Refusal, Refuse, Slot,
};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, timeout_at};

use crate::request::{Change, Kind, Request};
use crate::snapshot_settings::SnapshotSettings;

/// Serves one request at a time for each of its callers.
pub(crate) struct StoreCalls {
    store: Arc<dyn SnapshotStore>,
    pub(crate) caller: Caller,
    /// Of everything that changes snapshots.
    pub(crate) saves: Arc<CircuitBreaker>,
    pub(crate) loads: Arc<CircuitBreaker>,
    side_by_side: Semaphore,
}

impl StoreCalls {
    pub(crate) fn new(
        store: Arc<dyn SnapshotStore>,
        caller: Caller,
        settings: &SnapshotSettings,
    ) -> Self {
        let breaker = |what: &str| {
            let name = format!("{what} of snapshot store {:?}", settings.plugin_id);
            CircuitBreaker::new(name, settings.circuit_breaker.clone())
        };
        let permits = settings
            .max_concurrent_calls
            .clamp(1, Semaphore::MAX_PERMITS);
        Self {
            store,
            caller,
            saves: breaker("saves"),
            loads: breaker("loads"),
            side_by_side: Semaphore::new(permits),
        }
    }

    pub(crate) fn initialize(&self) -> Call<()> {
        let store = self.store.clone();
        self.caller.start(
            Operation::Initialize,
            async move { store.initialize().await },
        )
    }

    /// Serves a request; returns when the next one of its id may be served.
    pub(crate) async fn serve(&self, request: Request) {
        let permit = timeout_at(request.deadline, self.side_by_side.acquire()).await;
        let permit = match permit {
            Ok(permit) if !request.is_dead(Instant::now()) => {
                permit.expect("nobody closes the semaphore")
            }
            _ => return request.refuse(&Refusal::too_late()),
        };
        match request.kind {
            Kind::Load(slot, criteria) => {
                self.load(permit, slot, criteria, request.deadline).await;
            }
            Kind::Change(slot, change) => self.change(permit, slot, change).await,
        }
    }

    async fn load(
        &self,
        permit: SemaphorePermit<'_>,
        mut slot: Slot<Ask<Option<SnapshotRecord>>>,
        criteria: SnapshotCriteria,
        deadline: Instant,
    ) {
        let entry = match self.loads.enter() {
            Ok(entry) => entry,
            Err(open) => return slot.refuse(&open.into()),
        };
        slot.dispatched();
        let (store, id) = (self.store.clone(), slot.question().persistence_id().clone());
        let call = self.caller.start(Operation::LoadSnapshot, async move {
            store.load(&id, criteria).await
        });
        let time_left = deadline.saturating_duration_since(Instant::now());
        let limit = self.loads.call_timeout().min(time_left);
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
                let rest = self.loads.call_timeout().saturating_sub(limit);
                self.caller.runtime().spawn(entry.watch(late, rest));
            }
        }
    }

    async fn change(&self, permit: SemaphorePermit<'_>, mut slot: Slot<Ask<()>>, change: Change) {
        let entry = match self.saves.enter() {
            Ok(entry) => entry,
            Err(open) => return slot.refuse(&open.into()),
        };
        slot.dispatched();
        let id = slot.question().persistence_id().clone();
        let limit = self.saves.call_timeout();
        let (result, late) = match self.start(id, change).within(limit).await {
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
            tracing::warn!("a late call of the snapshot store has not ended in its grace");
        }
    }

    fn start(&self, id: PersistenceId, change: Change) -> Call<()> {
        let store = self.store.clone();
        match change {
            Change::Save(metadata, payload) => {
                self.caller.start(Operation::SaveSnapshot, async move {
                    store.save(metadata, payload).await
                })
            }
            Change::Delete(metadata) => self.caller.start(Operation::DeleteSnapshot, async move {
                store.delete(&metadata).await
            }),
            Change::DeleteMatching(criteria) => self
                .caller
                .start(Operation::DeleteMatchingSnapshots, async move {
                    store.delete_matching(&id, criteria).await
                }),
        }
    }
}

fn answer<T: Send + 'static>(slot: Slot<Ask<T>>, result: Result<T, StorageError>) {
    match result {
        Ok(answer) => slot.answer(Ok(answer)),
        Err(error) => slot.fail(error),
    }
}
