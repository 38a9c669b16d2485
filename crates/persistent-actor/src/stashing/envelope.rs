//! A message on its way to a persistent actor.

use std::any::{Any, type_name};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::marker::PhantomData;

use actix::dev::{Envelope, EnvelopeProxy, MessageResponse};
use actix::{Handler, Message};

use crate::error::panics::caught;
use crate::metadata::carried::Carried;
use crate::replying::cause::ReplySender;
use crate::{OverflowReplies, PersistentActor, PersistentContext};

/// A message with the channel of its asker and its metadata, as it lies in mailbox and stashes.
struct Command<A, M>
where
    A: PersistentActor + Handler<M>,
    M: Message + Send + 'static,
    M::Result: Send,
{
    message: Option<M>,
    sender: ReplySender<M::Result>,
    carried: Carried,
    actor: PhantomData<fn() -> A>,
}

/// The fate of a refused message.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Refused {
    /// The type of the message, as the compiler names it.
    pub(crate) message_type: &'static str,
    pub(crate) answered: bool,
}

/// The fate of the messages that are dropped now.
///
/// An envelope does not show what is in it, and the channel of actix drops what it holds when it closes; so code that
/// drops envelopes sets the fate of their messages here first, and each message meets it.
enum Fate {
    Refused(Refusal),
    Kept(Keeping),
}

struct Refusal {
    replies: OverflowReplies,
    refused: Refused,
}

struct Keeping {
    whose: Keep,
    /// The envelopes of the actor at hand, as a [`VecDeque`].
    kept: Box<dyn Any>,
}

/// The messages that are kept although their envelope is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    All,
    /// The messages that were answered, and those whose asker still waits.
    Awaited,
}

thread_local! {
    static FATE: RefCell<Option<Fate>> = const { RefCell::new(None) };
}

/// Packs a message, with its metadata, for the mailbox or a stash.
pub(crate) fn pack<A, M>(
    message: M,
    sender: ReplySender<M::Result>,
    carried: Carried,
) -> Envelope<A>
where
    A: PersistentActor + Handler<M>,
    M: Message + Send + 'static,
    M::Result: Send,
{
    Envelope::with_proxy(Box::new(Command::<A, M> {
        message: Some(message),
        sender,
        carried,
        actor: PhantomData,
    }))
}

/// Drops a message; its asker gets the answer registered for its type, or finds its channel closed.
pub(crate) fn refuse<A: PersistentActor>(
    envelope: Envelope<A>,
    replies: OverflowReplies,
) -> Refused {
    let refusal = Refusal {
        replies,
        refused: Refused::default(),
    };
    let mut envelope = Some(envelope);
    let fate = with_fate(Fate::Refused(refusal), &mut || drop(envelope.take()));
    match fate {
        Some(Fate::Refused(refusal)) => refusal.refused,
        _ => Refused::default(),
    }
}

/// Returns the messages whose envelopes `dropping` drops, in that order.
pub(crate) fn keep<A: PersistentActor>(
    whose: Keep,
    dropping: &mut dyn FnMut(),
) -> VecDeque<Envelope<A>> {
    let kept = Box::new(VecDeque::<Envelope<A>>::new());
    let fate = with_fate(Fate::Kept(Keeping { whose, kept }), dropping);
    match fate {
        Some(Fate::Kept(keeping)) => keeping
            .kept
            .downcast()
            .map_or_else(|_| VecDeque::new(), |kept| *kept),
        _ => VecDeque::new(),
    }
}

fn with_fate(fate: Fate, dropping: &mut dyn FnMut()) -> Option<Fate> {
    FATE.with_borrow_mut(|current| *current = Some(fate));
    if let Err(panic) = caught(dropping) {
        tracing::error!(panic, "dropping or answering a refused message panicked");
    }
    FATE.take()
}

impl<A, M> EnvelopeProxy<A> for Command<A, M>
where
    A: PersistentActor + Handler<M>,
    M: Message + Send + 'static,
    M::Result: Send,
{
    fn handle(&mut self, actor: &mut A, ctx: &mut PersistentContext<A>) {
        // As actix does: a command whose asker has gone before its turn is not run.
        if self.is_abandoned() {
            self.message = None;
            return;
        }
        let sender = self.sender.take();
        if let Some(message) = self.message.take() {
            let _scope = self.take_carried().enter();
            let response = <A as Handler<M>>::handle(actor, message, ctx);
            response.handle(ctx, sender);
        }
    }
}

impl<A, M> Command<A, M>
where
    A: PersistentActor + Handler<M>,
    M: Message + Send + 'static,
    M::Result: Send,
{
    /// Returns whether the message has an asker, and the asker no longer waits.
    fn is_abandoned(&self) -> bool {
        self.sender
            .as_ref()
            .is_some_and(|sender| sender.is_closed())
    }

    fn take_carried(&mut self) -> Carried {
        std::mem::replace(&mut self.carried, Carried::NOTHING)
    }

    /// Goes on in an envelope of its own, unless its asker has gone and those are not wanted.
    fn go_on(&mut self, keeping: &mut Keeping) {
        if keeping.whose == Keep::Awaited && self.is_abandoned() {
            return;
        }
        if let Some(kept) = keeping.kept.downcast_mut::<VecDeque<Envelope<A>>>()
            && let Some(message) = self.message.take()
        {
            kept.push_back(pack(message, self.sender.take(), self.take_carried()));
        }
    }
}

impl<A, M> Drop for Command<A, M>
where
    A: PersistentActor + Handler<M>,
    M: Message + Send + 'static,
    M::Result: Send,
{
    fn drop(&mut self) {
        if self.message.is_none() {
            return;
        }
        let replies = FATE.with_borrow_mut(|fate| match fate.as_mut()? {
            Fate::Kept(keeping) => {
                self.go_on(keeping);
                None
            }
            Fate::Refused(refusal) => {
                refusal.refused.message_type = type_name::<M>();
                Some(refusal.replies.clone())
            }
        });
        let answer = replies.and_then(|replies| replies.answer::<M>());
        if let (Some(answer), Some(sender)) = (answer, self.sender.take()) {
            let answered = sender.send(answer).is_ok();
            FATE.with_borrow_mut(|fate| {
                if let Some(Fate::Refused(refusal)) = fate {
                    refusal.refused.answered = answered;
                }
            });
        }
    }
}
