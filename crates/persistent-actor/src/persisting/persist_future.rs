//! The future of a persist call.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use actix_persistence_storage_api::{Operation, StorageError, StorageErrorKind};
use tokio::sync::oneshot;

use crate::persisting::attached::Completion;
use crate::{PersistError, PersistentActor, PersistentContext};

/// Ends when everything of a persist call is stored and handled, or has failed.
///
/// To be awaited in a future spawned on the context ([`spawn`](actix::AsyncContext::spawn),
/// [`wait`](actix::AsyncContext::wait), [`ResponseActFuture`](actix::ResponseActFuture)): such a future goes on when the
/// actor's events are handled, and ends with an actor that fails. Awaited elsewhere it learns of that, too.
///
/// # Cancel safety
/// Dropping it changes nothing: the events are on their way.
#[derive(Debug)]
#[must_use = "the events are on their way; await this to learn what became of them, or drop it"]
pub struct PersistFuture(State);

#[derive(Debug)]
enum State {
    Ready(Option<Result<(), PersistError>>),
    Waiting(oneshot::Receiver<Result<(), PersistError>>),
}

/// The end of the queue that makes the future ready.
pub(crate) struct Waiting(oneshot::Sender<Result<(), PersistError>>);

impl PersistFuture {
    pub(crate) fn ready(outcome: Result<(), PersistError>) -> Self {
        Self(State::Ready(Some(outcome)))
    }

    pub(crate) fn waiting() -> (Waiting, Self) {
        let (sender, receiver) = oneshot::channel();
        (Waiting(sender), Self(State::Waiting(receiver)))
    }
}

impl Future for PersistFuture {
    type Output = Result<(), PersistError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            State::Ready(outcome) => Poll::Ready(
                outcome
                    .take()
                    .expect("a future is not polled after it has ended"),
            ),
            State::Waiting(receiver) => {
                let outcome = ready!(Pin::new(receiver).poll(cx));
                // The queue answers every call before it goes, unless its arbiter stops.
                Poll::Ready(outcome.unwrap_or_else(|_| Err(ended_unanswered())))
            }
        }
    }
}

fn ended_unanswered() -> PersistError {
    let error = StorageError::new(StorageErrorKind::Unavailable, Operation::WriteMessages)
        .with_message("the arbiter of the actor stopped before it knew");
    PersistError::Unknown(error)
}

impl<A: PersistentActor> Completion<A> for Waiting {
    fn stored(self: Box<Self>, _: &mut A, _: &mut PersistentContext<A>) {
        let _ = self.0.send(Ok(()));
    }

    fn failed(self: Box<Self>, error: PersistError) {
        let _ = self.0.send(Err(error));
    }
}
