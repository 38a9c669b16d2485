//! Calls that wait until the test lets them go on.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use actix_persistence_storage_api::StorageError;
use async_trait::async_trait;
use tokio::sync::{oneshot, watch};

use crate::{Fault, Hook, Next, Rule, StoreKind, Verdict};

/// The calls that a rule holds, for the test: it waits until one has come, and decides what becomes of it.
///
/// Once this is dropped, everything that is held goes on, and later calls pass.
#[must_use = "calls go on as soon as this is dropped"]
pub struct Held<S: StoreKind> {
    shared: Arc<Shared<S>>,
    /// The number of calls that have come.
    arrived: watch::Receiver<usize>,
    rule: Rule,
}

struct Shared<S: StoreKind> {
    queue: Mutex<Queue<S>>,
}

struct Queue<S: StoreKind> {
    waiting: VecDeque<HeldCall<S>>,
    /// The number of later calls that need not wait.
    permits: usize,
    is_open: bool,
}

const NO_MORE: &str = "no call can come any more: the store is gone, or its rules were cleared";

impl<S: StoreKind> Held<S> {
    pub(crate) fn new(add: impl FnOnce(Hold<S>) -> Rule) -> Self {
        let shared = Arc::new(Shared {
            queue: Mutex::new(Queue {
                waiting: VecDeque::new(),
                permits: 0,
                is_open: false,
            }),
        });
        let (sender, arrived) = watch::channel(0);
        let rule = add(Hold {
            shared: Arc::clone(&shared),
            arrived: sender,
        });
        Self {
            shared,
            arrived,
            rule,
        }
    }

    /// Waits for a call, and takes the oldest one that is held.
    ///
    /// # Panics
    /// If no call can come any more: the store is gone, or its rules were cleared.
    ///
    /// # Cancel safety
    /// A call is taken only if it is returned.
    pub async fn next(&self) -> HeldCall<S> {
        self.next_or_end().await.expect(NO_MORE)
    }

    /// Waits as [`next`](Self::next) does; returns `None` if no call can come any more: the store is gone, or its rules
    /// were cleared.
    ///
    /// # Cancel safety
    /// A call is taken only if it is returned.
    pub async fn next_or_end(&self) -> Option<HeldCall<S>> {
        let mut arrived = self.arrived.clone();
        loop {
            arrived.borrow_and_update();
            if let Some(call) = self.try_next() {
                return Some(call);
            }
            arrived.changed().await.ok()?;
        }
    }

    /// Takes the oldest call that is held, if there is one.
    pub fn try_next(&self) -> Option<HeldCall<S>> {
        self.shared.queue().waiting.pop_front()
    }

    /// Waits until this many calls have come since the rule was made, whatever became of them.
    ///
    /// # Panics
    /// If no call can come any more, as [`next`](Self::next).
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    pub async fn arrived(&self, calls: usize) {
        let mut arrived = self.arrived.clone();
        let come = arrived.wait_for(|arrived| *arrived >= calls).await;
        come.expect(NO_MORE);
    }

    /// Counts the calls that are held now, without those whose caller has given up.
    pub fn waiting(&self) -> usize {
        let queue = self.shared.queue();
        let waiting = queue.waiting.iter().filter(|call| !call.is_abandoned());
        waiting.count()
    }

    /// Lets this many calls go on, the oldest first: those that are held, and if there are not as many, the next ones. Those
    /// whose caller has given up do not count.
    pub fn release(&self, calls: usize) {
        let mut queue = self.shared.queue();
        queue.waiting.retain(|call| !call.is_abandoned());
        let now = calls.min(queue.waiting.len());
        queue.permits += calls - now;
        let released: Vec<_> = queue.waiting.drain(..now).collect();
        drop(queue);
        released.into_iter().for_each(HeldCall::pass);
    }

    /// Lets all calls go on, and those that come later.
    pub fn release_all(&self) {
        let mut queue = self.shared.queue();
        queue.is_open = true;
        let released = std::mem::take(&mut queue.waiting);
        drop(queue);
        released.into_iter().for_each(HeldCall::pass);
    }

    /// Holds calls again that come from now on, after [`release_all`](Self::release_all) or a release that is not used up.
    pub fn hold_again(&self) {
        let mut queue = self.shared.queue();
        queue.is_open = false;
        queue.permits = 0;
    }

    /// The rule, which knows the number of calls that it has met and can be ended.
    pub fn rule(&self) -> &Rule {
        &self.rule
    }
}

impl<S: StoreKind> Drop for Held<S> {
    fn drop(&mut self) {
        self.release_all();
    }
}

impl<S: StoreKind> fmt::Debug for Held<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let waiting = &self.shared.queue().waiting;
        f.debug_struct("Held")
            .field("waiting", waiting)
            .finish_non_exhaustive()
    }
}

impl<S: StoreKind> Shared<S> {
    fn queue(&self) -> MutexGuard<'_, Queue<S>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a call; returns the channel that brings its fate.
    fn arrive(&self, call: S::Call) -> oneshot::Receiver<Verdict<S::Answer>> {
        let (verdict, decided) = oneshot::channel();
        let held = HeldCall { call, verdict };
        let mut queue = self.queue();
        if queue.is_open {
            drop(queue);
            held.pass();
        } else if queue.permits > 0 {
            queue.permits -= 1;
            drop(queue);
            held.pass();
        } else {
            queue.waiting.push_back(held);
        }
        decided
    }
}

/// The hook that holds the calls.
pub(crate) struct Hold<S: StoreKind> {
    shared: Arc<Shared<S>>,
    arrived: watch::Sender<usize>,
}

#[async_trait]
impl<S: StoreKind> Hook<S> for Hold<S> {
    async fn call(&self, call: S::Call, next: Next<S>) -> Result<S::Answer, StorageError> {
        let decided = self.shared.arrive(call.clone());
        self.arrived.send_modify(|arrived| *arrived += 1);
        let verdict = decided.await.unwrap_or(Verdict::Pass);
        verdict.carry_out::<S>(call, next).await
    }
}

/// A call that waits for what the test decides; when this is dropped, it goes on.
#[must_use = "the call goes on as soon as this is dropped"]
pub struct HeldCall<S: StoreKind> {
    call: S::Call,
    verdict: oneshot::Sender<Verdict<S::Answer>>,
}

impl<S: StoreKind> HeldCall<S> {
    /// Returns the call with its arguments.
    pub fn call(&self) -> &S::Call {
        &self.call
    }

    /// Returns whether the caller has stopped waiting: the future of the call was dropped.
    pub fn is_abandoned(&self) -> bool {
        self.verdict.is_closed()
    }

    /// Lets it go on, to the rules that come after and to the store.
    pub fn pass(self) {
        self.decide(Verdict::Pass);
    }

    /// Lets it fail, as [`On::fail`](crate::On::fail).
    pub fn fail(self, fault: impl Into<Fault>) {
        self.decide(Verdict::fail(fault));
    }

    /// Lets the store do it, and the caller hear an error, as [`On::store_but_fail`](crate::On::store_but_fail).
    pub fn store_but_fail(self, fault: impl Into<Fault>) {
        self.decide(Verdict::store_but_fail(fault));
    }

    /// Answers that the store does not take what was to be stored, as [`On::reject`](crate::On::reject).
    pub fn reject(self, fault: impl Into<Fault>) {
        self.decide(Verdict::reject(fault));
    }

    /// Answers with this; the store does not see the call.
    pub fn answer(self, answer: S::Answer) {
        self.decide(Verdict::Answer(answer));
    }

    /// Leaves the held call without an answer for ever.
    pub fn hang(self) {
        self.decide(Verdict::Hang);
    }

    /// Lets the held call panic with this text.
    pub fn panic(self, message: impl Into<String>) {
        self.decide(Verdict::Panic(message.into()));
    }

    /// Carries out the verdict; does nothing if the caller has given up.
    pub fn decide(self, verdict: Verdict<S::Answer>) {
        let _ = self.verdict.send(verdict);
    }
}

impl<S: StoreKind> fmt::Debug for HeldCall<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.call.fmt(f)
    }
}
