//! The lines that a worker writes on its standard output.

use actix_persistence_history::Record;
use serde::{Deserialize, Serialize};

/// A line on the standard output of a worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Line {
    /// A line of the history.
    Record(Record),
    /// An event of a name, of which the driver counts the number.
    Count {
        /// The name of the figure in the summary.
        count: String,
    },
    /// A fault that the worker sees by itself.
    Fault {
        /// A sentence that says what is wrong.
        fault: String,
    },
    /// A line that only the kind itself understands.
    Other {
        /// A value of a shape that the kind knows.
        other: serde_json::Value,
    },
}
