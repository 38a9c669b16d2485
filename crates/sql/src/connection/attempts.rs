//! Attempts at work that a database may refuse for now.

use std::time::Duration;

use actix_persistence_storage_api::{BackOff, Effect, Operation, StorageError};

use crate::{Connector, SqlError, TransactionDialect, classify};

/// An error, and what is certain about the work it ended.
pub(super) struct Failed {
    pub(super) error: SqlError,
    pub(super) effect: Effect,
}

impl Failed {
    pub(super) fn not_stored(error: SqlError) -> Self {
        let effect = Effect::NotStored;
        Self { error, effect }
    }

    pub(super) fn unknown(error: SqlError) -> Self {
        let effect = Effect::Unknown;
        Self { error, effect }
    }

    pub(super) fn of<C: Connector>(error: SqlError) -> Self {
        let effect = error.effect::<C::Dialect>();
        Self { error, effect }
    }
}

const SHORTEST_DELAY: Duration = Duration::from_millis(5);
const LONGEST_DELAY: Duration = Duration::from_millis(100);

/// Tries work again that certainly stored nothing, where the database says that this helps.
pub(super) struct Attempts<I> {
    /// The input of the work. `None` when the last attempt has it: its parts are not shared then, so that they need not
    /// be copied.
    input: Option<I>,
    left: u32,
    back_off: BackOff,
}

impl<I: Clone> Attempts<I> {
    pub(super) fn new<C: Connector>(input: I) -> Self {
        Self {
            input: Some(input),
            left: C::Dialect::ATTEMPTS,
            back_off: BackOff::new(SHORTEST_DELAY, LONGEST_DELAY, 0.5),
        }
    }

    /// Returns the input of the next attempt.
    pub(super) fn input(&mut self) -> I {
        self.left = self.left.saturating_sub(1);
        let input = if self.left > 0 {
            self.input.clone()
        } else {
            self.input.take()
        };
        input.expect("there is no attempt after the last one")
    }

    /// Returns what the caller gets; none, after a moment, if there is another attempt.
    pub(super) async fn end<C: Connector, T>(
        &mut self,
        operation: Operation,
        result: Result<T, Failed>,
    ) -> Option<Result<T, StorageError>> {
        let Failed { error, effect } = match result {
            Ok(value) => return Some(Ok(value)),
            Err(failed) => failed,
        };
        let again = effect == Effect::NotStored
            && error.may_be_tried_again::<C::Dialect>()
            && self.left > 0;
        if !again {
            return Some(Err(classify::<C::Dialect>(operation, effect, error)));
        }
        tokio::time::sleep(self.back_off.next_delay()).await;
        None
    }
}
