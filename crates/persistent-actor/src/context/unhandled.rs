//! Answers of the stores that an actor leaves to others.

use std::sync::Arc;

use crate::{DeadLetterCause, PersistentActor, PersistentContext, StoreResponse};

impl<A: PersistentActor> PersistentContext<A> {
    /// Declares that the actor does not handle an answer of a store: a failure becomes a [dead
    /// letter](DeadLetterCause::StoreFailure), a success is forgotten.
    ///
    /// For an [`on_store_response`](PersistentActor::on_store_response) that takes care of some answers only; the
    /// provided one calls it with all of them.
    pub fn unhandled(&mut self, response: StoreResponse) {
        if response.error().is_some() {
            let cause = DeadLetterCause::StoreFailure(Arc::new(response));
            let dead_letters = &self.environment.dead_letters;
            dead_letters.publish(&self.persistence_id, cause);
        }
    }
}
