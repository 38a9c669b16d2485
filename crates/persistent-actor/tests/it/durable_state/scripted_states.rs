//! A state store in memory whose next answers a test decides.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use actix_persistence_memory::MemoryStateStore;
use actix_persistence_storage_api::{Revision, StateCapabilities, StorageError, StorageErrorKind};
use actix_persistence_testkit::{
    Fault, Hook, Intercepted, Next as Rest, StateAnswer, StateCall, StateStores, Verdict,
};
use async_trait::async_trait;
use tokio::sync::Semaphore;

/// The fate of the next write.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Next {
    /// Stores nothing, because the state is too large.
    Reject,
    /// Stores nothing and says so.
    FailNotStored,
    /// Stores and says that it does not know.
    StoreButFailUnknown,
    /// Stores nothing and says that it does not know.
    LoseAndFailUnknown,
    Panic,
}

pub(crate) type Scripted = Intercepted<StateStores, ScriptedStates>;

pub(crate) struct ScriptedStates {
    script: Mutex<VecDeque<Next>>,
    /// One permit lets one write go on; closed to let all pass.
    gate: Semaphore,
    /// The revision of each write that was asked for, in order.
    writes: Mutex<Vec<Revision>>,
    reads_to_fail: Mutex<usize>,
}

impl ScriptedStates {
    /// Lets every write pass until told otherwise.
    pub(crate) fn new(inner: MemoryStateStore) -> Arc<Scripted> {
        let states = Self::held(inner);
        states.gate.close();
        states
    }

    /// Holds back every write until [`release`](Self::release).
    pub(crate) fn held(inner: MemoryStateStore) -> Arc<Scripted> {
        Arc::new(Self::around(inner))
    }

    pub(crate) fn with_capabilities(
        inner: MemoryStateStore,
        capabilities: StateCapabilities,
    ) -> Arc<Scripted> {
        Arc::new(Self::around(inner).with_capabilities(capabilities))
    }

    fn around(inner: MemoryStateStore) -> Scripted {
        let hook = Self {
            script: Mutex::default(),
            gate: Semaphore::new(0),
            writes: Mutex::default(),
            reads_to_fail: Mutex::default(),
        };
        Intercepted::state_store_with(inner, hook)
    }

    /// Lets this many held writes go on.
    pub(crate) fn release(&self, writes: usize) {
        self.gate.add_permits(writes);
    }

    pub(crate) fn next(&self, next: Next) {
        self.script.lock().unwrap().push_back(next);
    }

    pub(crate) fn fail_reads(&self, count: usize) {
        *self.reads_to_fail.lock().unwrap() = count;
    }

    /// The revision of each write so far, whatever became of it.
    pub(crate) fn writes(&self) -> Vec<Revision> {
        self.writes.lock().unwrap().clone()
    }
}

#[async_trait]
impl Hook<StateStores> for ScriptedStates {
    async fn call(
        &self,
        call: StateCall,
        rest: Rest<StateStores>,
    ) -> Result<StateAnswer, StorageError> {
        let unavailable = Fault::new(StorageErrorKind::Unavailable);
        let revision = match &call {
            StateCall::Upsert { update } => update.revision,
            StateCall::Delete { delete } => delete.revision,
            // It is not back before all reads have failed that are to.
            StateCall::Ping if *self.reads_to_fail.lock().unwrap() > 0 => {
                return Err(unavailable.of(&call));
            }
            StateCall::Ping => return Ok(StateAnswer::Done),
            StateCall::Get { .. } if *self.reads_to_fail.lock().unwrap() > 0 => {
                *self.reads_to_fail.lock().unwrap() -= 1;
                return Err(unavailable.of(&call));
            }
            _ => return rest.run(call).await,
        };
        self.writes.lock().unwrap().push(revision);
        if let Ok(permit) = self.gate.acquire().await {
            permit.forget();
        }
        let next = self.script.lock().unwrap().pop_front();
        let backend = Fault::new(StorageErrorKind::Backend);
        let verdict = match next {
            None => Verdict::Pass,
            Some(Next::Reject) => Verdict::reject(StorageErrorKind::TooLarge),
            Some(Next::FailNotStored) => Verdict::fail(backend),
            Some(Next::StoreButFailUnknown) => Verdict::store_but_fail(backend),
            Some(Next::LoseAndFailUnknown) => Verdict::fail(backend.with_unknown_effect()),
            Some(Next::Panic) => Verdict::Panic("scripted".to_owned()),
        };
        verdict.carry_out(call, rest).await
    }
}
