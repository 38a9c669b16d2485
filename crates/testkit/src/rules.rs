//! Rules that a test adds to a store and ends again.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use actix_persistence_storage_api::StorageError;
use async_trait::async_trait;

use crate::on::{Calls, On, Operations};
use crate::{Hook, Intercepted, Next, StoreKind};

/// The rules of a store, in the order in which they were added; clones are the same rules.
///
/// A call meets each rule that is about it, the oldest first, until one answers it; the store comes last.
pub struct Rules<S: StoreKind>(Arc<Mutex<Entries<S>>>);

struct Entries<S: StoreKind> {
    /// The number of rules so far. No number is used again, so that a call under way misses no rule.
    added: u64,
    in_force: Vec<Arc<Entry<S>>>,
}

/// A rule in force, with the calls that it applies to.
struct Entry<S: StoreKind> {
    number: u64,
    calls: Calls<S>,
    hook: Arc<dyn Hook<S>>,
    state: Arc<State>,
}

/// The state of a rule.
struct State {
    /// The number of calls that it may still meet; `None` for any number.
    left: Option<AtomicUsize>,
    met: AtomicUsize,
    ended: AtomicBool,
}

impl<S: StoreKind> Rules<S> {
    /// Returns no rules yet: every call passes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts these rules in front of a store. They may be those of several stores.
    pub fn around(&self, store: Arc<S::Store>) -> Intercepted<S> {
        Intercepted::with_hook(store, self.clone())
    }

    /// Begins a rule about calls of one operation, or of several. A ping is none of them, see
    /// [`on_ping`](Self::on_ping).
    pub fn on(&self, operations: impl Into<Operations>) -> On<S> {
        On::new(self.clone(), Calls::of_operations(operations.into()))
    }

    /// Begins a rule about every call, pings and `initialize` included, but not `close`.
    pub fn on_every_call(&self) -> On<S> {
        On::new(self.clone(), Calls::all())
    }

    /// Begins a rule about the pings by which store actors find out whether a store works again.
    pub fn on_ping(&self) -> On<S> {
        On::new(self.clone(), Calls::pings())
    }

    /// Begins a rule about `close`. It cannot fail: an error given to it keeps the store from being closed.
    pub fn on_close(&self) -> On<S> {
        On::new(self.clone(), Calls::closes())
    }

    /// Ends all rules: every call passes again. What is held stays held.
    pub fn clear(&self) {
        for entry in std::mem::take(&mut self.entries().in_force) {
            entry.state.ended.store(true, Ordering::Release);
        }
    }

    pub(crate) fn add(&self, calls: Calls<S>, most: Option<usize>, hook: impl Hook<S>) -> Rule {
        let state = Arc::new(State {
            left: most.map(AtomicUsize::new),
            met: AtomicUsize::new(0),
            ended: AtomicBool::new(false),
        });
        let mut entries = self.entries();
        entries.added += 1;
        let number = entries.added;
        entries.in_force.retain(|entry| !entry.state.is_over());
        entries.in_force.push(Arc::new(Entry {
            number,
            calls,
            hook: Arc::new(hook),
            state: Arc::clone(&state),
        }));
        Rule(state)
    }

    /// The first rule above a number that is about the call; the call counts.
    pub(crate) fn first_for(&self, call: &S::Call, after: u64) -> Option<(u64, Arc<dyn Hook<S>>)> {
        // Predicates run without the lock: they may look at the rules.
        let entries = self.entries().in_force.clone();
        let mut later = entries.iter().filter(|entry| entry.number > after);
        later
            .find(|entry| entry.calls.contain(call) && entry.state.meets())
            .map(|entry| (entry.number, Arc::clone(&entry.hook)))
    }

    fn entries(&self) -> std::sync::MutexGuard<'_, Entries<S>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn is_over(&self) -> bool {
        let is_used_up = |left: &AtomicUsize| left.load(Ordering::Acquire) == 0;
        self.ended.load(Ordering::Acquire) || self.left.as_ref().is_some_and(is_used_up)
    }

    /// Counts a call, unless the rule is over.
    fn meets(&self) -> bool {
        if self.ended.load(Ordering::Acquire) {
            return false;
        }
        let one_less = |left: usize| left.checked_sub(1);
        let order = Ordering::AcqRel;
        let counted = self.left.as_ref().is_none_or(|left| {
            left.fetch_update(order, Ordering::Acquire, one_less)
                .is_ok()
        });
        if counted {
            self.met.fetch_add(1, order);
        }
        counted
    }
}

#[async_trait]
impl<S: StoreKind> Hook<S> for Rules<S> {
    async fn call(&self, call: S::Call, next: Next<S>) -> Result<S::Answer, StorageError> {
        next.through(self.clone()).run(call).await
    }
}

impl<S: StoreKind> Clone for Rules<S> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<S: StoreKind> Default for Rules<S> {
    fn default() -> Self {
        let (added, in_force) = (0, Vec::new());
        Self(Arc::new(Mutex::new(Entries { added, in_force })))
    }
}

impl<S: StoreKind> fmt::Debug for Rules<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let in_force = self.entries().in_force.len();
        f.debug_struct("Rules")
            .field("in_force", &in_force)
            .finish()
    }
}

/// A rule of a store. It stays in force when this is dropped.
#[derive(Clone)]
pub struct Rule(Arc<State>);

impl Rule {
    /// Ends the rule: calls that come from now on do not meet it. Calls that it holds or lets hang stay as they are.
    pub fn end(&self) {
        self.0.ended.store(true, Ordering::Release);
    }

    /// Returns the number of calls that have met the rule so far.
    pub fn met(&self) -> usize {
        self.0.met.load(Ordering::Acquire)
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rule")
            .field("met", &self.met())
            .finish_non_exhaustive()
    }
}
