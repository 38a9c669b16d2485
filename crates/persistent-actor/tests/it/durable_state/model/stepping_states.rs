//! A state store in memory that answers every write only when the program says so, and how.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use actix_persistence_memory::MemoryStateStore;
use actix_persistence_storage_api::{StorageError, StorageErrorKind};
use actix_persistence_testkit::{
    Fault, Hook, Intercepted, Next, StateAnswer, StateCall, StateStores, Verdict as Fate,
};
use async_trait::async_trait;
use tokio::sync::oneshot;

use super::program::Verdict;

pub(crate) type Stepping = Intercepted<StateStores, SteppingStates>;

#[derive(Default)]
pub(crate) struct SteppingStates {
    waiting: Mutex<VecDeque<oneshot::Sender<Verdict>>>,
}

impl SteppingStates {
    pub(crate) fn around(inner: MemoryStateStore) -> Arc<Stepping> {
        Arc::new(Intercepted::state_store_with(inner, Self::default()))
    }

    /// Lets the write that waits go on.
    pub(crate) fn answer(&self, verdict: Verdict) {
        let waiting = self.waiting.lock().unwrap().pop_front();
        if let Some(write) = waiting {
            write.send(verdict).unwrap();
        }
    }

    /// Returns whether a write waits.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.waiting.lock().unwrap().is_empty()
    }
}

#[async_trait]
impl Hook<StateStores> for SteppingStates {
    async fn call(
        &self,
        call: StateCall,
        next: Next<StateStores>,
    ) -> Result<StateAnswer, StorageError> {
        match &call {
            StateCall::Upsert { .. } | StateCall::Delete { .. } => {}
            // No actor is built any sooner than its back-off says, so that programs happen in one order.
            StateCall::Ping => std::future::pending().await,
            _ => return next.run(call).await,
        }
        let (sender, verdict) = oneshot::channel();
        self.waiting.lock().unwrap().push_back(sender);
        let backend = Fault::new(StorageErrorKind::Backend);
        let fate = match verdict.await.unwrap() {
            // What comes before a usurped write is stored by the program, so that this one finds a conflict.
            Verdict::Store | Verdict::Usurped => Fate::Pass,
            Verdict::Reject => Fate::reject(StorageErrorKind::TooLarge),
            Verdict::NotStored => Fate::fail(backend),
            Verdict::StoredUnknown => Fate::store_but_fail(backend),
            Verdict::LostUnknown => Fate::fail(backend.with_unknown_effect()),
        };
        fate.carry_out(call, next).await
    }
}
