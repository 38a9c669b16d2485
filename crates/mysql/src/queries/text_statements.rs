//! The parts of the text that stores a group in one trip to the server.

use actix_persistence_sql::SqlNames;
use sqlx::SqlStr;

use super::counter_queries::{RAISE_MANY, RAISE_ONE};
use super::journal_queries::{
    INSERT_EVENTS, INSERT_EVENTS_WITH_METADATA, INSERT_TAGS, RAISE_HIGHEST,
};
use super::{BEFORE_NEXT, BEGIN};

/// The parts of each statement around its values, in the order of the text.
#[derive(Debug)]
pub(crate) struct TextStatements {
    /// The beginning of the transaction, and the raise of the highest numbers, around its rows.
    pub(crate) begin_and_raise: [SqlStr; 2],
    /// The numbering of events of one partition: before and after their number, and after the partition.
    pub(crate) number_one: [SqlStr; 3],
    /// The numbering of events of several partitions: before and after the cases, and after the partitions.
    pub(crate) number_many: [SqlStr; 3],
    /// The subselect of the newest number of a partition, around the partition.
    pub(crate) newest: [SqlStr; 2],
    /// The insert of events, before its rows.
    pub(crate) insert_events: SqlStr,
    /// The insert of events with metadata, before its rows.
    pub(crate) insert_events_with_metadata: SqlStr,
    /// The insert of tags, before its rows.
    pub(crate) insert_tags: SqlStr,
}

impl TextStatements {
    pub(super) fn new(names: &SqlNames) -> Self {
        Self {
            begin_and_raise: around(&format!("{BEGIN}; {RAISE_HIGHEST}"), names),
            number_one: around(RAISE_ONE, names),
            number_many: around(RAISE_MANY, names),
            newest: around(
                "(SELECT newest FROM {ordering_table} WHERE partition_nr = {rows})",
                names,
            ),
            insert_events: before(INSERT_EVENTS, names),
            insert_events_with_metadata: before(INSERT_EVENTS_WITH_METADATA, names),
            insert_tags: before(INSERT_TAGS, names),
        }
    }
}

/// Returns the parts of a text around its `N - 1` placeholders for values.
fn around<const N: usize>(text: &str, names: &SqlNames) -> [SqlStr; N] {
    let text = text.replace("{counters}", "{ordering_table}");
    let text = text.replace("{before_next}", BEFORE_NEXT);
    let text = ["{cases}", "{several}", "?"]
        .iter()
        .fold(text, |text, placeholder| text.replace(placeholder, VALUES));
    let mut parts = text.split(VALUES).map(|part| names.fill(part));
    std::array::from_fn(|_| {
        parts
            .next()
            .expect("a text has a part after each placeholder")
    })
}

fn before(text: &str, names: &SqlNames) -> SqlStr {
    let [before, _] = around(text, names);
    before
}

const VALUES: &str = "{rows}";
