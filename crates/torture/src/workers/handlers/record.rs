//! Records each operation that was asked for, and its outcome.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::mischief::Plan;

/// An operation that was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum What {
    /// A state in the place of the one before.
    Put {
        /// The id of the state.
        id: String,
        /// The plan of its handler and column.
        plan: Plan,
    },
    /// The delete of a state.
    Delete {
        /// The id of the state.
        id: String,
    },
    /// A transaction of the application.
    Transaction {
        /// The plan of its work beside its rows.
        plan: Plan,
    },
}

/// The answer to an operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Outcome {
    /// The operation is stored, at this revision or number, if it has one and the answer shows it.
    Stored(Option<u64>),
    /// The operation is certainly not stored.
    NotStored(String),
    /// The outcome is unknown.
    Unknown(String),
}

/// A record of one operation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Record {
    /// The number of the operation, which no other one has.
    pub(crate) op: i64,
    /// The operation that was asked for.
    pub(crate) what: What,
    /// The answer to it.
    pub(crate) outcome: Outcome,
    /// The time that it took.
    pub(crate) took: Duration,
}
