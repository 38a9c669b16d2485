//! The journal, and what it takes to call it.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use actix_persistence_storage_api::{Journal, Operation, StorageError};
use actix_persistence_store_actor::{
    Call, CallEnd, Caller, CircuitBreaker, Entry, LateCall, Observed, Question, Refusal, Refuse,
    Slot, StoreHealth,
};
use futures_util::future::{BoxFuture, FutureExt};
use tokio::time::Instant;

use crate::job::{Job, LookJob, Waiter};
use crate::journal_settings::JournalSettings;
use crate::standing::Standing;

/// Waits for the end of a late call, at most for another call time-out.
pub(crate) type LateEnd = BoxFuture<'static, ()>;

/// Shared by the lanes and by what goes past them.
pub(crate) struct PluginCalls {
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) caller: Caller,
    /// The breaker of everything that changes events.
    pub(crate) writes: Arc<CircuitBreaker>,
    pub(crate) recoveries: Arc<CircuitBreaker>,
    /// The breaker of reads that are no recoveries; replays have none.
    pub(crate) reads: Arc<CircuitBreaker>,
    pub(crate) health: Arc<StoreHealth>,
    /// The number of calls so far that have stored events.
    pub(crate) stored: Arc<Observed<u64>>,
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
            stored: Arc::new(Observed::new(0)),
        }
    }

    pub(crate) fn initialize(&self) -> Call<()> {
        let journal = self.journal.clone();
        self.caller.start(
            Operation::Initialize,
            async move { journal.initialize().await },
        )
    }

    /// Makes a call that changes nothing, now.
    pub(crate) fn read<T, Q, F>(&self, job: Job<Q, F>, breaker: Option<&Arc<CircuitBreaker>>)
    where
        T: Send + 'static,
        Q: Question<Answer = Result<T, StorageError>>,
        F: Future<Output = Result<T, StorageError>> + Send + 'static,
    {
        let now = Instant::now();
        if job.is_dead(now) {
            return job.refuse(&Refusal::too_late());
        }
        let entry = match breaker.map(CircuitBreaker::enter).transpose() {
            Ok(entry) => entry,
            Err(open) => return job.refuse(&open.into()),
        };
        let time_left = job.time_left(now);
        let call_timeout = breaker.map_or(time_left, |breaker| breaker.call_timeout());
        let limit = time_left.min(call_timeout);
        // The asker's time may be over before the store's is.
        let rest = call_timeout.saturating_sub(limit);
        let health = self.health.clone();
        let (call, slot) = self.start(job);
        self.caller.runtime().spawn(async move {
            let late = match call.within(limit).await {
                CallEnd::InTime(result) => {
                    note(entry, &health, &result);
                    return answer(slot, result);
                }
                CallEnd::Late(late) => late,
            };
            slot.fail(late.error());
            if let Some(entry) = entry {
                entry.watch(late, rest).await;
            }
        });
    }

    /// Looks at where an id stands, now.
    pub(crate) fn look(&self, job: LookJob) {
        let (journal, id) = (self.journal.clone(), job.persistence_id().clone());
        let looking = async move { Standing::after_look(&id, journal.read_head(&id).await?) };
        let job = Job {
            slot: job.slot,
            deadline: job.deadline,
            payload: looking,
        };
        self.read(job, Some(&self.recoveries));
    }

    /// Makes a call that changes something, and waits for its end; returns what remains to be waited for if it is late,
    /// because it may still change something.
    ///
    /// Without a breaker it is waited for until its asker's time is over.
    pub(crate) fn change<T, Q, F>(
        &self,
        job: Job<Q, F>,
        breaker: Option<&Arc<CircuitBreaker>>,
    ) -> impl Future<Output = Option<LateEnd>> + Send + use<T, Q, F>
    where
        T: Send + 'static,
        Q: Question<Answer = Result<T, StorageError>>,
        F: Future<Output = Result<T, StorageError>> + Send + 'static,
    {
        let call_timeout = self.writes.call_timeout();
        let limit = match breaker {
            Some(_) => call_timeout,
            None => job.time_left(Instant::now()),
        };
        let begun = match breaker.map(CircuitBreaker::enter).transpose() {
            Ok(entry) => Some((entry, self.start(job))),
            Err(open) => {
                job.refuse(&open.into());
                None
            }
        };
        let health = self.health.clone();
        async move {
            let (entry, (call, slot)) = begun?;
            match call.within(limit).await {
                CallEnd::InTime(result) => {
                    note(entry, &health, &result);
                    answer(slot, result);
                    None
                }
                CallEnd::Late(late) => {
                    let error = late.error();
                    tracing::debug!(%error, "a call of the journal is late");
                    if let Some(entry) = entry {
                        entry.ended::<T>(&Err(error.clone()));
                    }
                    slot.fail(error);
                    Some(grace(late, call_timeout).boxed())
                }
            }
        }
    }

    fn start<T, Q, F>(&self, mut job: Job<Q, F>) -> (Call<T>, Slot<Q>)
    where
        T: Send + 'static,
        Q: Question<Answer = Result<T, StorageError>>,
        F: Future<Output = Result<T, StorageError>> + Send + 'static,
    {
        job.dispatched();
        let operation = job.slot.question().operation();
        (self.caller.start(operation, job.payload), job.slot)
    }
}

/// Tells the breaker, which tells the health, or else the health alone.
fn note<T>(entry: Option<Entry>, health: &Arc<StoreHealth>, result: &Result<T, StorageError>) {
    match entry {
        Some(entry) => entry.ended(result),
        None => health.note(result),
    }
}

async fn grace<T>(late: LateCall<T>, limit: Duration) {
    if !late.ended(limit).await {
        tracing::warn!("a late call has not ended in its grace");
    }
}

fn answer<T, Q>(slot: Slot<Q>, result: Result<T, StorageError>)
where
    Q: Question<Answer = Result<T, StorageError>>,
{
    match result {
        Ok(answer) => slot.answer(Ok(answer)),
        Err(error) => slot.fail(error),
    }
}
