//! The write that an actor has sent to its store and that is not answered yet.

use std::task::{Context, Poll, ready};
use std::time::Duration;

use actix_persistence_journal_actor::WriteReply;
use actix_persistence_state_actor::StateHandle;
use actix_persistence_storage_api::{
    Effect, Operation, PersistenceId, StateWrite, StorageError, StorageErrorKind, WriteOutcome,
};
use actix_persistence_store_actor::{Reply, deadline_after};
use futures_util::FutureExt;
use tokio::time::Instant;

use crate::persisting::write_deadline::WriteDeadline;
use crate::stores::patience::{self, no_answer};

/// The write under way: never more than one.
pub(crate) struct InFlight {
    answer: Answer,
    /// The time after which no asker waits for the reply any more.
    deadline: Instant,
}

enum Answer {
    /// The reply to calls that store events, and the number of them.
    Events {
        reply: Reply<WriteReply>,
        writes: usize,
    },
    /// The reply to a call that stores or deletes a state.
    Change {
        reply: Reply<Result<(), StorageError>>,
        operation: Operation,
        limit: Duration,
    },
}

impl InFlight {
    pub(crate) fn events(reply: Reply<WriteReply>, writes: usize, deadline: Instant) -> Self {
        let answer = Answer::Events { reply, writes };
        Self { answer, deadline }
    }

    /// Sends a change of a state.
    pub(crate) fn change(store: &StateHandle, change: StateWrite) -> Self {
        let operation = change.operation();
        let reply = match change {
            StateWrite::Upsert(update) => store.upsert(update),
            StateWrite::Delete(delete) => store.delete(delete),
        };
        let limit = patience::for_change(store);
        Self {
            answer: Answer::Change {
                reply,
                operation,
                limit,
            },
            deadline: deadline_after(limit),
        }
    }

    /// Returns one outcome per call, in order.
    pub(crate) fn poll(
        &mut self,
        id: &PersistenceId,
        timer: &mut WriteDeadline,
        cx: &mut Context<'_>,
    ) -> Poll<Vec<WriteOutcome>> {
        match &mut self.answer {
            Answer::Change {
                reply,
                operation,
                limit,
            } => {
                let stored = match reply.poll_unpin(cx) {
                    Poll::Ready(stored) => stored,
                    Poll::Pending => {
                        ready!(timer.poll(self.deadline, cx));
                        Err(no_answer(*operation, id.clone(), *limit))
                    }
                };
                Poll::Ready(vec![outcome(stored)])
            }
            Answer::Events { reply, writes } => {
                let outcomes = match reply.poll_unpin(cx) {
                    Poll::Ready(reply) => reply.outcomes,
                    Poll::Pending => {
                        ready!(timer.poll(self.deadline, cx));
                        Vec::new()
                    }
                };
                if outcomes.len() == *writes {
                    return Poll::Ready(outcomes);
                }
                let error = StorageError::new(StorageErrorKind::Timeout, Operation::WriteMessages)
                    .with_effect(Effect::Unknown)
                    .with_persistence_id(id.clone())
                    .with_message("the journal did not answer within write-timeout");
                Poll::Ready(vec![WriteOutcome::Failed(error); *writes])
            }
        }
    }
}

/// Returns the outcome of a change, by the rule of journals: a rejection is caused by what was to be stored, or by what
/// the application makes of it.
fn outcome(stored: Result<(), StorageError>) -> WriteOutcome {
    match stored {
        Ok(()) => WriteOutcome::Stored,
        Err(error) if is_rejection(&error) => WriteOutcome::Rejected(error),
        Err(error) => WriteOutcome::Failed(error),
    }
}

fn is_rejection(error: &StorageError) -> bool {
    let lies_in_the_state = matches!(
        error.kind(),
        StorageErrorKind::TooLarge
            | StorageErrorKind::Unsupported
            | StorageErrorKind::Extension
            | StorageErrorKind::Constraint
    );
    lies_in_the_state && error.is_not_stored()
}
