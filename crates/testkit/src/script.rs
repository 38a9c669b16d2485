//! Verdicts for the next calls, one after the other.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use actix_persistence_storage_api::StorageError;
use async_trait::async_trait;

use crate::{Hook, Next, Rule, StoreKind, Verdict};

/// A queue of verdicts for the calls of a rule; a call that finds it empty passes.
///
/// The rule stays in force when this is dropped; clones are the same script.
pub struct Script<S: StoreKind> {
    verdicts: Verdicts<S>,
    rule: Rule,
}

impl<S: StoreKind> Script<S> {
    pub(crate) fn new(
        verdicts: impl IntoIterator<Item = Verdict<S::Answer>>,
        add: impl FnOnce(Verdicts<S>) -> Rule,
    ) -> Self {
        let verdicts = Verdicts(Arc::new(Mutex::new(verdicts.into_iter().collect())));
        let rule = add(verdicts.clone());
        Self { verdicts, rule }
    }

    /// Adds what becomes of the call after those that the script has already.
    pub fn then(&self, verdict: Verdict<S::Answer>) -> &Self {
        self.verdicts.queue().push_back(verdict);
        self
    }

    /// Returns the number of verdicts that no call has taken yet.
    pub fn left(&self) -> usize {
        self.verdicts.queue().len()
    }

    /// The rule, which knows the number of calls that it has met and can be ended.
    pub fn rule(&self) -> &Rule {
        &self.rule
    }
}

impl<S: StoreKind> Clone for Script<S> {
    fn clone(&self) -> Self {
        Self {
            verdicts: self.verdicts.clone(),
            rule: self.rule.clone(),
        }
    }
}

impl<S: StoreKind> fmt::Debug for Script<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let left = &*self.verdicts.queue();
        f.debug_struct("Script")
            .field("left", left)
            .finish_non_exhaustive()
    }
}

/// The hook that takes verdicts from the script.
pub(crate) struct Verdicts<S: StoreKind>(Arc<Mutex<VecDeque<Verdict<S::Answer>>>>);

impl<S: StoreKind> Verdicts<S> {
    fn queue(&self) -> MutexGuard<'_, VecDeque<Verdict<S::Answer>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: StoreKind> Clone for Verdicts<S> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

#[async_trait]
impl<S: StoreKind> Hook<S> for Verdicts<S> {
    async fn call(&self, call: S::Call, next: Next<S>) -> Result<S::Answer, StorageError> {
        let verdict = self.queue().pop_front().unwrap_or(Verdict::Pass);
        verdict.carry_out::<S>(call, next).await
    }
}
