//! Makes the calls for groups of changes, one after the other.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use actix_persistence_storage_api::{Operation, StorageError, StorageErrorKind};
use tokio::task::yield_now;
use tokio::time::{Instant, timeout, timeout_at};

use super::{GroupResult, Member, Shared, StoreCalls, Turn, refuse_all};
use crate::call::{CallEnd, LateCall};
use crate::circuit_breaker::Entry;
use crate::company::Company;
use crate::refusal::Refusal;
use crate::slot::Question;
use crate::splitting::{GUILTY_ENOUGH, may_be_one_request, neighbour_failed};

/// Errors of a call for several changes; each asker gets that of its own.
const OPERATION: Operation = Operation::UpsertState;

/// Makes calls as long as enough changes wait.
pub(super) struct Performer<C> {
    shared: Arc<Shared<C>>,
    calls: Arc<StoreCalls>,
    lane: usize,
    finished: bool,
}

/// The time after which a call takes long: a store is held up then, or slow, and changes that wait get a call beside it.
const SHORT: Duration = Duration::from_millis(10);

/// The most calls made for a group in which a change waited in vain for a row that others hold: each blocks its lane for
/// as long as the store waits.
const WAITED_ENOUGH: u32 = 3;

/// Changes that have to be made in one call.
struct Part<C> {
    members: Vec<Member<C>>,
    /// The error of an earlier call that named the only member of this part; `None` for any other part.
    error: Option<StorageError>,
}

/// The results of the parts of a group.
#[derive(Default)]
struct Tally {
    called: bool,
    worked: bool,
    /// The last failure that is the store's.
    failure: Option<StorageError>,
    /// Changes that failed alone, and not for a reason of their own.
    guilty: u32,
    /// Calls that failed by a change that the error names.
    named: u32,
    /// The number of `named` calls that may have failed because they waited for other calls.
    in_vain: u32,
}

impl<C: Clone + Send + 'static> Performer<C> {
    /// Starts a performer on a lane that is taken for it.
    pub(super) fn start(shared: &Arc<Shared<C>>, calls: &Arc<StoreCalls>, lane: usize) {
        let performer = Self {
            shared: Arc::clone(shared),
            calls: Arc::clone(calls),
            lane,
            finished: false,
        };
        calls.caller.runtime().spawn(performer.run());
    }

    async fn run(mut self) {
        while let Some(group) = self.next().await {
            let changes = group.len();
            let mut performed = pin!(self.perform(group));
            if timeout(SHORT, &mut performed).await.is_err() {
                if let Some(lane) = self.shared.lane_beside(self.lane) {
                    Self::start(&self.shared, &self.calls, lane);
                }
                performed.await;
            }
            self.shared.have_answered(changes);
        }
        self.finished = true;
    }

    /// Takes the next changes, after those that were just answered had time to change again.
    async fn next(&self) -> Option<Vec<Member<C>>> {
        if let Some(answered) = self.shared.take_answered(self.lane) {
            let mut company = Company::new(answered);
            while company.is_worth_waiting(self.shared.waiting()) {
                yield_now().await;
            }
        }
        self.shared.next(self.lane)
    }

    async fn perform(&self, mut group: Vec<Member<C>>) {
        let entry = match self.calls.breaker(OPERATION).enter() {
            Ok(entry) => entry,
            Err(open) => return refuse_all(group, &open.into()),
        };
        // Databases lock in one order then, whatever the order of arrival.
        group.sort_unstable_by(|a, b| {
            let [a, b] = [a, b].map(|member| member.slot.question().persistence_id());
            a.cmp(b)
        });
        self.perform_parts(group).await.report(entry);
    }

    /// Makes the call. If it failed and certainly changed nothing, and if that can help, makes it again without the change
    /// that the error names, or once with each half of the changes, and so on.
    async fn perform_parts(&self, group: Vec<Member<C>>) -> Tally {
        let mut tally = Tally::default();
        let mut parts = vec![Part::of(group)];
        while let Some(mut part) = parts.pop() {
            // Those of the whole group have just been looked at; a part may have waited for others.
            if tally.called {
                part.leave_dead();
            }
            let mut part = part.members;
            if part.is_empty() {
                continue;
            }
            part.iter_mut().for_each(|member| member.slot.dispatched());
            let changes = part.iter().map(|member| member.change.clone()).collect();
            let call = self
                .calls
                .caller
                .start(OPERATION, (self.shared.call)(changes));
            let limit = self.calls.breaker(OPERATION).call_timeout();
            let result = match end_of(call.within(limit), &mut parts).await {
                CallEnd::InTime(result) => checked(part.len(), result),
                CallEnd::Late(late) => {
                    tally.called = true;
                    let error = late.error();
                    self.give_up_waiting(part, late);
                    give_up(parts, &error);
                    tally.failure = Some(error);
                    tally.worked = false;
                    break;
                }
            };
            let named = result.as_ref().err().and_then(|it| place_of(it, &part));
            tally.count(part.len(), &result, named.is_some());
            let error = match result {
                Ok(outcomes) => {
                    for (member, outcome) in part.into_iter().zip(outcomes) {
                        member.answer(outcome);
                    }
                    continue;
                }
                Err(error) => error,
            };
            if tally.is_hopeless() || (named.is_none() && !can_split(&error)) {
                give_up(parts, &error);
                fail_all(part, &error);
                break;
            }
            match named {
                _ if part.len() == 1 => fail_all(part, &error),
                Some(place) if tally.named <= GUILTY_ENOUGH => {
                    tracing::debug!(changes = part.len(), %error, "a change failed its group");
                    let guilty = part.remove(place);
                    // Alone it may end otherwise: a store makes changes in an order of its own, and a neighbour may have been
                    // in its way. The others must not wait for it.
                    parts.insert(0, Part::named(guilty, error));
                    parts.push(Part::of(part));
                }
                _ => {
                    tracing::debug!(changes = part.len(), %error, "splitting a group that failed");
                    let upper = part.split_off(part.len() / 2);
                    parts.push(Part::of(upper));
                    parts.push(Part::of(part));
                }
            }
        }
        tally
    }

    /// Answers; nothing else of these ids starts while the call may still write, which is waited for once more as long.
    fn give_up_waiting(&self, part: Vec<Member<C>>, late: LateCall<Vec<Result<(), StorageError>>>) {
        let error = late.error();
        let turns: Vec<Turn> = part.into_iter().map(|member| member.fail(&error)).collect();
        let grace = self.calls.breaker(OPERATION).call_timeout();
        let store = self.calls.store.clone();
        self.calls.caller.runtime().spawn(async move {
            if !late.ended(grace).await {
                tracing::warn!(
                    %store,
                    changes = turns.len(),
                    "a late call of the store has not ended in its grace"
                );
            }
            turns.into_iter().for_each(Turn::end);
        });
    }
}

impl<C> Drop for Performer<C> {
    fn drop(&mut self) {
        if !self.finished {
            self.shared.abandon(self.lane);
        }
    }
}

impl Tally {
    fn count(&mut self, changes: usize, result: &GroupResult, is_named: bool) {
        self.called = true;
        if let Err(error) = result
            && (is_named || is_slow(error))
        {
            self.named += u32::from(is_named);
            self.in_vain += u32::from(!may_be_one_request(error));
        }
        let failure = match result {
            Ok(outcomes) if outcomes.iter().any(Result::is_ok) => None,
            Ok(outcomes) => outcomes
                .iter()
                .filter_map(|outcome| outcome.as_ref().err())
                .find(|error| error.kind().counts_as_store_failure()),
            // It never came to the store.
            Err(error) if error.kind() == StorageErrorKind::Busy => return,
            Err(error) if error.kind().counts_as_store_failure() => {
                self.guilty += u32::from(changes == 1);
                Some(error)
            }
            // A rule of the application, which may refuse any number of changes of a store that works.
            Err(_) => None,
        };
        match failure {
            Some(error) => self.failure = Some(error.clone()),
            None => self.worked = true,
        }
    }

    fn is_hopeless(&self) -> bool {
        self.in_vain >= WAITED_ENOUGH || (self.guilty >= GUILTY_ENOUGH && !self.worked)
    }

    fn report(self, entry: Entry) {
        match self.failure {
            Some(error) if !self.worked => entry.ended::<()>(&Err(error)),
            _ if self.worked => entry.ended(&Ok(())),
            _ => entry.showed_nothing(),
        }
    }
}

impl<C> Member<C> {
    fn answer(self, outcome: Result<(), StorageError>) {
        match outcome {
            Ok(()) => self.slot.answer(Ok(())),
            Err(error) => self.slot.fail(error),
        }
        self.turn.end();
    }

    /// Answers; the turn is to be ended when nothing of the change can be under way any more.
    fn fail(self, error: &StorageError) -> Turn {
        let operation = self.slot.question().operation();
        let persistence_id = self.slot.question().persistence_id().clone();
        let error = error.clone().with_operation(operation);
        self.slot.fail(error.with_persistence_id(persistence_id));
        self.turn
    }
}

impl<C> Part<C> {
    fn of(members: Vec<Member<C>>) -> Self {
        let error = None;
        Self { members, error }
    }

    fn named(member: Member<C>, error: StorageError) -> Self {
        Self {
            members: vec![member],
            error: Some(error),
        }
    }

    /// Answers the changes whose time is over: with the error of the call that one of them failed, if there is one.
    fn leave_dead(&mut self) {
        let members = std::mem::take(&mut self.members);
        match &self.error {
            None => self.members = without_dead(members),
            Some(error) => {
                let now = Instant::now();
                let (dead, left) = members.into_iter().partition(|member| member.is_dead(now));
                self.members = left;
                fail_all::<C>(dead, error);
            }
        }
    }
}

/// Waits for the end of a call; the changes of later parts are refused as soon as their time is over.
async fn end_of<C, T>(call: impl Future<Output = CallEnd<T>>, parts: &mut [Part<C>]) -> CallEnd<T> {
    let mut call = pin!(call);
    loop {
        let waiting = parts.iter().flat_map(|part| &part.members);
        let Some(first) = waiting.map(|member| member.deadline).min() else {
            return call.await;
        };
        if let Ok(end) = timeout_at(first, &mut call).await {
            return end;
        }
        parts.iter_mut().for_each(Part::leave_dead);
    }
}

/// Returns the place of the change that failed the call, if the error names one, and certainly none was made.
fn place_of<C>(error: &StorageError, part: &[Member<C>]) -> Option<usize> {
    // One that never came to the store says nothing about a change.
    if !error.is_not_stored() || error.kind() == StorageErrorKind::Busy {
        return None;
    }
    let named = error.persistence_id()?;
    part.iter()
        .position(|member| member.slot.question().persistence_id() == named)
}

fn can_split(error: &StorageError) -> bool {
    is_slow(error) || (error.is_not_stored() && may_be_one_request(error))
}

/// Returns whether the changes took longer than the store lets them, together: one of them may be what is slow.
fn is_slow(error: &StorageError) -> bool {
    error.is_not_stored() && error.kind() == StorageErrorKind::Timeout
}

/// Fails unless there is one outcome for each change: a store that returns too many or too few says nothing about any
/// of them.
fn checked(expected: usize, result: GroupResult) -> GroupResult {
    match result {
        Ok(outcomes) if outcomes.len() != expected => {
            let message = format!(
                "the plugin returned {} outcomes where {expected} are due",
                outcomes.len()
            );
            Err(StorageError::new(StorageErrorKind::Backend, OPERATION).with_message(message))
        }
        result => result,
    }
}

/// Refuses the parts that were not made; a change that failed a call by itself gets that error.
fn give_up<C>(parts: Vec<Part<C>>, reason: &StorageError) {
    for Part { members, error } in parts.into_iter().rev() {
        match error {
            Some(error) => fail_all(members, &error),
            None => refuse_all(members, &neighbour_failed(reason)),
        }
    }
}

fn fail_all<C>(members: impl IntoIterator<Item = Member<C>>, error: &StorageError) {
    members
        .into_iter()
        .for_each(|member| member.fail(error).end());
}

/// Refuses the changes whose askers have gone; returns the others, in order.
fn without_dead<C>(part: Vec<Member<C>>) -> Vec<Member<C>> {
    let now = Instant::now();
    let (dead, alive): (Vec<_>, Vec<_>) = part.into_iter().partition(|member| member.is_dead(now));
    refuse_all(dead, &Refusal::too_late());
    alive
}
