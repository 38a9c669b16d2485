//! What the persist family returns.

use std::fmt;
use std::future::IntoFuture;

use actix::Message;

use crate::context::attached::{AttachedRef, Completion};
use crate::context::cause::{CauseRef, FailureAnswer};
use crate::persist_error::FromPersistError;
use crate::persist_future::PersistFuture;
use crate::reply::{AttachReply, Reply, ReplySender};
use crate::{PersistError, PersistentActor, PersistentContext};

/// Events on their way into the journal, or a deferred call among them.
///
/// The call has taken effect; this value only adds what happens afterwards, and may be dropped. It is meant for the
/// turn that made the call: what is attached after the events were handled does not run any more.
///
/// It can be awaited, in a future that was spawned on the context: `ctx.persist(event).await` ends when the events are
/// stored and handled, or with the [`PersistError`] that says that they were rejected. A future of the context ends
/// with an actor that fails, and whoever waits for its answer finds the channel closed; [`reply`](Self::reply) tells
/// more.
pub struct Persist<A: PersistentActor> {
    attached: AttachedRef<A>,
    cause: CauseRef,
}

impl<A: PersistentActor> Persist<A> {
    pub(crate) fn new(attached: AttachedRef<A>, cause: CauseRef) -> Self {
        Self { attached, cause }
    }

    /// Runs `handler` for each event, in order, once it is stored and [`on_event`](PersistentActor::on_event) has
    /// taken note of it. Handlers may persist; such events are handled after all those before them. Of several handlers
    /// the first attached runs first.
    pub fn then(
        self,
        handler: impl FnMut(&mut A, &A::Event, &mut PersistentContext<A>) + 'static,
    ) -> Self {
        self.attached.borrow_mut().add_handler(Box::new(handler));
        self
    }

    /// Runs `completion` once, after the last event was handled; also when there were no events, in the same order.
    /// Not run when the events were rejected or have failed.
    pub fn on_complete(
        self,
        completion: impl FnOnce(&mut A, &mut PersistentContext<A>) + 'static,
    ) -> Self {
        self.add(OnComplete(completion));
        self
    }

    /// Answers the command with what `answer` gives, after the handlers; a failed persist answers with its
    /// [`PersistError`].
    ///
    /// Returned from the handler of the command. A handler of an event that has answered through
    /// [`reply_to`](PersistentContext::reply_to) comes first: then `answer` runs, but nobody waits for what it gives.
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
        failure: FailureAnswer<M::Result>,
    ) -> Reply<M> {
        Reply::later(Box::new(LaterReply {
            persist: self,
            answer,
            failure,
        }))
    }

    fn add(&self, completion: impl Completion<A> + 'static) {
        self.attached
            .borrow_mut()
            .add_completion(Box::new(completion));
    }
}

impl<A: PersistentActor> IntoFuture for Persist<A> {
    type Output = Result<(), PersistError>;
    type IntoFuture = PersistFuture;

    fn into_future(self) -> PersistFuture {
        let outcome = self.attached.borrow().outcome().cloned();
        match outcome {
            Some(outcome) => PersistFuture::ready(outcome),
            None => {
                let (waiting, future) = PersistFuture::waiting();
                self.add(waiting);
                future
            }
        }
    }
}

impl<A: PersistentActor> fmt::Debug for Persist<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Persist").finish_non_exhaustive()
    }
}

struct OnComplete<F>(F);

impl<A, F> Completion<A> for OnComplete<F>
where
    A: PersistentActor,
    F: FnOnce(&mut A, &mut PersistentContext<A>),
{
    fn stored(self: Box<Self>, actor: &mut A, ctx: &mut PersistentContext<A>) {
        (self.0)(actor, ctx);
    }

    fn failed(self: Box<Self>, _: PersistError) {}
}

/// A reply that waits for the channel of its command.
struct LaterReply<A: PersistentActor, R, F> {
    persist: Persist<A>,
    answer: F,
    failure: FailureAnswer<R>,
}

impl<A, R, F> AttachReply<R> for LaterReply<A, R, F>
where
    A: PersistentActor,
    R: 'static,
    F: FnOnce(&mut A) -> R + 'static,
{
    fn attach(self: Box<Self>, sender: ReplySender<R>) {
        let cause = CauseRef::clone(&self.persist.cause);
        cause.take_channel(sender, self.failure);
        self.persist.add(WaitingReply {
            cause,
            answer: self.answer,
        });
    }
}

/// A reply that waits for its events.
struct WaitingReply<F> {
    cause: CauseRef,
    answer: F,
}

impl<A, R, F> Completion<A> for WaitingReply<F>
where
    A: PersistentActor,
    R: 'static,
    F: FnOnce(&mut A) -> R,
{
    fn stored(self: Box<Self>, actor: &mut A, _: &mut PersistentContext<A>) {
        // The answer is computed even if nobody waits: it may have effects, and must not depend on the asker.
        let answer = (self.answer)(actor);
        let _ = self.cause.answer(answer);
    }

    fn failed(self: Box<Self>, _: PersistError) {
        self.cause.fail();
    }
}
