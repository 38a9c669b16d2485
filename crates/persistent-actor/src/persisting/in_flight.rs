//! The write that an actor has sent to its store and that is not answered yet.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use actix_persistence_journal_actor::WriteReply;
use actix_persistence_state_actor::StateHandle;
use actix_persistence_storage_api::{
    Effect, Operation, PersistenceId, StateWrite, StorageError, StorageErrorKind, WriteOutcome,
};
use actix_persistence_store_actor::Reply;
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use tokio::time::{Instant, Sleep};

use crate::stores::patience::{self, in_time};

/// The write under way: never more than one.
pub(crate) enum InFlight {
    /// Calls that store events, and the number of them.
    Events {
        reply: Reply<WriteReply>,
        writes: usize,
        /// The time after which no asker waits for the reply any more.
        deadline: Pin<Box<Sleep>>,
    },
    /// A call that stores or deletes a state.
    Change(LocalBoxFuture<'static, Result<(), StorageError>>),
}

impl InFlight {
    pub(crate) fn events(reply: Reply<WriteReply>, writes: usize, deadline: Instant) -> Self {
        InFlight::Events {
            reply,
            writes,
            deadline: Box::pin(tokio::time::sleep_until(deadline)),
        }
    }

    /// Sends a change of a state.
    pub(crate) fn change(store: &StateHandle, change: StateWrite) -> Self {
        let (operation, id) = (change.operation(), change.persistence_id().clone());
        let reply = match change {
            StateWrite::Upsert(update) => store.upsert(update),
            StateWrite::Delete(delete) => store.delete(delete),
        };
        let limit = patience::for_change(store);
        InFlight::Change(in_time(operation, id, limit, reply).boxed_local())
    }

    /// Returns one outcome per call, in order.
    pub(crate) fn poll(
        &mut self,
        id: &PersistenceId,
        cx: &mut Context<'_>,
    ) -> Poll<Vec<WriteOutcome>> {
        match self {
            InFlight::Change(reply) => reply.poll_unpin(cx).map(|stored| vec![outcome(stored)]),
            InFlight::Events {
                reply,
                writes,
                deadline,
            } => {
                let outcomes = match reply.poll_unpin(cx) {
                    Poll::Ready(reply) => reply.outcomes,
                    Poll::Pending => {
                        ready!(deadline.as_mut().poll(cx));
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
