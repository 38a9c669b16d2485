//! A lane, which makes one call that writes at a time, and takes everything that arrives meanwhile as the next one.

mod member;
mod tally;
mod waiting;

use std::collections::{HashSet, VecDeque};
use std::mem;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use actix_persistence_storage_api::{
    JournalCapabilities, PersistenceId, StorageError, StorageErrorKind,
};
use actix_persistence_store_actor::{Call, CallEnd, Company, LateCall, Refusal, neighbour_failed};
use futures_util::future::{BoxFuture, FutureExt};
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::task::yield_now;
use tokio::time::Instant;

use crate::halt::{Halt, Halting};
use crate::plugin_calls::PluginCalls;
use crate::request::{Ordered, Read};
use crate::single::Single;
use member::Member;
use tally::Tally;
use waiting::{Step, Waiting};

/// The sender of a lane; the lane ends, after the last request, when this is dropped.
pub(crate) struct LaneSender {
    arrivals: UnboundedSender<Arrival>,
    reads: UnboundedSender<Read>,
}

/// A request or a halt, which a lane meets in the order of their arrival.
enum Arrival {
    Request(Ordered),
    Halt(Halt),
}

/// A task that serves the requests of its ids.
///
/// It is the only one that makes calls for them, so that its own state is all there is to know about their order.
pub(crate) struct Lane {
    calls: Arc<PluginCalls>,
    arrivals: UnboundedReceiver<Arrival>,
    /// The channel of reads. It is apart, because a read need not wait for the writes of other ids: it wakes the lane
    /// in the middle of a call.
    reads: UnboundedReceiver<Read>,
    closed: bool,
    waiting: Waiting,
    /// The halts to come, each with the requests that wait for it.
    halts: VecDeque<(Halt, Waiting)>,
    /// The ids of the group under way, sorted.
    in_flight: Vec<PersistenceId>,
    /// The number of askers that the last group has answered, until the next one waits for them.
    answered: usize,
    /// Calls that have no waiting asker any more but may still write; each returns its ids.
    late: FuturesUnordered<BoxFuture<'static, Vec<PersistenceId>>>,
    /// The ids of the late calls.
    blocked: HashSet<PersistenceId>,
    /// The ids of which a write ended with an unknown outcome, until they are taken over: it may still be stored.
    unsettled: HashSet<PersistenceId>,
}

impl LaneSender {
    /// Queues a request; a lane that has ended with its runtime drops it, which answers it.
    pub(crate) fn send(&self, request: Ordered) {
        let _ = self.arrivals.send(Arrival::Request(request));
    }

    /// Queues a halt after the requests so far; a lane that has ended needs none.
    pub(crate) fn halt(&self) -> Halting {
        let (halt, halting) = Halt::new();
        let _ = self.arrivals.send(Arrival::Halt(halt));
        halting
    }

    /// Queues a read, as [`send`](Self::send) queues a request.
    pub(crate) fn send_read(&self, read: Read) {
        let _ = self.reads.send(read);
    }
}

impl Lane {
    /// Starts a lane on the runtime of the calls.
    pub(crate) fn start(calls: Arc<PluginCalls>, capabilities: &JournalCapabilities) -> LaneSender {
        let (arrivals_sender, arrivals) = unbounded_channel();
        let (reads_sender, reads) = unbounded_channel();
        let runtime = calls.caller.runtime().clone();
        let lane = Lane {
            calls,
            arrivals,
            reads,
            closed: false,
            waiting: Waiting::new(capabilities),
            halts: VecDeque::new(),
            in_flight: Vec::new(),
            answered: 0,
            late: FuturesUnordered::new(),
            blocked: HashSet::new(),
            unsettled: HashSet::new(),
        };
        runtime.spawn(lane.run());
        LaneSender {
            arrivals: arrivals_sender,
            reads: reads_sender,
        }
    }

    async fn run(mut self) {
        loop {
            self.collect();
            self.wait_for_company().await;
            match self.waiting.next(&self.blocked, &self.unsettled) {
                Some(Step::Writes(group)) => self.perform(group).await,
                Some(Step::TakeOvers(group)) => self.perform(group).await,
                Some(Step::Fences(group)) => self.perform(group).await,
                Some(Step::Alone(single)) => self.perform_alone(single).await,
                Some(Step::Read(read)) => self.read(read),
                None if self.may_halt() => self.halt().await,
                None if self.has_ended() => return,
                None => self.listen().await,
            }
        }
    }

    /// Takes in everything that has arrived.
    fn collect(&mut self) {
        // Reads are received first and queued last: by then every earlier write of their id is queued.
        let reads: Vec<_> = std::iter::from_fn(|| self.reads.try_recv().ok()).collect();
        self.collect_arrivals();
        while let Some(Some(ids)) = self.late.next().now_or_never() {
            self.unblock(&ids);
        }
        reads.into_iter().for_each(|read| self.accept_read(read));
    }

    /// Lets those that were just answered ask again before the first of them has a call alone.
    async fn wait_for_company(&mut self) {
        // What waits for a halt is for later, and nothing joins what is before it. Nor does anything join a blocked id.
        if self.waiting.unblocked(&self.blocked) == 0 || !self.halts.is_empty() {
            return;
        }
        let mut company = Company::new(mem::take(&mut self.answered));
        while self.halts.is_empty()
            && company.is_worth_waiting(self.waiting.unblocked(&self.blocked))
        {
            yield_now().await;
            self.collect();
        }
    }

    /// Waits for something to change.
    async fn listen(&mut self) {
        tokio::select! {
            // Every run of a simulation decides alike. What is not taken now is collected before the next step.
            biased;
            arrival = self.arrivals.recv(), if !self.closed => match arrival {
                Some(arrival) => self.accept(arrival),
                None => self.closed = true,
            },
            Some(read) = self.reads.recv() => self.collect_before(read),
            Some(ids) = self.late.next() => self.unblock(&ids),
        }
    }

    fn collect_before(&mut self, read: Read) {
        self.collect_arrivals();
        self.accept_read(read);
    }

    fn collect_arrivals(&mut self) {
        while let Ok(arrival) = self.arrivals.try_recv() {
            self.accept(arrival);
        }
    }

    fn accept(&mut self, arrival: Arrival) {
        match arrival {
            Arrival::Request(request) => self.last_waiting().push(request),
            Arrival::Halt(halt) => {
                let after = self.waiting.none_yet();
                self.halts.push_back((halt, after));
            }
        }
    }

    /// Returns the requests after the last halt.
    fn last_waiting(&mut self) -> &mut Waiting {
        match self.halts.back_mut() {
            Some((_, after)) => after,
            None => &mut self.waiting,
        }
    }

    fn accept_read(&mut self, read: Read) {
        let id = read.waiter().persistence_id();
        let has_to_fence = matches!(read, Read::Look(_)) && self.unsettled.contains(id);
        if self.in_flight.binary_search(id).is_ok()
            || self.blocked.contains(id)
            || self.has(id)
            || has_to_fence
        {
            self.last_waiting().push(Ordered::Read(read));
        } else {
            self.read(read);
        }
    }

    /// Returns whether a request of this id waits.
    fn has(&self, persistence_id: &PersistenceId) -> bool {
        let mut after = self.halts.iter().map(|(_, after)| after);
        self.waiting.has(persistence_id) || after.any(|after| after.has(persistence_id))
    }

    /// Returns whether nothing waits and nothing will come.
    fn has_ended(&self) -> bool {
        self.closed && self.waiting.is_empty() && self.halts.is_empty()
    }

    /// Returns whether all that came before the next halt has ended, calls that are late too.
    fn may_halt(&self) -> bool {
        !self.halts.is_empty() && self.waiting.is_empty() && self.late.is_empty()
    }

    /// Makes no call that changes something until the halt is over; reads go on.
    async fn halt(&mut self) {
        let Some((halt, after)) = self.halts.pop_front() else {
            return;
        };
        self.waiting = after;
        self.during(halt.keep()).await;
    }

    /// Lets a read go, which the lane does not wait for.
    fn read(&self, read: Read) {
        match read {
            Read::Look(job) => self.calls.look(job),
            Read::Single(single) => single.read(&self.calls),
        }
    }

    async fn perform_alone(&mut self, single: Single) {
        let id = single.waiter().persistence_id().clone();
        self.in_flight = vec![id.clone()];
        let late = self.during(single.change(&self.calls)).await;
        self.in_flight.clear();
        if let Some(end) = late {
            self.blocked.insert(id.clone());
            self.late.push(end.map(|()| vec![id]).boxed());
        }
    }

    async fn perform<M: Member>(&mut self, mut group: Vec<M>) {
        let breaker = M::breaker(&self.calls).clone();
        let entry = match breaker.enter() {
            Ok(entry) => entry,
            Err(open) => return refuse_all(group, &open.into()),
        };
        // Databases lock in one order then, whatever the order of arrival.
        group.sort_unstable_by(|a, b| a.persistence_id().cmp(b.persistence_id()));
        self.in_flight = ids(&group);
        self.answered = group.len();
        let tally = self.perform_parts(group, breaker.call_timeout()).await;
        self.in_flight.clear();
        if tally.late || (tally.failed && !tally.worked) {
            entry.failed();
        } else if tally.worked {
            entry.succeeded();
        } else if let Some(to_come) = tally.to_come {
            self.calls.caller.runtime().spawn(async move {
                // Without an end the entry is dropped, which is a failure.
                if let Ok(result) = to_come.await {
                    entry.ended(&result);
                }
            });
        } else {
            entry.showed_nothing();
        }
    }

    /// Makes the call; as long as it certainly changed nothing and splitting can help, does so with its halves.
    async fn perform_parts<M: Member>(&mut self, group: Vec<M>, call_timeout: Duration) -> Tally {
        let mut tally = Tally::default();
        let mut parts = vec![group];
        while let Some(mut part) = parts.pop() {
            // Those of the whole group have just been looked at; a part may have waited for others.
            if tally.called {
                part = without_dead(part);
            }
            if part.is_empty() {
                continue;
            }
            let limit = M::limit(&part, call_timeout);
            let result = match self.call(&mut part, limit).await {
                CallEnd::InTime(result) => {
                    let result = checked(&part, result);
                    self.calls.health.note(&result);
                    tally.count::<M>(part.len(), &result);
                    result
                }
                CallEnd::Late(late) => {
                    let rest = call_timeout.saturating_sub(limit);
                    let error = late.error();
                    let to_come = self.give_up_waiting(&part, rest, call_timeout, late);
                    if rest.is_zero() {
                        tally.late = true;
                        self.calls.health.note::<()>(&Err(error.clone()));
                    } else {
                        tally.to_come = Some(to_come);
                    }
                    tally.guilty += u32::from(part.len() == 1);
                    tally.called = true;
                    Err(error)
                }
            };
            M::settle(&part, &result, &mut self.unsettled);
            match result {
                Ok(outcomes) => answer_all(part, outcomes),
                Err(error) if part.len() > 1 && M::can_split(&error) && !tally.is_hopeless() => {
                    tracing::debug!(requests = part.len(), %error, "splitting a group that failed");
                    let upper = part.split_off(part.len() / 2);
                    parts.push(upper);
                    parts.push(part);
                }
                Err(error) => {
                    let goes_on = M::can_split(&error) && !tally.is_hopeless();
                    if !goes_on {
                        let rest = parts.drain(..).rev().flatten();
                        refuse_all(rest, &neighbour_failed(&error));
                    }
                    fail_all(part, &error);
                }
            }
        }
        tally
    }

    /// Makes one call.
    async fn call<M: Member>(
        &mut self,
        part: &mut [M],
        limit: Duration,
    ) -> CallEnd<Vec<M::Outcome>> {
        part.iter_mut().for_each(M::dispatched);
        let call = M::call(&self.calls, part);
        let call: Call<_> = self.calls.caller.start(M::OPERATION, call);
        self.during(call.within(limit)).await
    }

    /// Waits for the end of a call, and serves reads of other ids meanwhile.
    async fn during<T>(&mut self, call: impl Future<Output = T>) -> T {
        let mut call = pin!(call);
        loop {
            tokio::select! {
                biased;
                end = &mut call => return end,
                Some(read) = self.reads.recv() => self.collect_before(read),
            }
        }
    }

    /// Keeps the ids of a late call from being written to, until it has ended, or a call time-out after the time that a
    /// call may take; returns how it ended within the `rest` of that time.
    fn give_up_waiting<M: Member>(
        &mut self,
        part: &[M],
        rest: Duration,
        call_timeout: Duration,
        late: LateCall<Vec<M::Outcome>>,
    ) -> oneshot::Receiver<Result<(), StorageError>> {
        let ids = ids(part);
        tracing::debug!(requests = ids.len(), error = %late.error(), "a call of the journal is late");
        self.blocked.extend(ids.iter().cloned());
        let (sender, to_come) = oneshot::channel();
        let ended = async move {
            let late = match late.within(rest).await {
                CallEnd::InTime(result) => {
                    // The breaker may have heard enough.
                    let _ = sender.send(result.map(drop));
                    return ids;
                }
                CallEnd::Late(late) => late,
            };
            let _ = sender.send(Err(late.error()));
            if !late.ended(call_timeout).await {
                tracing::warn!(
                    requests = ids.len(),
                    "a late call has not ended in its grace"
                );
            }
            ids
        };
        self.late.push(ended.boxed());
        to_come
    }

    fn unblock(&mut self, ids: &[PersistenceId]) {
        for id in ids {
            self.blocked.remove(id);
        }
    }
}

fn ids<M: Member>(group: &[M]) -> Vec<PersistenceId> {
    group.iter().map(|m| m.persistence_id().clone()).collect()
}

/// Fails unless there is one outcome for each request: a journal that returns too many or too few says nothing about
/// any of them.
fn checked<M: Member>(
    part: &[M],
    result: Result<Vec<M::Outcome>, StorageError>,
) -> Result<Vec<M::Outcome>, StorageError> {
    let expected: usize = part.iter().map(M::outcomes).sum();
    match result {
        Ok(outcomes) if outcomes.len() != expected => {
            Err(
                StorageError::new(StorageErrorKind::Backend, M::OPERATION).with_message(format!(
                    "the plugin returned {} outcomes where {expected} are due",
                    outcomes.len()
                )),
            )
        }
        result => result,
    }
}

fn answer_all<M: Member>(part: Vec<M>, outcomes: Vec<M::Outcome>) {
    let mut outcomes = outcomes.into_iter();
    for member in part {
        let due = member.outcomes();
        member.answer(outcomes.by_ref().take(due));
    }
}

fn fail_all<M: Member>(part: Vec<M>, error: &StorageError) {
    for member in part {
        member.fail(error.clone());
    }
}

fn refuse_all<M: Member>(group: impl IntoIterator<Item = M>, refusal: &Refusal) {
    for member in group {
        member.refuse(refusal);
    }
}

/// Refuses the requests whose askers have gone; returns the others, in order.
fn without_dead<M: Member>(part: Vec<M>) -> Vec<M> {
    let now = Instant::now();
    let (dead, alive) = part.into_iter().partition(|member| member.is_dead(now));
    refuse_all::<M>(dead, &Refusal::too_late());
    alive
}
