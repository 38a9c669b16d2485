//! The records of a whole run.

use std::fmt;
use std::io::{self, BufRead};

use crate::Record;

/// The records of a whole run, in any order; the checker sorts them by their time.
///
/// Violations name records by their place here, from 1 on: the line of the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    /// The records, in the order of the file.
    pub records: Vec<Record>,
}

impl History {
    /// Reads one record per line; empty lines are not allowed. A last line without its end is left out.
    ///
    /// # Errors
    /// If reading fails, or a line is no record.
    pub fn read(mut lines: impl BufRead) -> Result<Self, ReadError> {
        let mut records = Vec::new();
        let mut line = Vec::new();
        loop {
            line.clear();
            lines.read_until(b'\n', &mut line).map_err(ReadError::Io)?;
            if line.pop() != Some(b'\n') {
                return Ok(Self { records });
            }
            let record = serde_json::from_slice(&line);
            records.push(record.map_err(|source| ReadError::Line {
                line: records.len() + 1,
                source,
            })?);
        }
    }
}

impl Record {
    /// Returns the record as a line of JSON, without the end of the line.
    pub fn to_line(&self) -> String {
        serde_json::to_string(self).expect("a record has only keys that JSON takes")
    }
}

/// A history could not be read.
#[derive(Debug)]
pub enum ReadError {
    /// The reader of the file failed.
    Io(io::Error),
    /// A line is no record.
    Line {
        /// The number of the line, from 1 on.
        line: usize,
        /// The reason why it is none.
        source: serde_json::Error,
    },
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(_) => write!(f, "cannot read the history"),
            Self::Line { line, .. } => write!(f, "line {line} of the history is no record"),
        }
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(source) => Some(source),
            Self::Line { source, .. } => Some(source),
        }
    }
}
