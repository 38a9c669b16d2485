//! A journal that fails when it is told to, and purges in many steps.

use std::sync::atomic::{AtomicI64, Ordering};

use actix_persistence_memory::MemoryJournal;
use actix_persistence_storage_api::{
    EventDeletion, PurgeProgress, SequenceNr, StorageError, StorageErrorKind,
};
use actix_persistence_testkit::{
    Fault, Hook, Intercepted, JournalAnswer, JournalCall, Journals, Next,
};
use async_trait::async_trait;

/// Deletes and purges fail when as many have worked as were allowed; a purge hides events at once, but is done only when
/// it was called for each of them.
pub(crate) struct FaultyJournal {
    allowed: AtomicI64,
    /// Of the purge under way.
    steps_left: AtomicI64,
}

impl FaultyJournal {
    pub(crate) fn allowing(calls: i64) -> Intercepted<Journals, Self> {
        let hook = Self {
            allowed: AtomicI64::new(calls),
            steps_left: AtomicI64::new(-1),
        };
        Intercepted::journal_with(MemoryJournal::new(), hook)
    }

    pub(crate) fn allow(&self, calls: i64) {
        self.allowed.store(calls, Ordering::SeqCst);
    }
}

#[async_trait]
impl Hook<Journals> for FaultyJournal {
    async fn call(
        &self,
        call: JournalCall,
        next: Next<Journals>,
    ) -> Result<JournalAnswer, StorageError> {
        if !matches!(
            call,
            JournalCall::DeleteMessagesTo { .. } | JournalCall::Purge { .. }
        ) {
            return next.run(call).await;
        }
        if self.allowed.fetch_sub(1, Ordering::SeqCst) <= 0 {
            let fault = Fault::new(StorageErrorKind::Backend).with_unknown_effect();
            return Err(fault.with_message("the test wants it").of(&call));
        }
        if let JournalCall::Purge { persistence_id: id } = &call {
            let inner = next.store();
            if self.steps_left.load(Ordering::SeqCst) < 0 {
                let steps = inner.read_highest_sequence_nr(id).await?;
                let everything = EventDeletion::up_to(SequenceNr::MAX);
                inner.delete_messages_to(id, everything).await?;
                self.steps_left.store(steps as i64, Ordering::SeqCst);
            }
            if self.steps_left.fetch_sub(1, Ordering::SeqCst) > 0 {
                return Ok(JournalAnswer::Purge(PurgeProgress::Unfinished));
            }
        }
        next.run(call).await
    }
}
