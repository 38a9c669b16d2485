//! The asker's end of a question to a store.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::sync::oneshot;

/// The answer to come: a future that always resolves, exactly once.
///
/// Whatever happens on the way - a panic, a call that hangs, a runtime that ends - is an answer too.
/// Polling it needs no runtime of any kind.
///
/// Dropping it before the request was handed to the store cancels the request; afterwards the store goes on, unseen. A
/// write that waits for its [pace](crate::Pace) counts as handed over.
#[must_use = "dropping a reply cancels the request"]
pub struct Reply<T> {
    receiver: oneshot::Receiver<T>,
}

impl<T> Reply<T> {
    pub(crate) fn new(receiver: oneshot::Receiver<T>) -> Self {
        Self { receiver }
    }

    /// Makes an answer that is already there.
    pub fn ready(answer: T) -> Self {
        let (sender, receiver) = oneshot::channel();
        // The receiver is right here.
        let _ = sender.send(answer);
        Self { receiver }
    }
}

impl<T> Future for Reply<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        Pin::new(&mut self.receiver)
            .poll(cx)
            .map(|answer| answer.expect("a slot answers when it is dropped"))
    }
}

impl<T> fmt::Debug for Reply<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reply").finish_non_exhaustive()
    }
}
