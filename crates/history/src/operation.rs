//! The calls that a process makes.

use serde::{Deserialize, Serialize};

use crate::{Incarnation, Uid};

/// A call that a process makes to an actor or a store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// An actor with events recovers. Answered by [`Done::Recovered`](crate::Done::Recovered).
    Recover {
        /// The persistence id of the actor.
        id: String,
        /// The life that begins with it.
        incarnation: Incarnation,
        /// True if it takes its id over before it looks, so that nothing sent earlier can be stored afterwards.
        fences: bool,
    },
    /// An actor persists one event, or several as one batch: all of them are stored, one after the other, or none.
    ///
    /// Answered by [`Done::Persisted`](crate::Done::Persisted) when its handlers have run.
    Persist {
        /// The persistence id of the actor.
        id: String,
        /// The life of the actor.
        incarnation: Incarnation,
        /// The events; the place of each in its batch is its place here. Each is persisted once in a history.
        uids: Vec<Uid>,
    },
    /// Someone sends a command to an actor, which answers when its event is stored.
    ///
    /// Answered by [`Done::Persisted`](crate::Done::Persisted). The actor itself may report the same event.
    Ask {
        /// The persistence id of the actor.
        id: String,
        /// The number of the sender; its commands are handled in order. Unique in the history.
        sender: u64,
        /// The uid of the event that the command leads to; a command that is sent again leads to a new one.
        uid: Uid,
    },
    /// Events up to a number, inclusive, are deleted. Answered by [`Done::Done`](crate::Done::Done).
    DeleteEvents {
        /// The persistence id of the actor.
        id: String,
        /// The highest number that is deleted.
        to: u64,
        /// True if retention deletes what a snapshot covers, so that a snapshot from `to` on must be there.
        covered: bool,
    },
    /// From now on retention may delete the events up to a number, once a snapshot of them is stored: said before the
    /// snapshot is saved. It has no answer. The delete itself may be recorded besides, when it is done.
    Retain {
        /// The persistence id of the actor.
        id: String,
        /// The highest number that may be deleted.
        to: u64,
    },
    /// The delete of all events of an id, whose numbers start again at 1; while there is no writer.
    ResetEvents {
        /// The persistence id of the actor.
        id: String,
    },
    /// Events are read by someone other than an actor that recovers. Answered by
    /// [`Done::Recovered`](crate::Done::Recovered).
    Replay {
        /// The persistence id of the actor.
        id: String,
    },
    /// A snapshot is saved. Answered by [`Done::Done`](crate::Done::Done).
    SaveSnapshot {
        /// The persistence id of the actor.
        id: String,
        /// The incarnation: the life of the actor that saves it.
        incarnation: Incarnation,
        /// The number of the last event that it covers.
        number: u64,
        /// The digest of the state in it; see [`fold`](crate::fold).
        digest: u64,
    },
    /// Snapshots are deleted. Answered by [`Done::Done`](crate::Done::Done).
    DeleteSnapshots {
        /// The persistence id of the actor.
        id: String,
        /// The lowest number that is deleted.
        from: u64,
        /// The highest number that is deleted.
        to: u64,
    },
    /// A state is stored in the place of the one before. Answered by [`Done::Changed`](crate::Done::Changed).
    Upsert {
        /// The persistence id of the actor.
        id: String,
        /// The life of the actor, or the writer.
        incarnation: Incarnation,
        /// The revision, if it is known before it is stored.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        revision: Option<u64>,
        /// The state that is stored.
        uid: Uid,
    },
    /// A state is deleted, which takes a revision. Answered by [`Done::Changed`](crate::Done::Changed).
    DeleteState {
        /// The persistence id of the actor.
        id: String,
        /// The life of the actor, or the writer that deletes.
        incarnation: Incarnation,
        /// The revision, if it is known before the delete.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        revision: Option<u64>,
        /// The id of this delete.
        uid: Uid,
    },
    /// Every trace of a state is removed, and its revisions start again at 1; while there is no writer.
    ResetState {
        /// The persistence id of the actor.
        id: String,
    },
    /// A state is read, or its actor recovers. Answered by [`Done::Loaded`](crate::Done::Loaded).
    Load {
        /// The persistence id of the actor.
        id: String,
        /// The life that begins with it; `None` if it is only read.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        incarnation: Option<Incarnation>,
    },
    /// States are looked for by a query that returns each as it is now. Answered by
    /// [`Done::Listed`](crate::Done::Listed).
    List {
        /// The query, for people.
        query: String,
        /// The ids that belong to its answer as long as they have a state; `None` for all that begin with the prefix.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ids: Option<Vec<String>>,
        /// The beginning of the ids that belong to its answer; empty for any.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        prefix: String,
    },
}
