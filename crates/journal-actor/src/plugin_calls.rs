//! The journal, and what it takes to call it.

use std::sync::Arc;
use std::time::Duration;

use actix_persistence_storage_api::{Journal, Operation};
use actix_persistence_store_actor::{
    Ask, Call, CallEnd, Caller, CircuitBreaker, Entry, Refusal, Refuse, Slot,
};
use tokio::time::Instant;

use crate::job::{ReadJob, ReplayJob};
use crate::journal_settings::JournalSettings;

/// Shared by the lanes and by what goes past them.
pub(crate) struct PluginCalls {
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) caller: Caller,
    /// Of everything that changes events.
    pub(crate) writes: Arc<CircuitBreaker>,
    pub(crate) recoveries: Arc<CircuitBreaker>,
    /// Of the highest number; replays have none.
    pub(crate) reads: Arc<CircuitBreaker>,
    replay_timeout: Duration,
}

impl PluginCalls {
    pub(crate) fn new(
        journal: Arc<dyn Journal>,
        caller: Caller,
        settings: &JournalSettings,
    ) -> Self {
        let breaker = |what: &str| {
            let name = format!("{what} of journal {:?}", settings.plugin_id);
            CircuitBreaker::new(name, settings.circuit_breaker.clone())
        };
        Self {
            journal,
            caller,
            writes: breaker("writes"),
            recoveries: breaker("recoveries"),
            reads: breaker("reads"),
            replay_timeout: settings.recovery_event_timeout,
        }
    }

    pub(crate) fn initialize(&self) -> Call<()> {
        let journal = self.journal.clone();
        self.caller.start(
            Operation::Initialize,
            async move { journal.initialize().await },
        )
    }

    /// Reads the highest number, now.
    pub(crate) fn read_highest(&self, job: ReadJob) {
        if job.is_dead(Instant::now()) {
            return job.refuse(&Refusal::too_late());
        }
        let entry = match self.reads.enter() {
            Ok(entry) => entry,
            Err(open) => return job.refuse(&open.into()),
        };
        let (journal, id, from) = (
            self.journal.clone(),
            job.persistence_id().clone(),
            job.payload,
        );
        let call = self
            .caller
            .start(Operation::ReadHighestSequenceNr, async move {
                journal.read_highest_sequence_nr(&id, from).await
            });
        self.answer_with(call, self.reads.call_timeout(), Some(entry), job.slot);
    }

    /// Reads a page, now.
    pub(crate) fn replay(&self, job: ReplayJob) {
        if job.is_dead(Instant::now()) {
            return job.refuse(&Refusal::too_late());
        }
        let (journal, id, (range, page)) = (
            self.journal.clone(),
            job.persistence_id().clone(),
            job.payload,
        );
        let call = self.caller.start(Operation::ReplayMessages, async move {
            journal.replay_messages(&id, range, page).await
        });
        self.answer_with(call, self.replay_timeout, None, job.slot);
    }

    fn answer_with<T: Send + 'static>(
        &self,
        call: Call<T>,
        limit: Duration,
        entry: Option<Entry>,
        mut slot: Slot<Ask<T>>,
    ) {
        slot.dispatched();
        self.caller.runtime().spawn(async move {
            let result = match call.within(limit).await {
                CallEnd::InTime(result) => result,
                CallEnd::Late(late) => Err(late.error()),
            };
            if let Some(entry) = entry {
                entry.ended(&result);
            }
            match result {
                Ok(answer) => slot.answer(Ok(answer)),
                Err(error) => slot.fail(error),
            }
        });
    }
}
