//! The reply channel of the command that caused what the actor does now.

use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::rc::Rc;

use actix::dev::OneshotSender;

use crate::PersistError;
use crate::panics::caught;
use crate::reply::ReplySender;

/// Makes the answer that stands for a failed persist; `None` to close the channel.
pub(crate) type FailureAnswer<R> = fn(PersistError) -> Option<R>;

/// Shared by everything that a command leads to: its events, theirs, and whoever asked for the channel.
pub(crate) type CauseRef = Rc<Cause>;

/// Holds the channel of one command until it is answered: at most once, whoever does it first.
///
/// Dropped unanswered it tells its asker about the failure that prevented the answer, if there was one.
#[derive(Default)]
pub(crate) struct Cause {
    asker: RefCell<Option<Box<dyn Asker>>>,
    noted: RefCell<Option<PersistError>>,
}

/// Somebody who waits for an answer.
trait Asker {
    fn answer_type(&self) -> TypeId;
    fn into_any(self: Box<Self>) -> Box<dyn Any>;
    fn fail(self: Box<Self>, error: PersistError);
}

struct WaitingAsker<R> {
    sender: OneshotSender<R>,
    failure: FailureAnswer<R>,
}

impl Cause {
    /// Takes the channel over, once the handler of the command has returned.
    pub(crate) fn take_channel<R: 'static>(
        &self,
        sender: ReplySender<R>,
        failure: FailureAnswer<R>,
    ) {
        if let Some(sender) = sender {
            *self.asker.borrow_mut() = Some(Box::new(WaitingAsker { sender, failure }));
        }
    }

    /// Answers the asker; gives the answer back if nobody waits for one of this type any more.
    pub(crate) fn answer<R: 'static>(&self, answer: R) -> Result<(), R> {
        let mut asker = self.asker.borrow_mut();
        let waits = asker
            .as_ref()
            .is_some_and(|asker| asker.answer_type() == TypeId::of::<R>());
        if !waits {
            return Err(answer);
        }
        let Some(Ok(asker)) = asker
            .take()
            .map(|asker| asker.into_any().downcast::<WaitingAsker<R>>())
        else {
            return Err(answer);
        };
        asker.sender.send(answer)
    }

    /// Answers the asker with a failure at once.
    pub(crate) fn fail(&self, error: PersistError) {
        let asker = self.asker.borrow_mut().take();
        if let Some(asker) = asker
            && let Err(panic) = caught(|| asker.fail(error))
        {
            // The answer is made by code of the user; its channel closes, and the others get theirs.
            tracing::error!(panic, "making the answer of a failed persist panicked");
        }
    }

    /// Remembers a failure for the case that nobody answers; the least certain one counts.
    pub(crate) fn note(&self, error: &PersistError) {
        let mut noted = self.noted.borrow_mut();
        let counts = noted.as_ref().is_none_or(|noted| {
            noted.is_certainly_not_stored() && !error.is_certainly_not_stored()
        });
        if counts {
            *noted = Some(error.clone());
        }
    }
}

impl Drop for Cause {
    fn drop(&mut self) {
        if let Some(error) = self.noted.take() {
            self.fail(error);
        }
    }
}

impl<R: 'static> Asker for WaitingAsker<R> {
    fn answer_type(&self) -> TypeId {
        TypeId::of::<R>()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }

    fn fail(self: Box<Self>, error: PersistError) {
        if let Some(answer) = (self.failure)(error) {
            let _ = self.sender.send(answer);
        }
    }
}
