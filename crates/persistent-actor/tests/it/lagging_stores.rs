//! Stores whose calls take ever other times, so that whatever can overtake something does.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use actix_persistence_memory::MemoryStorage;
use actix_persistence_storage_api::{Journal, Operation, SnapshotStore, StorageError};
use actix_persistence_testkit::{Hook, Intercepted, JournalCall, Next, StoreKind};
use async_trait::async_trait;

/// Journal and snapshot store of one process; what they hold is the storage's.
pub(crate) fn lagging_stores(
    storage: &MemoryStorage,
    seed: u64,
) -> (Arc<dyn Journal>, Arc<dyn SnapshotStore>) {
    let lag = Arc::new(Lag(Mutex::new(fastrand::Rng::with_seed(seed))));
    let (journal, snapshots) = (
        Intercepted::journal(storage.journal()),
        Intercepted::snapshot_store(storage.snapshot_store()),
    );
    // Many steps, between which something may happen.
    journal.on(Operation::ReplayMessages).change(|call| {
        if let JournalCall::ReplayMessages { page, .. } = call {
            page.max_events = page.max_events.min(7);
        }
    });
    journal.on_every_call().hook(Arc::clone(&lag));
    snapshots.on_every_call().hook(lag);
    (Arc::new(journal), Arc::new(snapshots))
}

struct Lag(Mutex<fastrand::Rng>);

impl Lag {
    async fn pass(&self) {
        let micros = {
            let mut random = self.0.lock().unwrap();
            let longest = [0, 1, 10, 100][random.usize(..4)];
            random.u64(0..=longest * 100)
        };
        tokio::time::sleep(Duration::from_micros(micros)).await;
    }
}

/// Waits before and after a call: the store does something at a moment in between.
#[async_trait]
impl<S: StoreKind> Hook<S> for Lag {
    async fn call(&self, call: S::Call, next: Next<S>) -> Result<S::Answer, StorageError> {
        self.pass().await;
        let answer = next.run(call).await;
        self.pass().await;
        answer
    }
}
