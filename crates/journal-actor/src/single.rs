//! Requests that share their call with no other.

use std::future::Future;
use std::sync::Arc;

use actix_persistence_storage_api::StorageError;
use actix_persistence_store_actor::{CircuitBreaker, Question, Refusal, Refuse};
use futures_util::future::{BoxFuture, FutureExt};

use crate::job::{Job, Waiter};
use crate::plugin_calls::{LateEnd, PluginCalls};

/// A question and the call that answers it, whatever the answer is.
pub(crate) struct Single {
    asked: Box<dyn Asked>,
    has_breaker: bool,
}

/// A [`Job`] with a call as its payload, without the type of its answer.
trait Asked: Waiter + Send {
    fn refuse(self: Box<Self>, refusal: &Refusal);

    fn read(self: Box<Self>, calls: &PluginCalls, breaker: Option<&Arc<CircuitBreaker>>);

    fn change(
        self: Box<Self>,
        calls: &PluginCalls,
        breaker: Option<&Arc<CircuitBreaker>>,
    ) -> BoxFuture<'static, Option<LateEnd>>;
}

impl Single {
    /// The payload of the job is the call, which is polled when the request may go, or dropped unpolled.
    pub(crate) fn new<T, Q, F>(job: Job<Q, F>) -> Self
    where
        T: Send + 'static,
        Q: Question<Answer = Result<T, StorageError>>,
        F: Future<Output = Result<T, StorageError>> + Send + 'static,
    {
        Self {
            asked: Box::new(job),
            has_breaker: true,
        }
    }

    /// Returns the same for a call that no breaker keeps from the journal, and that counts for none.
    pub(crate) fn without_breaker(mut self) -> Self {
        self.has_breaker = false;
        self
    }

    /// Returns this breaker if the call has one.
    pub(crate) fn has<'b>(
        &self,
        breaker: &'b Arc<CircuitBreaker>,
    ) -> Option<&'b Arc<CircuitBreaker>> {
        self.has_breaker.then_some(breaker)
    }

    pub(crate) fn waiter(&self) -> &dyn Waiter {
        &*self.asked
    }

    /// As [`PluginCalls::read`].
    pub(crate) fn read(self, calls: &PluginCalls) {
        let breaker = self.has(&calls.reads);
        self.asked.read(calls, breaker);
    }

    /// As [`PluginCalls::change`].
    pub(crate) fn change(self, calls: &PluginCalls) -> BoxFuture<'static, Option<LateEnd>> {
        let breaker = self.has(&calls.writes);
        self.asked.change(calls, breaker)
    }
}

impl Refuse for Single {
    fn refuse(self, refusal: &Refusal) {
        self.asked.refuse(refusal);
    }
}

impl<T, Q, F> Asked for Job<Q, F>
where
    T: Send + 'static,
    Q: Question<Answer = Result<T, StorageError>>,
    F: Future<Output = Result<T, StorageError>> + Send + 'static,
{
    fn refuse(self: Box<Self>, refusal: &Refusal) {
        self.slot.refuse(refusal);
    }

    fn read(self: Box<Self>, calls: &PluginCalls, breaker: Option<&Arc<CircuitBreaker>>) {
        calls.read(*self, breaker);
    }

    fn change(
        self: Box<Self>,
        calls: &PluginCalls,
        breaker: Option<&Arc<CircuitBreaker>>,
    ) -> BoxFuture<'static, Option<LateEnd>> {
        calls.change(*self, breaker).boxed()
    }
}
