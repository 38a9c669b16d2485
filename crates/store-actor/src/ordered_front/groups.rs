//! Changes of different ids that share a call: what arrives while one is under way is the next one.

mod performer;

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use actix_persistence_storage_api::StorageError;
use tokio::time::{Instant, sleep_until};

use super::id_queues::Turn;
use super::store_calls::StoreCalls;
use crate::ask::Ask;
use crate::refusal::Refusal;
use crate::slot::Slot;
use performer::Performer;

/// The outcomes of the changes of a call, in their order, or the error of the call itself.
pub type GroupResult = Result<Vec<Result<(), StorageError>>, StorageError>;

type GroupFuture = Pin<Box<dyn Future<Output = GroupResult> + Send>>;

/// The limits of calls for several changes.
#[derive(Clone, Copy, Debug)]
pub struct GroupLimits {
    /// The number of calls that run at the same time; 0 counts as 1.
    pub lanes: usize,
    /// The most changes in one call; 0 counts as 1.
    pub max_changes: usize,
    /// The most bytes in one call; a single larger change goes alone.
    pub max_bytes: usize,
}

impl GroupLimits {
    fn most_changes(self) -> usize {
        self.max_changes.max(1)
    }
}

/// The changes that wait for a call, and the way to make it; clones share them.
///
/// Each change is of another id: one of an id at a time is handed in here, and the next one when that has ended.
pub struct Groups<C>(Arc<Shared<C>>);

struct Shared<C> {
    call: Box<dyn Fn(Vec<C>) -> GroupFuture + Send + Sync>,
    size: fn(&C) -> usize,
    limits: GroupLimits,
    queue: Mutex<Queue<C>>,
}

struct Queue<C> {
    /// The changes that wait, in the order in which they came.
    waiting: VecDeque<Member<C>>,
    /// The moment at which a task looks for changes whose time is over; none if none waits for that.
    next_look: Option<Instant>,
    /// The number of changes that a call has answered, until the next one waits for their askers.
    answered: usize,
    /// The lanes; for each that has a performer the number of changes that its call has to be worth waiting for.
    lanes: Vec<Option<usize>>,
}

/// A change that waits for its answer.
struct Member<C> {
    slot: Slot<Ask<()>>,
    change: C,
    deadline: Instant,
    turn: Turn,
}

impl<C: Clone + Send + 'static> Groups<C> {
    /// Makes calls by `call`, of changes that have this many bytes.
    pub fn new(
        limits: GroupLimits,
        size: fn(&C) -> usize,
        call: impl Fn(Vec<C>) -> GroupFuture + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(Shared {
            call: Box::new(call),
            size,
            limits,
            queue: Mutex::new(Queue {
                waiting: VecDeque::new(),
                next_look: None,
                answered: 0,
                lanes: vec![None; limits.lanes.max(1)],
            }),
        }))
    }

    /// Makes the change in the next call that has room for it, and then ends its turn.
    ///
    /// A change that still waits when its time is over is refused then, whatever the calls under way do.
    pub(super) fn join(
        &self,
        calls: &Arc<StoreCalls>,
        slot: Slot<Ask<()>>,
        change: C,
        deadline: Instant,
        turn: Turn,
    ) {
        let (lane, has_to_look) = {
            let mut queue = self.0.lock();
            queue.waiting.push_back(Member {
                slot,
                change,
                deadline,
                turn,
            });
            let looks_in_time = queue.next_look.is_some_and(|next| next <= deadline);
            if !looks_in_time {
                queue.next_look = Some(deadline);
            }
            (queue.take_lane(self.0.limits), !looks_in_time)
        };
        if let Some(lane) = lane {
            Performer::start(&self.0, calls, lane);
        }
        if has_to_look {
            let runtime = calls.caller.runtime();
            runtime.spawn(refuse_late(Arc::downgrade(&self.0), deadline));
        }
    }
}

/// Refuses changes that wait when their time is over, at this moment and whenever the next one's is, until none waits or another
/// task looks earlier.
async fn refuse_late<C>(shared: Weak<Shared<C>>, mut at: Instant) {
    loop {
        sleep_until(at).await;
        let Some(shared) = shared.upgrade() else {
            return;
        };
        let (late, next) = {
            let mut queue = shared.lock();
            if queue.next_look != Some(at) {
                return;
            }
            let late = queue.take_late(Instant::now());
            let deadlines = queue.waiting.iter().map(|member| member.deadline);
            queue.next_look = deadlines.min();
            (late, queue.next_look)
        };
        // Outside of the lock, which the next request of an id takes.
        refuse_all(late, &Refusal::too_late());
        match next {
            Some(next) => at = next,
            None => return,
        }
    }
}

impl<C> Clone for Groups<C> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<C> Shared<C> {
    /// Takes the next changes for a lane, without those whose askers have gone; none if nothing waits, or too little for one
    /// more call, and then the lane is free.
    fn next(&self, lane: usize) -> Option<Vec<Member<C>>> {
        let now = Instant::now();
        let mut dead = Vec::new();
        let mut group = Vec::new();
        {
            let mut queue = self.lock();
            queue.lanes[lane] = None;
            let mut bytes = 0_usize;
            while queue.is_worth_a_call(self.limits, group.len())
                && let Some(member) = queue.waiting.pop_front()
            {
                if member.is_dead(now) {
                    dead.push(member);
                    continue;
                }
                bytes = bytes.saturating_add((self.size)(&member.change));
                let is_full =
                    group.len() >= self.limits.max_changes || bytes > self.limits.max_bytes;
                if is_full && !group.is_empty() {
                    queue.waiting.push_front(member);
                    break;
                }
                group.push(member);
            }
            queue.lanes[lane] = (!group.is_empty()).then_some(group.len());
        }
        // Outside of the lock, which the next request of an id takes.
        refuse_all(dead, &Refusal::too_late());
        (!group.is_empty()).then_some(group)
    }

    /// Returns the number of changes that wait.
    fn waiting(&self) -> usize {
        self.lock().waiting.len()
    }

    /// Notes that a call has answered so many changes, whose askers may change again at once.
    fn have_answered(&self, changes: usize) {
        let mut queue = self.lock();
        queue.answered = queue.answered.max(changes);
    }

    /// Returns the number of changes that were answered, once, and keeps other lanes from small calls as long as this one
    /// waits for more; `None` if nothing waits.
    fn take_answered(&self, lane: usize) -> Option<usize> {
        let mut queue = self.lock();
        if queue.waiting.is_empty() {
            return None;
        }
        queue.lanes[lane] = Some(self.limits.most_changes());
        Some(std::mem::take(&mut queue.answered))
    }

    /// Returns a lane for what waits, because the call of this one takes long: from now on nothing waits for its end.
    fn lane_beside(&self, lane: usize) -> Option<usize> {
        let mut queue = self.lock();
        queue.lanes[lane] = Some(0);
        queue.take_lane(self.limits)
    }

    /// A performer ends before its time, with its runtime; without any, nothing that waits will be served.
    fn abandon(&self, lane: usize) {
        let left = {
            let mut queue = self.lock();
            queue.lanes[lane] = None;
            match queue.lanes.iter().flatten().next() {
                None => std::mem::take(&mut queue.waiting),
                Some(_) => VecDeque::new(),
            }
        };
        drop(left);
    }

    fn lock(&self) -> MutexGuard<'_, Queue<C>> {
        self.queue
            .lock()
            .expect("nothing panics while it holds the lock")
    }
}

impl<C> Queue<C> {
    /// Takes a free lane if there is one, and enough waits for one more call.
    fn take_lane(&mut self, limits: GroupLimits) -> Option<usize> {
        let free = self.lanes.iter().position(Option::is_none)?;
        if !self.is_worth_a_call(limits, 0) {
            return None;
        }
        // Until it is known how many it is: what comes meanwhile joins them.
        self.lanes[free] = Some(limits.most_changes());
        Some(free)
    }

    /// Returns whether one more call is worth its costs: what waits, and was `taken` before, is as much as a call under way
    /// has, or all that a call may have. Otherwise it goes with what arrives until such a call ends.
    fn is_worth_a_call(&self, limits: GroupLimits, taken: usize) -> bool {
        let smallest = self.lanes.iter().flatten().min();
        let enough = smallest.map_or(1, |&smallest| smallest.min(limits.max_changes));
        !self.waiting.is_empty() && self.waiting.len() + taken >= enough
    }

    /// Takes the changes out whose time is over.
    fn take_late(&mut self, now: Instant) -> VecDeque<Member<C>> {
        let waiting = std::mem::take(&mut self.waiting);
        let (late, waiting) = waiting.into_iter().partition(|it| it.deadline <= now);
        self.waiting = waiting;
        late
    }
}

impl<C> Member<C> {
    /// Returns whether the answer is not needed any more.
    fn is_dead(&self, now: Instant) -> bool {
        self.deadline <= now || self.slot.is_abandoned()
    }

    fn refuse(self, refusal: &Refusal) {
        crate::refusal::Refuse::refuse(self.slot, refusal);
        self.turn.end();
    }
}

fn refuse_all<C>(members: impl IntoIterator<Item = Member<C>>, refusal: &Refusal) {
    members
        .into_iter()
        .for_each(|member| member.refuse(refusal));
}
