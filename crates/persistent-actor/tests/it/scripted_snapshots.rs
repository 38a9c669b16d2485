//! A snapshot store in memory whose loads a test decides.

use std::sync::{Arc, Mutex};

use actix_persistence_memory::MemorySnapshotStore;
use actix_persistence_storage_api::{SequenceNr, SnapshotCriteria, StorageError, StorageErrorKind};
use actix_persistence_testkit::{
    Hook, Intercepted, Next, SnapshotAnswer, SnapshotCall, SnapshotStores, Verdict,
};
use async_trait::async_trait;
use tokio::sync::{Semaphore, watch};

/// The fate of every load.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Loads {
    Work,
    Hang,
    /// Wait until the test says something else, and then work.
    Wait,
    Fail(StorageErrorKind),
    /// Give the youngest snapshot, whatever was asked for.
    IgnoreCriteria,
}

pub(crate) type Scripted = Intercepted<SnapshotStores, ScriptedSnapshots>;

pub(crate) struct ScriptedSnapshots {
    loads: watch::Sender<Loads>,
    /// One permit lets one save go on; closed to let all pass.
    saves: Semaphore,
    /// The highest number each load so far would have accepted.
    bounds: Mutex<Vec<SequenceNr>>,
}

impl ScriptedSnapshots {
    pub(crate) fn new(inner: MemorySnapshotStore, loads: Loads) -> Arc<Scripted> {
        let snapshots = Self::held(inner, loads);
        snapshots.saves.close();
        snapshots
    }

    /// Holds back every save until [`release`](Self::release).
    pub(crate) fn held(inner: MemorySnapshotStore, loads: Loads) -> Arc<Scripted> {
        let hook = Self {
            loads: watch::Sender::new(loads),
            saves: Semaphore::new(0),
            bounds: Mutex::default(),
        };
        Arc::new(Intercepted::snapshot_store_with(inner, hook))
    }

    /// Lets this many held saves go on.
    pub(crate) fn release(&self, saves: usize) {
        self.saves.add_permits(saves);
    }

    pub(crate) fn set(&self, loads: Loads) {
        self.loads.send_replace(loads);
    }

    pub(crate) fn take_bounds(&self) -> Vec<SequenceNr> {
        std::mem::take(&mut self.bounds.lock().unwrap())
    }
}

#[async_trait]
impl Hook<SnapshotStores> for ScriptedSnapshots {
    async fn call(
        &self,
        mut call: SnapshotCall,
        next: Next<SnapshotStores>,
    ) -> Result<SnapshotAnswer, StorageError> {
        let loads = *self.loads.borrow();
        match &mut call {
            SnapshotCall::Load { criteria, .. } => {
                self.bounds.lock().unwrap().push(criteria.max_sequence_nr);
                match loads {
                    Loads::IgnoreCriteria => *criteria = SnapshotCriteria::LATEST,
                    Loads::Wait => {
                        let mut said = self.loads.subscribe();
                        let is_over = |loads: &Loads| !matches!(loads, Loads::Wait);
                        said.wait_for(is_over).await.unwrap();
                    }
                    Loads::Work | Loads::Hang | Loads::Fail(_) => {}
                }
            }
            SnapshotCall::Ping => {}
            SnapshotCall::Save { .. } => {
                if let Ok(permit) = self.saves.acquire().await {
                    permit.forget();
                }
                return next.run(call).await;
            }
            _ => return next.run(call).await,
        }
        let verdict = match loads {
            Loads::Work | Loads::Wait | Loads::IgnoreCriteria => Verdict::Pass,
            Loads::Hang => Verdict::Hang,
            Loads::Fail(kind) => Verdict::fail(kind),
        };
        verdict.carry_out(call, next).await
    }
}
