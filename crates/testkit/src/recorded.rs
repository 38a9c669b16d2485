//! The record of the calls.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use actix_persistence_storage_api::StorageError;
use async_trait::async_trait;

use crate::{Hook, Next, Rule, StoreKind};

/// The calls that a rule has met, in the order in which they came.
///
/// The rule stays in force when this is dropped; clones are the same record.
pub struct Recorded<S: StoreKind> {
    record: Record<S>,
    rule: Rule,
}

struct Seen<C> {
    calls: Vec<C>,
    under_way: usize,
    most_under_way: usize,
}

impl<S: StoreKind> Recorded<S> {
    pub(crate) fn new(add: impl FnOnce(Record<S>) -> Rule) -> Self {
        let record = Record(Arc::new(Mutex::new(Seen {
            calls: Vec::new(),
            under_way: 0,
            most_under_way: 0,
        })));
        let rule = add(record.clone());
        Self { record, rule }
    }

    /// The calls so far that were not [taken](Self::take).
    pub fn calls(&self) -> Vec<S::Call> {
        self.record.seen().calls.clone()
    }

    /// The calls since the last time that this was called.
    pub fn take(&self) -> Vec<S::Call> {
        std::mem::take(&mut self.record.seen().calls)
    }

    /// Returns the number of calls, including those that were taken.
    pub fn number(&self) -> usize {
        self.rule.met()
    }

    /// The most calls that were under way at the same time.
    pub fn most_at_once(&self) -> usize {
        self.record.seen().most_under_way
    }

    /// The rule, which knows the number of calls that it has met and can be ended.
    pub fn rule(&self) -> &Rule {
        &self.rule
    }
}

impl<S: StoreKind> Clone for Recorded<S> {
    fn clone(&self) -> Self {
        Self {
            record: self.record.clone(),
            rule: self.rule.clone(),
        }
    }
}

impl<S: StoreKind> fmt::Debug for Recorded<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let calls = &self.record.seen().calls;
        f.debug_struct("Recorded")
            .field("calls", calls)
            .finish_non_exhaustive()
    }
}

/// The hook that remembers the calls.
pub(crate) struct Record<S: StoreKind>(Arc<Mutex<Seen<S::Call>>>);

impl<S: StoreKind> Record<S> {
    fn seen(&self) -> MutexGuard<'_, Seen<S::Call>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: StoreKind> Clone for Record<S> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

#[async_trait]
impl<S: StoreKind> Hook<S> for Record<S> {
    async fn call(&self, call: S::Call, next: Next<S>) -> Result<S::Answer, StorageError> {
        {
            let mut seen = self.seen();
            seen.calls.push(call.clone());
            seen.under_way += 1;
            seen.most_under_way = seen.most_under_way.max(seen.under_way);
        }
        let _under_way = UnderWay(self);
        next.run(call).await
    }
}

/// Ends with the call, even if that panics or is dropped.
struct UnderWay<'r, S: StoreKind>(&'r Record<S>);

impl<S: StoreKind> Drop for UnderWay<'_, S> {
    fn drop(&mut self) {
        self.0.seen().under_way -= 1;
    }
}
