//! The texts that store a group and hold its transaction, from the beginning to the commit.

use actix_persistence_sql::SqlNames;

use super::journal_queries::{
    EVENT_VALUES, INSERT_EVENTS, INSERT_EVENTS_WITH_METADATA, INSERT_TAGS, TAG_VALUES,
    WITH_METADATA,
};
use super::{BEGIN, COMMIT, RowsStatement};

/// The place of a text in the transaction of a group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextPart {
    /// True if the transaction begins with it.
    pub(crate) begins: bool,
    /// True if it commits the transaction.
    pub(crate) commits: bool,
}

impl TextPart {
    /// Returns the part of the text at this place, from 0, of so many.
    pub(crate) fn of(place: usize, texts: usize) -> Self {
        Self {
            begins: place == 0,
            commits: place + 1 == texts,
        }
    }

    /// Returns the number of statements of a text that has so many of its own.
    pub(crate) fn statements(self, own: usize) -> usize {
        let of_commit = if self.commits {
            STATEMENTS_OF_COMMIT
        } else {
            0
        };
        usize::from(self.begins) + own + of_commit
    }

    fn index(self) -> usize {
        2 * usize::from(self.begins) + usize::from(self.commits)
    }
}

/// The number of statements of the commit; see [`COMMIT`].
const STATEMENTS_OF_COMMIT: usize = 2;

/// The texts of all parts of a transaction that stores a group.
#[derive(Debug)]
pub(crate) struct AtOnceStatements {
    events: [RowsStatement; 4],
    events_with_metadata: [RowsStatement; 4],
    tags: [RowsStatement; 4],
}

/// Ends the text with an error ([`is_unexpected`](crate::error::is_unexpected)) unless the epochs and highest numbers of
/// ids are as expected: the lowest integer has no absolute value. A row without an id, and with zeros, is as expected.
const CHECK_HEADS: &str = "\
SELECT 1
FROM (VALUES {heads}) AS v
LEFT JOIN {metadata_table} AS m ON m.persistence_id = v.column1
WHERE abs(CASE
    WHEN COALESCE(m.epoch, 0) IS v.column2
     AND MAX(COALESCE(m.highest, 0),
             COALESCE((SELECT MAX(e.sequence_nr) FROM {event_table} AS e WHERE e.persistence_id = v.column1), 0))
         IS v.column3
    THEN 0 ELSE -9223372036854775808 END)";

/// Ends the text with the same error unless all rows were inserted: triggers of others may leave some out.
const CHECK_NUMBER: &str =
    "SELECT 1 WHERE abs(CASE changes() WHEN {number} THEN 0 ELSE -9223372036854775808 END)";

impl AtOnceStatements {
    /// The number of statements that store events, in every part.
    pub(crate) const OF_EVENTS: usize = 3;
    /// The place of the one that inserts them.
    pub(crate) const INSERT: usize = 1;
    /// The number of statements that store tags, in every part.
    pub(crate) const OF_TAGS: usize = 1;

    pub(super) fn new(names: &SqlNames) -> Self {
        let events = |insert: &str, columns: usize| {
            let text = format!("{CHECK_HEADS}; {insert}; {CHECK_NUMBER}");
            parts(&text, &[("{heads}", 3), ("{rows}", columns)], names)
        };
        Self {
            events: events(INSERT_EVENTS, EVENT_VALUES),
            events_with_metadata: events(INSERT_EVENTS_WITH_METADATA, WITH_METADATA),
            tags: parts(INSERT_TAGS, &[("{rows}", TAG_VALUES)], names),
        }
    }

    /// Returns the text that stores events. Values: for each event the id, the epoch and the number before, if it is the
    /// first one of its id, or NULL and zeros; then as for `insert_events`.
    pub(crate) fn events(&self, part: TextPart, with_metadata: bool) -> &RowsStatement {
        let texts = if with_metadata {
            &self.events_with_metadata
        } else {
            &self.events
        };
        &texts[part.index()]
    }

    /// Returns the text that stores tags. Values: as for `insert_tags`.
    pub(crate) fn tags(&self, part: TextPart) -> &RowsStatement {
        &self.tags[part.index()]
    }
}

/// Returns the text with each part of a transaction around it, by [`TextPart::index`].
fn parts(text: &str, lists: &[(&'static str, usize)], names: &SqlNames) -> [RowsStatement; 4] {
    [(false, false), (false, true), (true, false), (true, true)].map(|(begins, commits)| {
        let before = if begins {
            format!("{BEGIN}; ")
        } else {
            String::new()
        };
        let after = if commits {
            format!("; {COMMIT}")
        } else {
            String::new()
        };
        RowsStatement::of_lists(&format!("{before}{text}{after}"), lists, names)
    })
}
