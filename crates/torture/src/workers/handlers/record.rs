//! What was asked, and what became of it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::mischief::Plan;

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum What {
    /// A state in the place of the one before.
    Put {
        /// Of which id.
        id: String,
        /// What its handler and column do.
        plan: Plan,
    },
    /// The delete of a state.
    Delete {
        /// Of which id.
        id: String,
    },
    /// A transaction of the application.
    Transaction {
        /// What is done in it beside its rows.
        plan: Plan,
    },
}

/// What the answer was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Outcome {
    /// It is stored, at this revision or number, if it has one and the answer tells.
    Stored(Option<u64>),
    /// It is certainly not stored.
    NotStored(String),
    /// Nobody knows.
    Unknown(String),
}

/// One operation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Record {
    /// Its number, which no other one has.
    pub(crate) op: i64,
    /// What was asked for.
    pub(crate) what: What,
    /// What the answer was.
    pub(crate) outcome: Outcome,
    /// How long it took.
    pub(crate) took: Duration,
}
