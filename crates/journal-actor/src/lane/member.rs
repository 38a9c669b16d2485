//! Requests that can share a call.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use actix_persistence_storage_api::{
    Operation, PersistenceId, StorageError, TakeOverRequest, TakenOver, WriteOutcome, WriterId,
};
use actix_persistence_store_actor::{Ask, CircuitBreaker, Refuse, may_be_one_request};
use futures_util::future::{BoxFuture, FutureExt};
use tokio::time::Instant;

use crate::job::{Job, Waiter, WriteJob};
use crate::plugin_calls::PluginCalls;
use crate::standing::Standing;
use crate::write_request::WriteReply;

/// One request of a group: how to call the journal for several of them, and how to take the outcomes apart again.
pub(super) trait Member: Waiter + Refuse + Sized {
    /// The outcome for one member; the journal returns a list of them.
    type Outcome: Send + 'static;
    const OPERATION: Operation;

    fn breaker(calls: &PluginCalls) -> &Arc<CircuitBreaker>;

    /// Returns the number of outcomes that belong to this request.
    fn outcomes(&self) -> usize;

    /// Returns the time for which a call for these requests is waited for.
    fn limit(_part: &[Self], call_timeout: Duration) -> Duration {
        call_timeout
    }

    /// Returns the call for these requests. The contents of a single one are moved and not copied, because it is never
    /// split.
    fn call(
        calls: &PluginCalls,
        part: &mut [Self],
    ) -> BoxFuture<'static, Result<Vec<Self::Outcome>, StorageError>>;

    /// Returns whether a call that failed like this is safe to make again, in halves, and one half may work.
    fn can_split(error: &StorageError) -> bool;

    /// Returns whether a call that returned outcomes shows that the store is in trouble.
    fn store_failed(outcomes: &[Self::Outcome]) -> bool;

    /// Notes which ids have a write that may still be stored, and which have none any more.
    fn settle(
        _part: &[Self],
        _result: &Result<Vec<Self::Outcome>, StorageError>,
        _unsettled: &mut HashSet<PersistenceId>,
    ) {
    }

    fn answer(self, outcomes: impl Iterator<Item = Self::Outcome>);
}

/// The answer about an id that was taken over.
pub(super) trait Taken: From<TakenOver> + Send + 'static {}

impl Taken for TakenOver {}
impl Taken for Standing {}

impl Member for WriteJob {
    type Outcome = WriteOutcome;
    const OPERATION: Operation = Operation::WriteMessages;

    fn breaker(calls: &PluginCalls) -> &Arc<CircuitBreaker> {
        &calls.writes
    }

    fn outcomes(&self) -> usize {
        self.slot.question().writes
    }

    fn call(
        calls: &PluginCalls,
        part: &mut [Self],
    ) -> BoxFuture<'static, Result<Vec<WriteOutcome>, StorageError>> {
        let writes = match part {
            [single] => std::mem::take(&mut single.payload),
            several => several
                .iter()
                .flat_map(|job| job.payload.iter().cloned())
                .collect(),
        };
        let (journal, stored) = (calls.journal.clone(), calls.stored.clone());
        // Within the call, which may end after the lane has given up waiting for it.
        async move {
            let outcomes = journal.write_messages(writes).await?;
            if outcomes.iter().any(WriteOutcome::is_stored) {
                stored.update(|calls| *calls += 1);
            }
            Ok(outcomes)
        }
        .boxed()
    }

    fn can_split(error: &StorageError) -> bool {
        error.is_not_stored() && may_be_one_request(error)
    }

    fn store_failed(outcomes: &[WriteOutcome]) -> bool {
        let failed = |outcome: &WriteOutcome| matches!(outcome, WriteOutcome::Failed(error) if error.kind().counts_as_store_failure());
        outcomes.iter().any(failed) && !outcomes.iter().any(WriteOutcome::is_stored)
    }

    fn settle(
        part: &[Self],
        result: &Result<Vec<WriteOutcome>, StorageError>,
        unsettled: &mut HashSet<PersistenceId>,
    ) {
        let is_unknown = |outcome: &WriteOutcome| matches!(outcome, WriteOutcome::Failed(error) if !error.is_not_stored());
        let mut rest = result.as_deref().unwrap_or_default();
        for job in part {
            let unknown = match result {
                Ok(_) => {
                    let (own, after) = rest.split_at(job.outcomes());
                    rest = after;
                    own.iter().any(is_unknown)
                }
                Err(error) => !error.is_not_stored(),
            };
            if unknown {
                unsettled.insert(job.persistence_id().clone());
            }
        }
    }

    fn answer(self, outcomes: impl Iterator<Item = WriteOutcome>) {
        self.slot.answer(WriteReply {
            outcomes: outcomes.collect(),
            writes: self.payload,
        });
    }
}

/// A request to take an id over, whatever its answer is.
impl<T: Taken> Member for Job<Ask<T>, WriterId> {
    type Outcome = TakenOver;
    const OPERATION: Operation = Operation::TakeOver;

    fn breaker(calls: &PluginCalls) -> &Arc<CircuitBreaker> {
        &calls.recoveries
    }

    fn outcomes(&self) -> usize {
        1
    }

    /// As long as anybody waits: one that has little time left must not fail those it travels with.
    fn limit(part: &[Self], call_timeout: Duration) -> Duration {
        let now = Instant::now();
        let longest = part.iter().map(|job| job.time_left(now)).max();
        longest.map_or(call_timeout, |time_left| time_left.min(call_timeout))
    }

    fn call(
        calls: &PluginCalls,
        part: &mut [Self],
    ) -> BoxFuture<'static, Result<Vec<TakenOver>, StorageError>> {
        let journal = calls.journal.clone();
        let request = |job: &Self| TakeOverRequest {
            persistence_id: job.persistence_id().clone(),
            writer: job.payload,
        };
        let requests: Vec<_> = part.iter().map(request).collect();
        async move { journal.take_over(&requests).await }.boxed()
    }

    /// Returns whether the requests may be sent again one by one, whatever the effect of the error: to raise an epoch
    /// twice does no harm.
    fn can_split(error: &StorageError) -> bool {
        may_be_one_request(error)
    }

    fn store_failed(_: &[TakenOver]) -> bool {
        false
    }

    fn settle(
        part: &[Self],
        result: &Result<Vec<TakenOver>, StorageError>,
        unsettled: &mut HashSet<PersistenceId>,
    ) {
        if result.is_ok() {
            for job in part {
                unsettled.remove(job.persistence_id());
            }
        }
    }

    fn answer(self, mut outcomes: impl Iterator<Item = TakenOver>) {
        // The number of outcomes was checked; without one, the slot's drop answers.
        if let Some(taken) = outcomes.next() {
            self.slot.answer(Ok(taken.into()));
        }
    }
}
