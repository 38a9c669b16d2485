//! Changes of different ids that share a call: all that arrive while one is under way are the next one.

mod performer;

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};

use actix_persistence_storage_api::StorageError;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

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
    /// The changes that wait, in the order of their numbers.
    waiting: VecDeque<Member<C>>,
    next_number: u64,
    /// The number of performers.
    under_way: usize,
}

/// A change that waits for its answer.
struct Member<C> {
    number: u64,
    slot: Slot<Ask<()>>,
    change: C,
    deadline: Instant,
    /// The guard that is dropped when the next request of the id may be served.
    end: oneshot::Sender<()>,
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
                next_number: 0,
                under_way: 0,
            }),
        }))
    }

    /// Makes the change in the next call that has room for it; returns when the next request of its id may be served.
    ///
    /// A change that still waits when its time is over is refused then, whatever the calls under way do.
    pub(super) async fn join(
        &self,
        calls: &Arc<StoreCalls>,
        slot: Slot<Ask<()>>,
        change: C,
        deadline: Instant,
    ) {
        let (end, mut ended) = oneshot::channel();
        let (number, has_to_begin) = {
            let mut queue = self.0.lock();
            let number = queue.next_number;
            queue.next_number += 1;
            queue.waiting.push_back(Member {
                number,
                slot,
                change,
                deadline,
                end,
            });
            let begins = queue.under_way < self.0.limits.lanes.max(1);
            queue.under_way += usize::from(begins);
            (number, begins)
        };
        if has_to_begin {
            let performer = Performer::new(Arc::clone(&self.0), Arc::clone(calls));
            calls.caller.runtime().spawn(performer.run());
        }
        // Nothing is ever sent.
        if timeout_at(deadline, &mut ended).await.is_ok() {
            return;
        }
        let late = self.0.lock().take(number);
        match late {
            Some(member) => member.refuse(&Refusal::too_late()),
            // A call has it.
            None => _ = ended.await,
        }
    }
}

impl<C> Clone for Groups<C> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<C> Shared<C> {
    /// Takes the next changes, without those whose askers have gone; none if nothing waits, and then a performer less is
    /// under way.
    fn next(&self) -> Option<Vec<Member<C>>> {
        let now = Instant::now();
        let mut dead = Vec::new();
        let mut group = Vec::new();
        {
            let mut queue = self.lock();
            let mut bytes = 0_usize;
            while let Some(member) = queue.waiting.pop_front() {
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
            if group.is_empty() {
                queue.under_way -= 1;
            }
        }
        // Outside of the lock, because it wakes those who asked.
        dead.into_iter()
            .for_each(|member| member.refuse(&Refusal::too_late()));
        (!group.is_empty()).then_some(group)
    }

    /// A performer ends before its time, with its runtime; without any, nothing that waits will be served.
    fn abandon(&self) {
        let left = {
            let mut queue = self.lock();
            queue.under_way -= 1;
            match queue.under_way {
                0 => std::mem::take(&mut queue.waiting),
                _ => VecDeque::new(),
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
    /// Takes a change out, if it still waits.
    fn take(&mut self, number: u64) -> Option<Member<C>> {
        let place = self.waiting.binary_search_by_key(&number, |it| it.number);
        self.waiting.remove(place.ok()?)
    }
}

impl<C> Member<C> {
    /// Returns whether the answer is not needed any more.
    fn is_dead(&self, now: Instant) -> bool {
        self.deadline <= now || self.slot.is_abandoned()
    }

    fn refuse(self, refusal: &Refusal) {
        crate::refusal::Refuse::refuse(self.slot, refusal);
    }
}
