//! A journal in memory that answers every write only when the program says so, and how.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use actix_persistence_memory::MemoryJournal;
use actix_persistence_storage_api::{StorageError, StorageErrorKind};
use actix_persistence_testkit::{
    Fault, Hook, Intercepted, JournalAnswer, JournalCall, Journals, Next, Verdict as Fate,
};
use async_trait::async_trait;
use tokio::sync::oneshot;

use super::program::Verdict;
use super::reference::CALL_TIMEOUT;

#[derive(Default)]
pub(crate) struct SteppingJournal {
    waiting: Mutex<VecDeque<oneshot::Sender<Verdict>>>,
}

impl SteppingJournal {
    pub(crate) fn around(inner: MemoryJournal) -> Arc<Intercepted<Journals, Self>> {
        Arc::new(Intercepted::journal_with(inner, Self::default()))
    }

    /// Lets the write that waits go on; one whose call was given up does not count.
    pub(crate) fn answer(&self, verdict: Verdict) {
        let mut waiting = self.waiting.lock().unwrap();
        while let Some(write) = waiting.pop_front() {
            if write.send(verdict).is_ok() {
                return;
            }
        }
    }

    /// Returns whether a write waits.
    pub(crate) fn is_waiting(&self) -> bool {
        let waiting = self.waiting.lock().unwrap();
        waiting.iter().any(|write| !write.is_closed())
    }
}

#[async_trait]
impl Hook<Journals> for SteppingJournal {
    async fn call(
        &self,
        call: JournalCall,
        next: Next<Journals>,
    ) -> Result<JournalAnswer, StorageError> {
        let writes = match &call {
            JournalCall::WriteMessages { writes } => writes.len(),
            // No actor is built any sooner than its back-off says, so that programs happen in one order.
            JournalCall::Ping => std::future::pending().await,
            _ => return next.run(call).await,
        };
        let (sender, verdict) = oneshot::channel();
        self.waiting.lock().unwrap().push_back(sender);
        // When the call is given up, so is the write; otherwise the next verdict would go to it.
        let verdict = tokio::time::timeout(Duration::from_millis(CALL_TIMEOUT), verdict).await;
        let backend = Fault::new(StorageErrorKind::Backend);
        let fate = match verdict.map_or(Verdict::LostUnknown, |verdict| verdict.unwrap()) {
            Verdict::Store => Fate::Pass,
            Verdict::Reject(index) => {
                let rejected = index % writes;
                let too_large = Fault::new(StorageErrorKind::TooLarge);
                let is_rejected = |place, _: &_| place == rejected;
                return next.reject_writes(call, &too_large, is_rejected).await;
            }
            Verdict::NotStored => Fate::fail(backend),
            Verdict::StoredUnknown => Fate::store_but_fail(backend),
            Verdict::LostUnknown => Fate::fail(backend.with_unknown_effect()),
        };
        fate.carry_out(call, next).await
    }
}
