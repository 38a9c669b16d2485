//! The store's end of a question.

use actix_persistence_storage_api::{
    Effect, Operation, PersistenceId, StorageError, StorageErrorKind,
};
use tokio::sync::oneshot;

use crate::outstanding::{Outstanding, Ticket};
use crate::refusal::{Refusal, Refuse};
use crate::reply::Reply;

/// The facts about a request that a slot needs in order to answer it when nothing else does.
pub trait Question: Send + 'static {
    /// The answer for the asker.
    type Answer: Send + 'static;

    /// Returns the operation that was asked for.
    fn operation(&self) -> Operation;

    /// Returns the persistence id of the stream or state, if the question is about one.
    fn persistence_id(&self) -> Option<&PersistenceId>;

    /// Returns the answer that reports this error. Runs while a slot is dropped, so it must not panic.
    fn failed(&self, error: StorageError) -> Self::Answer;
}

/// The duty to answer one question, once: dropping the slot is an answer too.
///
/// Dropped before [`dispatched`](Self::dispatched), the answer is that nothing was stored; afterwards, that the effect
/// is unknown.
pub struct Slot<Q: Question> {
    question: Q,
    sender: Option<oneshot::Sender<Q::Answer>>,
    dispatched: bool,
    // Returned after the answer was sent: fields are dropped after `Drop::drop` has run.
    _ticket: Ticket,
}

impl<Q: Question> Slot<Q> {
    /// Returns both ends of a question, counted as outstanding until it is answered.
    pub fn new(question: Q, outstanding: &Outstanding) -> (Self, Reply<Q::Answer>) {
        let (sender, receiver) = oneshot::channel();
        let slot = Self {
            question,
            sender: Some(sender),
            dispatched: false,
            _ticket: outstanding.enter(),
        };
        (slot, Reply::new(receiver))
    }

    /// Returns the question of the request.
    pub fn question(&self) -> &Q {
        &self.question
    }

    /// Returns whether the asker has left, so that the answer would be lost.
    pub fn is_abandoned(&self) -> bool {
        self.sender.as_ref().is_none_or(oneshot::Sender::is_closed)
    }

    /// Waits until the asker has left.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    pub(crate) async fn abandoned(&mut self) {
        if let Some(sender) = &mut self.sender {
            sender.closed().await;
        }
    }

    /// Notes that the request is about to be handed to the store: from now on its effect is unknown until answered.
    pub fn dispatched(&mut self) {
        self.dispatched = true;
    }

    /// Sends the answer to the asker.
    pub fn answer(mut self, answer: Q::Answer) {
        self.send(answer);
    }

    /// Answers with an error of the store, completed by the id asked about if it names none.
    ///
    /// For an operation that writes, an error that names no effect counts as [`Effect::Unknown`].
    pub fn fail(mut self, error: StorageError) {
        let answer = self.question.failed(self.complete(error));
        self.send(answer);
    }

    fn complete(&self, mut error: StorageError) -> StorageError {
        if error.persistence_id().is_none()
            && let Some(id) = self.question.persistence_id()
        {
            error = error.with_persistence_id(id.clone());
        }
        if self.question.operation().writes() && error.effect().is_none() {
            error = error.with_effect(Effect::Unknown);
        }
        error
    }

    fn send(&mut self, answer: Q::Answer) {
        if let Some(sender) = self.sender.take() {
            // An asker that has left does not want to know.
            let _ = sender.send(answer);
        }
    }
}

impl<Q: Question> Refuse for Slot<Q> {
    fn refuse(mut self, refusal: &Refusal) {
        let question = &self.question;
        let error = refusal.error(question.operation(), question.persistence_id());
        let answer = question.failed(error);
        self.send(answer);
    }
}

impl<Q: Question> Drop for Slot<Q> {
    fn drop(&mut self) {
        if self.sender.is_none() {
            return;
        }
        let operation = self.question.operation();
        let mut error = StorageError::new(StorageErrorKind::Unavailable, operation)
            .with_message("the request was dropped before the store answered");
        if operation.writes() && !self.dispatched {
            error = error.not_stored();
        }
        let answer = self.question.failed(self.complete(error));
        self.send(answer);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;
    use crate::Ask;

    type Deleted = Ask<()>;

    fn question() -> (Slot<Deleted>, Reply<Result<(), StorageError>>, Outstanding) {
        let outstanding = Outstanding::new();
        let ask = Ask::new(
            Operation::DeleteMessagesTo,
            PersistenceId::of("Account", "1"),
        );
        let (slot, reply) = Slot::new(ask, &outstanding);
        (slot, reply, outstanding)
    }

    fn answer(reply: Reply<Result<(), StorageError>>) -> Result<(), StorageError> {
        reply.now_or_never().expect("an answer")
    }

    #[test]
    fn a_dropped_slot_answers_by_how_far_it_came() {
        let (slot, reply, outstanding) = question();
        drop(slot);
        let error = answer(reply).unwrap_err();
        assert_eq!(error.kind(), StorageErrorKind::Unavailable);
        assert!(error.is_not_stored());
        assert_eq!(outstanding.count(), 0);

        let (mut slot, reply, _outstanding) = question();
        slot.dispatched();
        drop(slot);
        assert_eq!(answer(reply).unwrap_err().effect(), Some(Effect::Unknown));
    }

    #[test]
    fn an_answered_slot_stays_answered_and_is_outstanding_until_then() {
        let (slot, reply, outstanding) = question();
        assert_eq!(outstanding.count(), 1);
        slot.answer(Ok(()));
        assert_eq!(outstanding.count(), 0);
        assert!(answer(reply).is_ok());
    }

    #[test]
    fn knows_when_the_asker_has_left() {
        let (slot, reply, _outstanding) = question();
        assert!(!slot.is_abandoned());
        drop(reply);
        assert!(slot.is_abandoned());
    }

    #[test]
    fn completes_what_the_store_left_out() {
        let (slot, reply, _outstanding) = question();
        // An error made for a read names no effect.
        slot.fail(StorageError::new(
            StorageErrorKind::Backend,
            Operation::ReplayMessages,
        ));
        let error = answer(reply).unwrap_err();
        assert_eq!(error.effect(), Some(Effect::Unknown));
        assert_eq!(
            error.persistence_id(),
            Some(&PersistenceId::of("Account", "1"))
        );
    }
}
