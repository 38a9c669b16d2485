//! The answer to a call.

use serde::{Deserialize, Serialize};

use crate::Uid;
use crate::record::Entry;

/// The answer to a call; a call without one counts as answered `Unknown`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The call has done what was asked.
    Ok(Done),
    /// The call certainly was not done and will not be, and its caller goes on.
    Rejected,
    /// The call certainly was not done and will not be; an actor that gets this answer to a write ends.
    Failed,
    /// The call may have been done, or be done later, whole and once; an actor that gets this answer to a write ends.
    Unknown,
}

/// The result of a call that is done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Done {
    /// The call has no result beyond its success.
    Done,
    /// The call stored events.
    Persisted {
        /// The number of the first; the others follow on it.
        first: u64,
    },
    /// An id was read.
    Recovered(Recovered),
    /// A state was stored or deleted.
    Changed {
        /// The revision that it got.
        revision: u64,
    },
    /// A state was read.
    Loaded {
        /// The revision; 0 for an id never seen.
        revision: u64,
        /// The state; `None` for one that is deleted, or was never there.
        uid: Option<Uid>,
    },
    /// A query was answered.
    Listed(Listed),
}

/// The events and the state that a recovery, or a replay, saw.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Recovered {
    /// The highest number that it knows afterwards.
    pub highest: u64,
    /// The highest deleted number, if the answer names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted_to: Option<u64>,
    /// The number of the snapshot it began with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<u64>,
    /// The digest of the state in that snapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot_digest: Option<u64>,
    /// The numbers and events that it saw, in the order in which they came.
    ///
    /// They begin after the snapshot, or lower where the state itself remembers more. `None` if the actor did not
    /// record it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<Vec<(u64, Uid)>>,
    /// The digest of the state afterwards; see [`fold`](crate::fold).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<u64>,
}

/// The states that a query returned.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Listed {
    /// The states that were returned.
    pub entries: Vec<Entry>,
}
