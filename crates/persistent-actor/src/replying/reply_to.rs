//! The channel of a command, for the handlers it leads to.

use std::fmt;
use std::marker::PhantomData;

use actix::Message;

use crate::replying::cause::CauseRef;

/// The address for the answer to the command that caused what runs now, as Akka's `sender()`.
///
/// Given by [`PersistentContext::reply_to`](crate::PersistentContext::reply_to). The channel is there once the handler of
/// the command has returned a [`Reply`](crate::Reply) that is answered later, and until it is answered: every
/// ask gets at most one answer. Further notices belong to recipients that the command carries.
pub struct ReplyTo<M: Message> {
    cause: CauseRef,
    message: PhantomData<fn(M)>,
}

impl<M: Message> ReplyTo<M> {
    pub(crate) fn new(cause: CauseRef) -> Self {
        Self {
            cause,
            message: PhantomData,
        }
    }

    /// Answers the command that this came from.
    ///
    /// # Errors
    /// Returns the answer if no asker waits for it: the command was answered, was sent without asking, its asker has
    /// gone, it is of another type than `M`, or its handler has not returned yet.
    pub fn send(self, answer: M::Result) -> Result<(), M::Result> {
        self.cause.answer(answer)
    }
}

impl<M: Message> fmt::Debug for ReplyTo<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplyTo").finish_non_exhaustive()
    }
}
