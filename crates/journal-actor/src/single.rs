//! Requests that share their call with no other.

use std::future::Future;
use std::sync::Arc;

use actix_persistence_storage_api::StorageError;
use actix_persistence_store_actor::{Ask, CircuitBreaker, Refusal, Refuse};
use futures_util::future::{BoxFuture, FutureExt};

use crate::job::{Job, Waiter};
use crate::plugin_calls::{LateEnd, PluginCalls};

/// A question and the call that answers it, whatever the answer is.
pub(crate) struct Single(Box<dyn Asked>);

/// A [`Job`] with a call as its payload, without the type of its answer.
trait Asked: Waiter + Send {
    fn refuse(self: Box<Self>, refusal: &Refusal);

    fn read(self: Box<Self>, calls: &PluginCalls, breaker: Option<&Arc<CircuitBreaker>>);

    fn change(self: Box<Self>, calls: &PluginCalls) -> BoxFuture<'static, Option<LateEnd>>;
}

impl Single {
    /// The payload of the job is the call, which is polled when the request may go, or dropped unpolled.
    pub(crate) fn new<T, F>(job: Job<Ask<T>, F>) -> Self
    where
        T: Send + 'static,
        F: Future<Output = Result<T, StorageError>> + Send + 'static,
    {
        Self(Box::new(job))
    }

    pub(crate) fn waiter(&self) -> &dyn Waiter {
        &*self.0
    }

    /// As [`PluginCalls::read`].
    pub(crate) fn read(self, calls: &PluginCalls, breaker: Option<&Arc<CircuitBreaker>>) {
        self.0.read(calls, breaker);
    }

    /// As [`PluginCalls::change`].
    pub(crate) fn change(self, calls: &PluginCalls) -> BoxFuture<'static, Option<LateEnd>> {
        self.0.change(calls)
    }
}

impl Refuse for Single {
    fn refuse(self, refusal: &Refusal) {
        self.0.refuse(refusal);
    }
}

impl<T, F> Asked for Job<Ask<T>, F>
where
    T: Send + 'static,
    F: Future<Output = Result<T, StorageError>> + Send + 'static,
{
    fn refuse(self: Box<Self>, refusal: &Refusal) {
        self.slot.refuse(refusal);
    }

    fn read(self: Box<Self>, calls: &PluginCalls, breaker: Option<&Arc<CircuitBreaker>>) {
        calls.read(*self, breaker);
    }

    fn change(self: Box<Self>, calls: &PluginCalls) -> BoxFuture<'static, Option<LateEnd>> {
        calls.change(*self).boxed()
    }
}
