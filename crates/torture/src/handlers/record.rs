//! What was asked, and what became of it.

use std::time::Duration;

use super::mischief::Plan;

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
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
    /// An event.
    Entry {
        /// Of which id.
        id: String,
        /// Who enters it.
        client: u32,
        /// Which of the client's.
        number: u64,
    },
}

/// What the answer was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is stored, at this revision or number, if it has one and the answer tells.
    Stored(Option<u64>),
    /// It is certainly not stored.
    NotStored(String),
    /// Nobody knows.
    Unknown(String),
}

/// One operation.
#[derive(Clone, Debug)]
pub struct Record {
    /// Its number, which no other one has.
    pub op: i64,
    /// What was asked for.
    pub what: What,
    /// What the answer was.
    pub outcome: Outcome,
    /// How long it took.
    pub took: Duration,
    /// Whether all code of the application behaved at the time.
    pub is_calm: bool,
}
