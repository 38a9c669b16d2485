//! The journal, and what it takes to call it.

use std::sync::Arc;
use std::time::Duration;

use actix_persistence_storage_api::{Journal, Operation, StorageError};
use actix_persistence_store_actor::{
    Ask, Call, CallEnd, Caller, CircuitBreaker, Entry, Refusal, Refuse, Slot, StoreHealth,
};
use tokio::time::Instant;

use crate::job::{Job, Read, ReplayJob};
use crate::journal_settings::JournalSettings;
use crate::standing::Standing;

/// The calls to a plugin, shared by the lanes and by what goes past them.
pub(crate) struct PluginCalls {
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) caller: Caller,
    /// The breaker of everything that changes events.
    pub(crate) writes: Arc<CircuitBreaker>,
    pub(crate) recoveries: Arc<CircuitBreaker>,
    /// The breaker of reads of the highest number; replays have none.
    pub(crate) reads: Arc<CircuitBreaker>,
    pub(crate) health: Arc<StoreHealth>,
}

impl PluginCalls {
    pub(crate) fn new(
        journal: Arc<dyn Journal>,
        caller: Caller,
        settings: &JournalSettings,
    ) -> Self {
        let pinged = journal.clone();
        let ping = move || {
            let journal = pinged.clone();
            Box::pin(async move { journal.ping().await }) as _
        };
        let store = format!("journal {:?}", settings.plugin_id);
        let health = StoreHealth::new(store, caller.runtime().clone(), Box::new(ping));
        let breaker = |what: &str| {
            let name = format!("{what} of journal {:?}", settings.plugin_id);
            CircuitBreaker::new(name, settings.circuit_breaker.clone(), &health)
        };
        Self {
            journal,
            caller,
            writes: breaker("writes"),
            recoveries: breaker("recoveries"),
            reads: breaker("reads"),
            health,
        }
    }

    pub(crate) fn initialize(&self) -> Call<()> {
        let journal = self.journal.clone();
        self.caller.start(
            Operation::Initialize,
            async move { journal.initialize().await },
        )
    }

    /// Returns the breaker of a read; a look counts as a recovery, because one begins with it.
    pub(crate) fn breaker_of(&self, read: &Read) -> &Arc<CircuitBreaker> {
        match read {
            Read::Look(_) => &self.recoveries,
            Read::Highest(_) | Read::Head(_) => &self.reads,
        }
    }

    /// Starts a read at once, without a queue.
    pub(crate) fn read(&self, read: Read) {
        let journal = self.journal.clone();
        let id = read.persistence_id().clone();
        match read {
            Read::Highest(job) => {
                let from = job.payload;
                let reading = async move { journal.read_highest_sequence_nr(&id, from).await };
                self.read_with(&self.reads, Operation::ReadHighestSequenceNr, job, reading);
            }
            Read::Head(job) => {
                let reading = async move { journal.read_head(&id).await };
                self.read_with(&self.reads, Operation::ReadHead, job, reading);
            }
            Read::Look(job) => {
                let looking =
                    async move { Standing::after_look(&id, journal.read_head(&id).await?) };
                self.read_with(&self.recoveries, Operation::ReadHead, job, looking);
            }
        }
    }

    fn read_with<T: Send + 'static, P: Send + 'static>(
        &self,
        breaker: &Arc<CircuitBreaker>,
        operation: Operation,
        job: Job<Ask<T>, P>,
        reading: impl Future<Output = Result<T, StorageError>> + Send + 'static,
    ) {
        let now = Instant::now();
        if job.is_dead(now) {
            return job.refuse(&Refusal::too_late());
        }
        let entry = match breaker.enter() {
            Ok(entry) => entry,
            Err(open) => return job.refuse(&open.into()),
        };
        let call = self.caller.start(operation, reading);
        let limit = job.time_left(now).min(breaker.call_timeout());
        self.answer_with(call, limit, Some(entry), job.slot);
    }

    /// Reads a page, now.
    pub(crate) fn replay(&self, job: ReplayJob) {
        let now = Instant::now();
        if job.is_dead(now) {
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
        self.answer_with(call, job.time_left(now), None, job.slot);
    }

    fn answer_with<T: Send + 'static>(
        &self,
        call: Call<T>,
        limit: Duration,
        entry: Option<Entry>,
        mut slot: Slot<Ask<T>>,
    ) {
        // The asker's time may be over before the store's is.
        let rest = self.reads.call_timeout().saturating_sub(limit);
        let health = self.health.clone();
        slot.dispatched();
        self.caller.runtime().spawn(async move {
            let late = match call.within(limit).await {
                CallEnd::InTime(result) => {
                    health.note(&result);
                    if let Some(entry) = entry {
                        entry.ended(&result);
                    }
                    return match result {
                        Ok(answer) => slot.answer(Ok(answer)),
                        Err(error) => slot.fail(error),
                    };
                }
                CallEnd::Late(late) => late,
            };
            slot.fail(late.error());
            if let Some(entry) = entry {
                entry.watch(late, rest).await;
            }
        });
    }
}
