//! A future that runs with metadata.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::metadata::carried::Carried;

/// A future that is polled in the scope of metadata; made by [`Metadata::scope`](crate::Metadata::scope).
///
/// # Cancel safety
/// As the future itself.
#[must_use = "futures do nothing unless they are awaited or polled"]
pub struct Scoped<F> {
    future: Pin<Box<F>>,
    carried: Carried,
}

impl<F> Scoped<F> {
    pub(super) fn new(mut carried: Carried, make: impl FnOnce() -> F) -> Self {
        let future = Box::pin(carried.within(make));
        Self { future, carried }
    }
}

impl<F: Future> Future for Scoped<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let Self { future, carried } = &mut *self;
        carried.within(|| future.as_mut().poll(cx))
    }
}

impl<F> fmt::Debug for Scoped<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scoped")
            .field("metadata", self.carried.metadata())
            .finish_non_exhaustive()
    }
}
