//! The contradictions that the replay filter finds.

use std::fmt;

use actix_persistence_storage_api::{SequenceNr, WriterId};

/// An event that shows that two writers worked at the same time.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReplayIssue {
    /// The kind of the contradiction.
    pub kind: ReplayIssueKind,
    /// The number of the event.
    pub sequence_nr: SequenceNr,
    /// The writer of the event.
    pub writer: WriterId,
    /// The writer of the event that it contradicts; the same for an event out of order.
    pub other_writer: WriterId,
}

/// The way in which an event contradicts another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReplayIssueKind {
    /// The number of the event is below that of the event before it, though the id was not taken over in between.
    OutOfOrder,
    /// The writer of the event had already lost the id to another writer.
    OldWriter,
    /// The number of the event is not below that at which another writer took the id over.
    Overtaken,
}

impl fmt::Display for ReplayIssue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            kind,
            sequence_nr,
            writer,
            other_writer,
        } = self;
        write!(f, "event {sequence_nr} of writer {writer} ")?;
        match kind {
            ReplayIssueKind::OutOfOrder => {
                write!(f, "comes after a higher number of writer {other_writer}")
            }
            ReplayIssueKind::OldWriter => write!(f, "comes after writer {other_writer} took over"),
            ReplayIssueKind::Overtaken => {
                write!(
                    f,
                    "is contradicted by writer {other_writer}, who took over there or before"
                )
            }
        }
    }
}
