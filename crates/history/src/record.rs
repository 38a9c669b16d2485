//! A record: one line of a history.

use serde::{Deserialize, Serialize};

use crate::{Answer, Incarnation, Operation, Row, Table, Uid};

/// A record: one line of a history.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The time on a clock that all processes share, such as nanoseconds of `CLOCK_MONOTONIC`; only its order counts.
    ///
    /// Of two records with the same time the checker takes neither for the earlier one.
    pub at: u64,
    /// The number of the process that says so; a process that is started again gets another. 0 is the program that
    /// starts them.
    pub process: u32,
    /// The fact that the record states.
    pub what: What,
}

/// A fact that a record states.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// A process begins a call.
    Invoke {
        /// The number of the call, unique in its process.
        call: u64,
        /// The operation that is asked for.
        operation: Operation,
    },
    /// A call has ended.
    Answer {
        /// The number of the call.
        call: u64,
        /// The answer to it.
        answer: Answer,
    },
    /// A live actor knows that its event is stored: the handler of that event ran.
    Handled {
        /// The persistence id of the actor.
        id: String,
        /// The life of the actor.
        incarnation: Incarnation,
        /// The event that was handled.
        uid: Uid,
        /// The sequence number that the actor got.
        number: u64,
    },
    /// An incarnation has ended: no handler of it runs any more.
    Ended {
        /// The persistence id of the actor.
        id: String,
        /// The life of the actor.
        incarnation: Incarnation,
    },
    /// A reader begins to read.
    ReaderOpened {
        /// The number of the reader, unique in the history.
        reader: u64,
        /// The query, for people.
        query: String,
        /// True if it is to see every event; false if it is to see the last change of every state.
        every: bool,
        /// The ids that belong to its query; `None` for all that begin with the prefix.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ids: Option<Vec<String>>,
        /// The beginning of the ids that belong to its query; empty for any.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        prefix: String,
        /// The reader after whose last recorded page this one goes on; `None` to begin at the beginning.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        continues: Option<u64>,
    },
    /// A reader was shown a page.
    Shown {
        /// The number of the reader.
        reader: u64,
        /// The time before it asked for the page.
        asked_at: u64,
        /// The page that it was shown.
        page: Page,
    },
    /// A reader has come to the end, and must have been shown all that was known to be stored when it asked.
    ///
    /// To be recorded only where that is promised: as long as someone has a transaction under way, a page may say that
    /// there is no more and leave out what was stored meanwhile.
    CaughtUp {
        /// The number of the reader.
        reader: u64,
        /// The time before it asked for the last page.
        asked_at: u64,
    },
    /// The driver has done something to a process.
    Process {
        /// The number of the process.
        number: u32,
        /// The change in the life of the process.
        event: ProcessEvent,
    },
    /// The driver has done something to a database server.
    Server {
        /// The name of the server.
        name: String,
        /// The change in the life of the process.
        event: ProcessEvent,
    },
    /// A row, as it was in the end, read by plain SQL after every process had ended.
    Row(Row),
    /// Every row of this table was read and is in the history, before or after this line.
    Dumped(Table),
}

/// An event in the life of a process or a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProcessEvent {
    /// The process was started.
    Started,
    /// The process was stopped by SIGSTOP.
    Paused,
    /// The process goes on after SIGCONT.
    Continued,
    /// The process was asked to stop.
    AskedToStop,
    /// The process was killed.
    Killed,
    /// The process has ended by itself.
    Ended,
}

/// The entries that a reader was shown at once.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Page {
    /// The offset after the page as a number, if it has an order as a number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// Events or changes in the order in which they were shown.
    pub entries: Vec<Entry>,
    /// True if the query said that there is no more for now.
    ///
    /// Then it has been shown everything that was stored before any change that it was shown, unless the same id was
    /// changed again before the page was shown: that change comes later.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ended: bool,
}

/// An event or a change of a state that a reader was shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The persistence id of the actor.
    pub id: String,
    /// The sequence number of an event, or the revision of a state; 0 if a query for ids returned the id alone.
    pub number: u64,
    /// The payload; `None` for a state that was deleted.
    pub uid: Option<Uid>,
}
