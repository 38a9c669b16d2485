//! The statements that every database has, in its own words.

use sqlx::SqlStr;

/// The statements of a journal that differ in nothing but their text.
///
/// Values are named in the order given here, each once.
#[derive(Clone, Debug)]
pub struct JournalStatements {
    /// The highest number ever stored of one id. Values: id. Gives one row.
    pub highest: SqlStr,
    /// Who holds an id. Values: id. Gives: epoch, writer, highest; no row for an id never seen.
    pub position: SqlStr,
    /// Raises what is deleted to the lower one of a number and the highest, never lowers it, and makes sure that the
    /// highest number outlives its event. Values: number, id. Does nothing for an id never seen.
    pub raise_deleted_to: SqlStr,
    /// What is deleted of one id, which is locked. Values: id. Gives: id, deleted_to, purged_to; no row for an id never
    /// seen.
    pub unpurged: SqlStr,
    /// Some id with deleted rows that are still there. Gives the same.
    pub next_unpurged: SqlStr,
    /// Removes the tags of the events of an id up to a number. Values: id, number.
    pub purge_tags: SqlStr,
    /// Removes the events of an id up to a number. Values: id, number.
    pub purge_events: SqlStr,
    /// Notes that the rows of an id are removed up to a number. Values: number, id.
    pub set_purged_to: SqlStr,
    /// Lets the numbers of an id start again and raises its epoch, if no row of it is left. Values: id.
    pub reset_numbers: SqlStr,
}

/// The statements of a snapshot store.
///
/// Values are named in the order given here, each once.
#[derive(Clone, Debug)]
pub struct SnapshotStatements {
    /// The youngest within bounds. Values: id, lowest and highest number, earliest and latest timestamp.
    /// Gives: number, timestamp, serializer, manifest, payload; serializer, manifest and payload of metadata.
    pub load: SqlStr,
    /// Stores or replaces. Values: id, number, slice, timestamp, serializer, manifest, payload; serializer, manifest
    /// and payload of the metadata.
    pub save: SqlStr,
    /// Deletes within bounds. Values as for `load`.
    pub delete: SqlStr,
}
