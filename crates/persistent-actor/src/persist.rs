//! What `persist` and `persist_all` return.

use std::fmt;

use actix::Message;

use crate::context::pending::{AttachedRef, Completion};
use crate::persist_error::FromPersistError;
use crate::reply::{AttachReply, Reply, ReplySender};
use crate::{PersistError, PersistentActor, PersistentContext};

/// An event on its way into the journal, or several of one `persist_all`.
///
/// The call has taken effect; this value only adds what happens afterwards, and may be dropped.
pub struct Persist<A: PersistentActor> {
    attached: AttachedRef<A>,
}

impl<A: PersistentActor> Persist<A> {
    pub(crate) fn new(attached: AttachedRef<A>) -> Self {
        Self { attached }
    }

    /// Runs `handler` for each event, in order, once it is stored and [`on_event`](PersistentActor::on_event) has
    /// taken note of it. Handlers may persist; such events are handled after all those before them.
    pub fn then(
        self,
        handler: impl FnMut(&mut A, &A::Event, &mut PersistentContext<A>) + 'static,
    ) -> Self {
        self.attached.borrow_mut().handler = Some(Box::new(handler));
        self
    }

    /// Answers the command with what `answer` gives, after the handlers; a failed persist answers with its
    /// [`PersistError`].
    pub fn reply<M>(self, answer: impl FnOnce(&mut A) -> M::Result + 'static) -> Reply<M>
    where
        M: Message,
        M::Result: FromPersistError,
    {
        self.reply_with(answer, |error| Some(M::Result::from_persist_error(error)))
    }

    /// Answers the command with what `answer` gives, after the handlers; a failed persist closes the channel, so that
    /// the asker gets [`MailboxError::Closed`](actix::MailboxError::Closed).
    pub fn reply_or_close<M: Message>(
        self,
        answer: impl FnOnce(&mut A) -> M::Result + 'static,
    ) -> Reply<M> {
        self.reply_with(answer, |_| None)
    }

    fn reply_with<M: Message>(
        self,
        answer: impl FnOnce(&mut A) -> M::Result + 'static,
        failure: fn(PersistError) -> Option<M::Result>,
    ) -> Reply<M> {
        Reply::later(Box::new(LaterReply {
            attached: self.attached,
            answer,
            failure,
        }))
    }
}

impl<A: PersistentActor> fmt::Debug for Persist<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Persist").finish_non_exhaustive()
    }
}

/// A reply that waits for the channel of its command.
struct LaterReply<A: PersistentActor, R, F> {
    attached: AttachedRef<A>,
    answer: F,
    failure: fn(PersistError) -> Option<R>,
}

impl<A, R, F> AttachReply<R> for LaterReply<A, R, F>
where
    A: PersistentActor,
    R: 'static,
    F: FnOnce(&mut A) -> R + 'static,
{
    fn attach(self: Box<Self>, sender: ReplySender<R>) {
        let waiting = WaitingReply {
            sender,
            answer: self.answer,
            failure: self.failure,
        };
        self.attached.borrow_mut().completion = Some(Box::new(waiting));
    }
}

/// A reply that waits for its event.
struct WaitingReply<R, F> {
    sender: ReplySender<R>,
    answer: F,
    failure: fn(PersistError) -> Option<R>,
}

impl<A, R, F> Completion<A> for WaitingReply<R, F>
where
    A: PersistentActor,
    F: FnOnce(&mut A) -> R,
{
    fn stored(self: Box<Self>, actor: &mut A, _: &mut PersistentContext<A>) {
        // The answer is computed even if nobody waits: it may have effects, and must not depend on the asker.
        let answer = (self.answer)(actor);
        if let Some(sender) = self.sender {
            let _ = sender.send(answer);
        }
    }

    fn failed(self: Box<Self>, error: PersistError) {
        if let (Some(sender), Some(answer)) = (self.sender, (self.failure)(error)) {
            let _ = sender.send(answer);
        }
    }
}
