//! The values that the persist family returns.

use std::fmt;
use std::future::IntoFuture;
use std::marker::PhantomData;

use actix::Message;

use crate::error::persist_error::FromPersistError;
use crate::persisting::attached::{AttachedRef, Completion};
use crate::persisting::persist_future::PersistFuture;
use crate::replying::cause::{CauseRef, FailureAnswer, ReplySender};
use crate::replying::reply::{AttachReply, Reply};
use crate::{PersistError, PersistentActor, PersistentContext};

/// Events on their way into the journal, or a deferred call among them.
///
/// The call has taken effect, but nothing is stored yet, and an answer that the handler returns by itself does not wait
/// for it. So the compiler asks (`unused_must_use`) who waits: the asker, by [`reply`](Self::reply) and its like, to be
/// returned from the handler; a future that awaits it; or, with [`detach`](Self::detach), no code. Handlers are
/// attached in the turn that made the call: what is attached after the events were handled does not run any more.
///
/// It can be awaited, in a future that was spawned on the context: `ctx.persist(event).await` ends when the events are
/// stored and handled, or with the [`PersistError`] that says that they were rejected. A future of the context ends
/// with an actor that fails, and the asker finds the channel closed; [`reply`](Self::reply) says more.
///
/// `N` is what it was made with, [`OneEvent`], [`ManyEvents`] or [`NoEvent`], and decides which handlers it takes:
/// [`then`](Persist::then) runs once, [`for_each_event`](Persist::for_each_event) for each event.
///
/// An answer before anything is stored does not compile where the lint is denied, and warns elsewhere:
///
/// ```compile_fail
/// #![deny(unused_must_use)]
/// # use actix_persistence_persistent_actor::{PersistError, PersistentActor, PersistentContext};
/// fn add<A: PersistentActor>(event: A::Event, ctx: &mut PersistentContext<A>) -> Result<(), PersistError> {
///     ctx.persist(event);
///     Ok(())
/// }
/// ```
///
/// It compiles with `detach`:
///
/// ```
/// #![deny(unused_must_use)]
/// # use actix_persistence_persistent_actor::{PersistError, PersistentActor, PersistentContext};
/// fn add<A: PersistentActor>(event: A::Event, ctx: &mut PersistentContext<A>) -> Result<(), PersistError> {
///     ctx.persist(event).detach();
///     Ok(())
/// }
/// ```
#[must_use = "this has not happened yet: return its `.reply(..)` from the handler, await it, or say with `.detach()` that it is not waited for"]
pub struct Persist<A: PersistentActor, N = OneEvent> {
    attached: AttachedRef<A>,
    cause: CauseRef,
    made_with: PhantomData<N>,
}

/// The kind of a [`Persist`] that was made with one event or state: [`then`](Persist::then) runs once.
#[derive(Debug)]
pub enum OneEvent {}

/// The kind of a [`Persist`] that was made with any number of events:
/// [`for_each_event`](Persist::for_each_event) runs for each.
#[derive(Debug)]
pub enum ManyEvents {}

/// The kind of a [`Persist`] that has no event to handle: of a delete, a deferred call, or after
/// [`on_complete`](Persist::on_complete). It takes no handler of events.
///
/// ```compile_fail,E0599
/// # use actix_persistence_persistent_actor::{DurableState, PersistentContext};
/// fn clear<A: DurableState>(ctx: &mut PersistentContext<A>) {
///     ctx.delete().then(|_, _, _| println!("deleted")).detach();
/// }
/// ```
#[derive(Debug)]
pub enum NoEvent {}

impl<A: PersistentActor> Persist<A, OneEvent> {
    /// Runs `handler` once the event is stored and [`on_event`](PersistentActor::on_event) has applied it. It may
    /// persist; such events are handled after all those before them. Of several handlers the first attached runs first.
    ///
    /// It runs at most once, so that what it was given, as the sender of a channel, may be used up in it.
    pub fn then(
        self,
        handler: impl FnOnce(&mut A, &A::Event, &mut PersistentContext<A>) + 'static,
    ) -> Self {
        let mut handler = Some(handler);
        self.add_handler(move |actor, event, ctx| {
            if let Some(handler) = handler.take() {
                handler(actor, event, ctx);
            }
        })
    }
}

impl<A: PersistentActor> Persist<A, ManyEvents> {
    /// Runs `handler` for each event, in order, once it is stored and [`on_event`](PersistentActor::on_event) has
    /// applied it. Handlers may persist; such events are handled after all those before them. Of several handlers
    /// the first attached runs first.
    pub fn for_each_event(
        self,
        handler: impl FnMut(&mut A, &A::Event, &mut PersistentContext<A>) + 'static,
    ) -> Self {
        self.add_handler(handler)
    }
}

impl<A: PersistentActor, N: 'static> Persist<A, N> {
    pub(crate) fn new(attached: AttachedRef<A>, cause: CauseRef) -> Self {
        Self {
            attached,
            cause,
            made_with: PhantomData,
        }
    }

    /// Declares that no code waits for it: it happens all the same, and the turn goes on at once.
    ///
    /// For events of timers, of other handlers and of commands that were sent without asking, and before
    /// [`Reply::deferred`], where a handler answers. The name is that of a task that is detached from the code that
    /// spawned it. A failure is reported to [`on_persist_failure`](PersistentActor::on_persist_failure) or
    /// [`on_persist_rejected`](PersistentActor::on_persist_rejected), and to no caller; of a command that is answered
    /// by [`Reply::deferred`], or by another call's reply, its asker.
    pub fn detach(self) {}

    /// Runs `completion` once, after the last event was handled, even if there were no events, in the same order.
    /// Not run when the events were rejected or have failed.
    ///
    /// Handlers attached to the value it returns come after it, so that takes no more handlers of events.
    pub fn on_complete(
        self,
        completion: impl FnOnce(&mut A, &mut PersistentContext<A>) + 'static,
    ) -> Persist<A, NoEvent> {
        self.add(OnComplete(completion));
        Persist::new(self.attached, self.cause)
    }

    /// Answers the command with what `answer` returns, after the handlers; a failed persist answers with its
    /// [`PersistError`].
    ///
    /// Returned from the handler of the command. A handler of an event that has answered through
    /// [`reply_to`](PersistentContext::reply_to) comes first: then `answer` runs, but its result is dropped.
    pub fn reply<M>(self, answer: impl FnOnce(&mut A) -> M::Result + 'static) -> Reply<M>
    where
        M: Message,
        M::Result: FromPersistError,
    {
        self.reply_with(move |actor, _| answer(actor))
    }

    /// Answers the command as [`reply`](Self::reply) does, and `answer` sees the context: right after the last event of
    /// this call was handled, so that [`last_sequence_nr`](PersistentContext::last_sequence_nr), or
    /// [`revision`](PersistentContext::revision), is the number of that event, even among calls of `persist_async`. It
    /// may persist.
    pub fn reply_with<M>(
        self,
        answer: impl FnOnce(&mut A, &mut PersistentContext<A>) -> M::Result + 'static,
    ) -> Reply<M>
    where
        M: Message,
        M::Result: FromPersistError,
    {
        self.reply_later(answer, |error| Some(M::Result::from_persist_error(error)))
    }

    /// Answers the command with what `answer` returns, after the handlers; a failed persist closes the channel, so that
    /// the asker gets [`MailboxError::Closed`](actix::MailboxError::Closed).
    pub fn reply_or_close<M: Message>(
        self,
        answer: impl FnOnce(&mut A) -> M::Result + 'static,
    ) -> Reply<M> {
        self.reply_later(move |actor, _| answer(actor), |_| None)
    }

    fn reply_later<M: Message>(
        self,
        answer: impl FnOnce(&mut A, &mut PersistentContext<A>) -> M::Result + 'static,
        failure: FailureAnswer<M::Result>,
    ) -> Reply<M> {
        Reply::later(Box::new(LaterReply {
            persist: self,
            answer,
            failure,
        }))
    }

    fn add_handler(
        self,
        handler: impl FnMut(&mut A, &A::Event, &mut PersistentContext<A>) + 'static,
    ) -> Self {
        self.attached.borrow_mut().add_handler(Box::new(handler));
        self
    }

    fn add(&self, completion: impl Completion<A> + 'static) {
        self.attached
            .borrow_mut()
            .add_completion(Box::new(completion));
    }
}

impl<A: PersistentActor, N: 'static> IntoFuture for Persist<A, N> {
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

impl<A: PersistentActor, N> fmt::Debug for Persist<A, N> {
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
struct LaterReply<A: PersistentActor, N, R, F> {
    persist: Persist<A, N>,
    answer: F,
    failure: FailureAnswer<R>,
}

impl<A, N, R, F> AttachReply<R> for LaterReply<A, N, R, F>
where
    A: PersistentActor,
    N: 'static,
    R: 'static,
    F: FnOnce(&mut A, &mut PersistentContext<A>) -> R + 'static,
{
    fn attach(self: Box<Self>, sender: ReplySender<R>, _: CauseRef) {
        // That of the turn that persisted.
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
    F: FnOnce(&mut A, &mut PersistentContext<A>) -> R,
{
    fn stored(self: Box<Self>, actor: &mut A, ctx: &mut PersistentContext<A>) {
        // The answer is computed even if no asker waits: it may have effects, and must not depend on the asker.
        let answer = (self.answer)(actor, ctx);
        let _ = self.cause.answer(answer);
    }

    fn failed(self: Box<Self>, _: PersistError) {
        // The asker gets the outcome when the last call of its command has its fate: one that comes later may be
        // stored.
        drop(self);
    }
}
