//! The result of a command handler: an answer, now or later.

use std::fmt;

use actix::Message;
use actix::dev::MessageResponse;

use crate::PersistentActor;
use crate::error::persist_error::FromPersistError;
use crate::replying::cause::{CauseRef, FailureAnswer, ReplySender};

/// The response of a command of type `M`: to be used as [`Handler::Result`](actix::Handler::Result).
///
/// Made by [`now`](Self::now); by [`Persist::reply`](crate::Persist::reply) and
/// [`Persist::reply_or_close`](crate::Persist::reply_or_close) for an answer that waits until its events are stored and
/// handled; by [`deferred`](Self::deferred) for an answer that one of the handlers returns; and by
/// [`PersistentContext::stash`](crate::PersistentContext::stash) for a command that has to wait. If it is dropped
/// without being returned, the asker gets no answer.
#[must_use = "an answer has to be returned from the handler"]
pub struct Reply<M: Message>(Kind<M::Result>);

enum Kind<R> {
    Now(R),
    ByHandler(FailureAnswer<R>),
    Later(Box<dyn AttachReply<R>>),
}

/// A value that takes the channel of the command over, and knows what the command has led to.
pub(crate) trait AttachReply<R> {
    fn attach(self: Box<Self>, sender: ReplySender<R>, cause: CauseRef);
}

impl<M: Message> Reply<M> {
    /// Answers at once; for commands that persist nothing.
    pub fn now(answer: M::Result) -> Self {
        Self(Kind::Now(answer))
    }

    /// Leaves the answer to whatever the command leads to: a handler of its events, of theirs, a deferred one, or a
    /// spawned future, through [`PersistentContext::reply_to`](crate::PersistentContext::reply_to).
    ///
    /// If no code has answered and none can any more, the asker gets the error of the failed or rejected persist that
    /// prevented it, or finds its channel closed if there was none.
    pub fn deferred() -> Self
    where
        M::Result: FromPersistError,
    {
        Self(Kind::ByHandler(|error| {
            Some(M::Result::from_persist_error(error))
        }))
    }

    /// Leaves the answer as [`deferred`](Self::deferred) does, for results that cannot hold the error of a failed
    /// persist: it closes the channel.
    pub fn deferred_or_close() -> Self {
        Self(Kind::ByHandler(|_| None))
    }

    pub(crate) fn later(reply: Box<dyn AttachReply<M::Result>>) -> Self {
        Self(Kind::Later(reply))
    }
}

impl<A: PersistentActor, M: Message> MessageResponse<A, M> for Reply<M> {
    fn handle(self, ctx: &mut A::Context, sender: ReplySender<M::Result>) {
        match self.0 {
            Kind::Now(answer) => {
                if let Some(sender) = sender {
                    let _ = sender.send(answer);
                }
            }
            Kind::ByHandler(failure) => ctx.cause().take_channel(sender, failure),
            Kind::Later(reply) => reply.attach(sender, ctx.cause()),
        }
    }
}

impl<M: Message> fmt::Debug for Reply<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Kind::Now(_) => "Reply::Now",
            Kind::ByHandler(_) => "Reply::ByHandler",
            Kind::Later(_) => "Reply::Later",
        })
    }
}
