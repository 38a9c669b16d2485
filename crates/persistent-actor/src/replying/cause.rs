//! The reply channel of the command that caused what the actor does now.

use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use actix::dev::OneshotSender;

use crate::PersistError;
use crate::error::panics::caught;

/// The channel of an answer; `None` if there is no asker.
pub(crate) type ReplySender<R> = Option<OneshotSender<R>>;

/// Makes the answer that stands for a failed persist; `None` to close the channel.
pub(crate) type FailureAnswer<R> = fn(PersistError) -> Option<R>;

/// The cause, shared by everything that a command leads to: its events, theirs, and the code that asked for the
/// channel.
pub(crate) type CauseRef = Rc<Cause>;

/// Holds the channel of one command until it is answered, at most once.
///
/// A channel that is dropped unanswered reports to its asker the failure that prevented the answer, if there was one:
/// what is certain of the command as a whole, not of one of the calls it led to.
#[derive(Default)]
pub(crate) struct Cause {
    asker: RefCell<Option<Box<dyn Asker>>>,
    fates: RefCell<Fates>,
}

/// The results of the calls that a command led to, as far as they are known.
#[derive(Default)]
struct Fates {
    /// True if the store is asked for anything.
    asked: bool,
    /// True if anything is stored.
    stored: bool,
    /// True if every result is known and the command was not answered, because no code is left that could do so.
    unanswered: bool,
    /// The reason why something is certainly not stored.
    refused: Option<PersistError>,
    /// The reason why it is unknown whether something is stored.
    unknown: Option<PersistError>,
}

/// The side that waits for an answer.
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

    /// Answers the asker; returns the answer if no asker waits for one of this type any more.
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

    /// Notes that the store is asked for something the command led to.
    pub(crate) fn note_asked(&self) {
        self.fates.borrow_mut().asked = true;
    }

    /// Notes that something the command led to is stored.
    pub(crate) fn note_stored(&self) {
        self.fates.borrow_mut().stored = true;
    }

    /// Notes that something the command led to failed.
    pub(crate) fn note(&self, error: &PersistError) {
        self.fates.borrow_mut().note(error);
    }

    /// Returns whether anything the command led to is stored, or may be by now or later.
    pub(crate) fn may_be_stored(&self) -> bool {
        self.fates.borrow().asked
    }

    /// Answers the asker with what is certain, if anything has failed: by now everything has its fate.
    fn fail(&self) {
        let Some(error) = self.fates.borrow_mut().take() else {
            return;
        };
        let asker = self.asker.borrow_mut().take();
        if let Some(asker) = asker
            && let Err(panic) = caught(|| asker.fail(error))
        {
            // The answer is made by code of the user; its channel closes, and the others get theirs.
            tracing::error!(panic, "making the answer of a failed persist panicked");
        }
    }
}

impl Fates {
    fn note(&mut self, error: &PersistError) {
        let noted = match error {
            PersistError::StoredUnanswered => {
                (self.stored, self.unanswered) = (true, true);
                return;
            }
            error if error.is_not_stored() => &mut self.refused,
            _ => &mut self.unknown,
        };
        noted.get_or_insert_with(|| error.clone());
    }

    /// Takes the error for an asker that gets no other answer; `None` if nothing has failed.
    fn take(&mut self) -> Option<PersistError> {
        let Fates {
            asked: _,
            stored,
            unanswered,
            refused,
            unknown,
        } = std::mem::take(self);
        match (unknown, refused) {
            (Some(unknown), _) => Some(unknown),
            (None, Some(refused)) if stored => Some(PersistError::PartlyStored(Arc::new(refused))),
            (None, None) if unanswered => Some(PersistError::StoredUnanswered),
            (None, refused) => refused,
        }
    }
}

impl Drop for Cause {
    fn drop(&mut self) {
        self.fail();
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
