//! The rows that are stored in the end.

use serde::{Deserialize, Serialize};

use crate::Uid;

/// A row, as plain SQL shows it after everything has ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Row {
    /// An event in the journal.
    Event {
        /// The persistence id of the actor.
        id: String,
        /// The sequence number.
        number: u64,
        /// The event that is stored.
        uid: Uid,
    },
    /// The numbers at which an id stands.
    Head {
        /// The persistence id of the actor.
        id: String,
        /// The highest number ever stored.
        highest: u64,
        /// The highest number that is deleted.
        deleted_to: u64,
    },
    /// A snapshot in the snapshot store.
    Snapshot {
        /// The persistence id of the actor.
        id: String,
        /// The number of the last event that it covers.
        number: u64,
        /// The digest of the state in it; see [`fold`](crate::fold).
        digest: u64,
    },
    /// A state, or what is left of a deleted one.
    State {
        /// The persistence id of the actor.
        id: String,
        /// The revision of the state.
        revision: u64,
        /// The state; `None` if it is deleted.
        uid: Option<Uid>,
    },
    /// The row that a change handler wrote in the transaction of a change, or a change event: one row per change.
    Change {
        /// The table, for people.
        table: String,
        /// The persistence id of the state.
        id: String,
        /// The revision of the change.
        revision: u64,
        /// The uid of the [`Operation`](crate::Operation) that stored or deleted the state; `None` if the row does not
        /// hold it.
        uid: Option<Uid>,
    },
}

/// The table that rows belong to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Table {
    /// Holds each [`Row::Event`].
    Events,
    /// Holds each [`Row::Head`].
    Heads,
    /// Holds each [`Row::Snapshot`].
    Snapshots,
    /// Holds each [`Row::State`].
    States,
    /// Holds each [`Row::Change`] of one table. Rows of ids whose states were removed altogether may be there or not.
    Changes {
        /// The name of the table.
        table: String,
        /// The beginning of the ids whose every change has a row in it; empty for all states of the history.
        prefix: String,
    },
}
