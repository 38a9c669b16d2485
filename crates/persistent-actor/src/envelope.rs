//! A message on its way to a persistent actor.

use std::any::type_name;
use std::cell::RefCell;

use actix::dev::{Envelope, EnvelopeProxy, MessageResponse};
use actix::{Handler, Message};

use crate::panics::caught;
use crate::reply::ReplySender;
use crate::{OverflowReplies, PersistentActor, PersistentContext};

/// A message with the channel of its asker, as it lies in mailbox and stashes.
struct Command<M>
where
    M: Message + Send + 'static,
    M::Result: Send,
{
    message: Option<M>,
    sender: ReplySender<M::Result>,
}

/// What became of a refused message.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Refused {
    /// The type of the message, as the compiler names it.
    pub(crate) message_type: &'static str,
    pub(crate) answered: bool,
}

/// An envelope does not show what is in it; so whoever refuses it says here how, and the message tells while it is
/// dropped.
struct Refusal {
    replies: OverflowReplies,
    refused: Refused,
}

thread_local! {
    static REFUSAL: RefCell<Option<Refusal>> = const { RefCell::new(None) };
}

/// Packs a message for the mailbox or a stash.
pub(crate) fn pack<A, M>(message: M, sender: ReplySender<M::Result>) -> Envelope<A>
where
    A: PersistentActor + Handler<M>,
    M: Message + Send + 'static,
    M::Result: Send,
{
    Envelope::with_proxy(Box::new(Command {
        message: Some(message),
        sender,
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
    REFUSAL.with_borrow_mut(|current| *current = Some(refusal));
    if let Err(panic) = caught(|| drop(envelope)) {
        tracing::error!(panic, "dropping or answering a refused message panicked");
    }
    REFUSAL
        .take()
        .map(|refusal| refusal.refused)
        .unwrap_or_default()
}

impl<A, M> EnvelopeProxy<A> for Command<M>
where
    A: PersistentActor + Handler<M>,
    M: Message + Send + 'static,
    M::Result: Send,
{
    fn handle(&mut self, actor: &mut A, ctx: &mut PersistentContext<A>) {
        let sender = self.sender.take();
        // As actix does: a command whose asker has gone before its turn is not run.
        if sender.as_ref().is_some_and(|sender| sender.is_closed()) {
            return;
        }
        if let Some(message) = self.message.take() {
            let response = <A as Handler<M>>::handle(actor, message, ctx);
            response.handle(ctx, sender);
        }
    }
}

impl<M> Drop for Command<M>
where
    M: Message + Send + 'static,
    M::Result: Send,
{
    fn drop(&mut self) {
        if self.message.is_none() {
            return;
        }
        let replies = REFUSAL.with_borrow_mut(|refusal| {
            let refusal = refusal.as_mut()?;
            refusal.refused.message_type = type_name::<M>();
            Some(refusal.replies.clone())
        });
        let answer = replies.and_then(|replies| replies.answer::<M>());
        if let (Some(answer), Some(sender)) = (answer, self.sender.take()) {
            let answered = sender.send(answer).is_ok();
            REFUSAL.with_borrow_mut(|refusal| {
                if let Some(refusal) = refusal {
                    refusal.refused.answered = answered;
                }
            });
        }
    }
}
