//! The part of a dialect with the statements that every database has.

use super::Driver;
use crate::{
    EventQueryStatements, JournalStatements, SnapshotStatements, SqlNames, StateStatements,
};

/// The statements that the stores use under the same names on every database.
pub trait StatementDialect: Driver {
    /// The statements that are used as they are here.
    fn journal_statements(names: &SqlNames) -> JournalStatements;

    /// The statements that query the events of a journal.
    fn event_query_statements(names: &SqlNames) -> EventQueryStatements;

    /// The same of the snapshot store.
    fn snapshot_statements(names: &SqlNames) -> SnapshotStatements;

    /// The same of a table of states.
    fn state_statements(names: &SqlNames) -> StateStatements;

    /// True if the id comes first in the values of the statements that replace a row of a state.
    ///
    /// A second statement in such a text that names the id would bind all values before it once more.
    const ID_FIRST: bool = false;

    /// The end of the `SET` of a statement that replaces the row of a state, where code of the application runs in the same
    /// transaction: takes the number of the row away, if that is [given late](crate::LateNumberingStatements).
    const TAKE_NUMBER: &'static str = "";

    /// The texts by which a journal stores events of changes of states.
    const CHANGE_EVENTS: ChangeEventTexts;
}

/// The texts about ids whose events record changes of states: in the table `{metadata_table}`, their epoch is negative.
#[derive(Clone, Copy, Debug)]
pub struct ChangeEventTexts {
    /// Makes the row of an id, or raises its highest number to the one to follow on; leaves rows with other epochs alone.
    /// Values: id, highest number, epoch, writer.
    pub adopt: &'static str,
    /// Values: id. Returns: epoch; no row for an id that the journal does not know.
    pub epoch_of: &'static str,
}
