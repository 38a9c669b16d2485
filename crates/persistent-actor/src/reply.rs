//! What a command handler returns: an answer, now or when its events are stored.

use std::fmt;

use actix::Message;
use actix::dev::{MessageResponse, OneshotSender};

use crate::PersistentActor;

/// Where an answer goes; `None` if nobody waits for it.
pub(crate) type ReplySender<R> = Option<OneshotSender<R>>;

/// The response of a command of type `M`: to be used as [`Handler::Result`](actix::Handler::Result).
///
/// Made by [`now`](Self::now), or by [`Persist::reply`](crate::Persist::reply) and
/// [`Persist::reply_or_close`](crate::Persist::reply_or_close) for an answer that waits until its events are stored
/// and handled. Dropped without being returned, it answers nobody.
#[must_use = "an answer has to be returned from the handler"]
pub struct Reply<M: Message>(Kind<M::Result>);

enum Kind<R> {
    Now(R),
    Later(Box<dyn AttachReply<R>>),
}

/// A reply that is computed later, once it knows the channel.
pub(crate) trait AttachReply<R> {
    fn attach(self: Box<Self>, sender: ReplySender<R>);
}

impl<M: Message> Reply<M> {
    /// Answers at once; for commands that persist nothing.
    pub fn now(answer: M::Result) -> Self {
        Self(Kind::Now(answer))
    }

    pub(crate) fn later(reply: Box<dyn AttachReply<M::Result>>) -> Self {
        Self(Kind::Later(reply))
    }
}

impl<A: PersistentActor, M: Message> MessageResponse<A, M> for Reply<M> {
    fn handle(self, _: &mut A::Context, sender: ReplySender<M::Result>) {
        match self.0 {
            Kind::Now(answer) => {
                if let Some(sender) = sender {
                    let _ = sender.send(answer);
                }
            }
            Kind::Later(reply) => reply.attach(sender),
        }
    }
}

impl<M: Message> fmt::Debug for Reply<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Kind::Now(_) => "Reply::Now",
            Kind::Later(_) => "Reply::Later",
        })
    }
}
