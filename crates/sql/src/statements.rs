//! The statements that every database has, in its own words.

use actix_persistence_storage_api::Partition;
use sqlx::SqlStr;

use crate::{Partitions, SqlError};

/// The statements of a journal that differ in nothing but their text.
///
/// Values are named in the order given here, each once.
#[derive(Clone, Debug)]
pub struct JournalStatements {
    /// Selects the head of an id. Values: id. One row, as of one moment: highest number ever stored, deleted_to, epoch;
    /// 0 for an id that was never taken over.
    pub head: SqlStr,
    /// The epoch of an id, which is locked. Values: id. Returns no row for an id never seen.
    pub lock_epoch: SqlStr,
    /// Selects the writer of an id. Values: id. Rows: epoch, writer, highest; no row for an id never seen.
    pub position: SqlStr,
    /// Raises what is deleted to the lower one of a number and the highest, never lowers it, and makes sure that the
    /// highest number outlives its event. Values: number, id. Does nothing for an id never seen.
    pub raise_deleted_to: SqlStr,
    /// Selects the deleted range of one id, which is locked. Values: id. Rows: id, deleted_to, swept_to; no row for an
    /// id never seen.
    pub unswept: SqlStr,
    /// Selects the deleted range of some id with deleted rows that are still there. Rows: the same columns.
    pub next_unswept: SqlStr,
    /// The sizes of the events of an id after one number, up to another. Values: id, both numbers. Returns: number,
    /// bytes of the payload and of that of the metadata; in the order of the numbers.
    pub sizes: SqlStr,
    /// Removes the tags of the same events. Values: the same.
    pub sweep_tags: SqlStr,
    /// Removes the same events. Values: the same.
    pub sweep_events: SqlStr,
    /// Notes that the rows of an id are removed up to a number, just before they are. Values: number, id.
    pub set_swept_to: SqlStr,
    /// Lets the numbers of an id start again and raises its epoch, if it has one and no row is left. Values: id.
    pub restart_numbers: SqlStr,
}

/// The statements of a table of states.
///
/// Values are named in the order given here, each once. The names hold, for columns of the application, `{more_columns}`
/// and `{more_values}` for what is inserted, `{more_set}` for what is changed, and the placeholders of what comes after
/// their values: `{id_at}` and `{before_at}`.
#[derive(Clone, Debug)]
pub struct StateStatements {
    /// The state of one id. Values: id. Returns: revision, 1 if deleted and 0 if not, timestamp, tags, serializer,
    /// manifest, payload or NULL, checksum or NULL; the size of the state in bytes if that is more than it may have,
    /// and NULL otherwise; no row for an id never seen.
    pub load: SqlStr,
    /// The revision of one id, as it is now. Values: id. Returns: revision, the number of its last change in the order of commits,
    /// timestamp; no row for an id never seen.
    pub revision: SqlStr,
    /// Stores the first row of an id. Where there is one, it changes nothing, or fails.
    /// Values: id, slice; revision, 1 if deleted and 0 if not, timestamp, tags, serializer, manifest, payload or NULL,
    /// checksum; those of the application's columns.
    pub insert: SqlStr,
    /// Replaces the row of an id that has a revision, at a timestamp after that of the row.
    /// Values: as for `insert` from the revision on; id, the revision before. The id comes first where the dialect
    /// [says so](crate::StatementDialect::ID_FIRST).
    pub update: SqlStr,
    /// Replaces the row of an id at any revision. Values: as for `update` without the revision before.
    pub overwrite: SqlStr,
    /// Removes the row of an id. Values: id.
    pub remove: SqlStr,
    /// Ids in the order of their bytes. Values: the lowest, the one to begin after, 1 for deleted ones, too, the most.
    pub ids: SqlStr,
    /// The statement `ids`, for ids without an entity type.
    pub ids_without_type: SqlStr,
    /// Selects the place up to which the changes are complete: the highest number of each partition at or below which
    /// nothing is added any more; no row for one without changes. Never above the number of a change that was stored.
    ///
    /// A statement of its own, which comes before `changes` and is over by then: not every database shows one moment within a
    /// statement; see docs/adr/0005-commit-order.md.
    /// Values: entity type; where there is a numbering, none. Returns: partition, number.
    pub complete_to: SqlStr,
    /// The rows of an entity type by their last change, below which nothing is added any more, in the order of each
    /// partition, those of all partitions in turns.
    /// Values: entity type, number of the last change that was read, the number up to which changes are complete, id of the
    /// last change, first and last slice, the most; the most bytes of payloads.
    /// A store with a numbering adds the number of the last change again before the id, repeats all up to the most for each
    /// partition, and adds the most of all of them. One with [partitions](PartitionStatements) adds the number of the partition
    /// after the entity type.
    /// Returns: id, number; the rest as `load`, up to the checksum. Of what does not fit into the bytes at least one
    /// row, and the first row anyway.
    pub changes: SqlStr,
    /// The states for which `/*condition*/` holds, in the order of the bytes of their ids; no tombstones.
    /// Its values are `$lowest_at`, `$end_at`, `$limit_at` and `$bytes_at`, even where placeholders are others.
    /// Returns: id; the rest as `load`, up to the checksum. Of what does not fit into the bytes at least one row, and
    /// the first row anyway.
    pub find: SqlStr,
    /// The statement `find`, for ids without an entity type.
    pub find_without_type: SqlStr,
    /// Explains a statement that ends with `/*condition*/` and has its values, and does not run it.
    pub explain: SqlStr,
    /// The same as `insert`, `update` and `overwrite`, each after [`BEGIN`](crate::TransactionDialect::BEGIN) in one text, where work
    /// begins its transaction.
    pub beginning: Option<BeginningStatements>,
    /// The statements that assign rows their place in the order of commits; `None` if the statements above do so.
    pub numbering: Option<NumberingStatements>,
}

impl StateStatements {
    /// Returns those that number rows, where that is done at the end of their transaction.
    pub(crate) fn late_numbering(
        &self,
    ) -> Option<(&NumberingStatements, &LateNumberingStatements)> {
        let numbering = self.numbering.as_ref()?;
        Some((numbering, numbering.late.as_ref()?))
    }

    /// Returns the partitions whose counters number rows, where there are several.
    pub(crate) fn partitioned(&self) -> Option<&PartitionStatements> {
        self.numbering.as_ref()?.partitioned.as_ref()
    }

    /// Returns the partition of a slice.
    ///
    /// # Errors
    /// If their number was not read yet.
    pub(crate) fn partition_of(&self, slice: u16) -> Result<Partition, SqlError> {
        match self.partitioned() {
            Some(partitioned) => partitioned.partitions.of_slice(slice),
            None => Ok(Partition::ONLY),
        }
    }
}

/// Statements that store a row of a state, and begin the transaction.
#[derive(Clone, Debug)]
pub struct BeginningStatements {
    /// The statement [`StateStatements::insert`], after the beginning of the transaction.
    pub insert: SqlStr,
    /// The statement [`StateStatements::update`], after the beginning of the transaction.
    pub update: SqlStr,
    /// The statement [`StateStatements::overwrite`], after the beginning of the transaction.
    pub overwrite: SqlStr,
}

/// Counters that are raised within the transaction that stores a row.
///
/// See docs/adr/0005-commit-order.md.
#[derive(Clone, Debug)]
pub struct NumberingStatements {
    /// The partitions that have counters of their own; `None` if one counter numbers all rows.
    pub partitioned: Option<PartitionStatements>,
    /// Assigns the row of an id a number that was just reached. Values: the distance of that number below the highest,
    /// id.
    pub set: SqlStr,
    /// The statements that number rows as the last thing before the commit.
    ///
    /// None where one transaction writes at a time: there a second statement in the text of `insert`, `update` and `overwrite`
    /// raises the counter by 1, if the row is there with its number.
    pub late: Option<LateNumberingStatements>,
}

/// The partitions of a table, whose rows hold the number of theirs: after the slice in what
/// [`insert`](StateStatements::insert) stores.
#[derive(Clone, Debug)]
pub struct PartitionStatements {
    /// The number of partitions, read when the store is opened.
    pub partitions: Partitions,
    /// The statements [`changes`](StateStatements::changes) for 1, 2, 4, 8, .. partitions, up to
    /// [`Partition::MOST`].
    pub changes: Vec<SqlStr>,
}

/// The statements that number rows at the end of their transaction.
///
/// A row has no number from its change on until then, which nothing shows to readers: where code of the application runs
/// in between, it may commit the row without one.
#[derive(Clone, Debug)]
pub struct LateNumberingStatements {
    /// Raises a counter, and holds it until the commit. Values: by how much, its number.
    pub raise: SqlStr,
    /// The statement `set`, for [`SEVERAL`](Self::SEVERAL) rows, each with a number one lower than the one before it.
    /// Values: the distance of the first below the highest; the ids, twice. The last one may be repeated; that is the
    /// same row.
    pub set_several: SqlStr,
    /// Locks the row of an id if it has no number; fails at once if another transaction has locked it. Values: id.
    /// Returns some row; no row if it has a number, or is not there.
    pub lock_unnumbered: SqlStr,
    /// Returns 0 if the index by which changes are read was dropped, and so is not there for `unnumbered` either.
    pub has_index: SqlStr,
    /// The ids of committed rows without a number. Values: the most. Returns: id.
    pub unnumbered: SqlStr,
}

impl LateNumberingStatements {
    /// The number of ids in `set_several`.
    pub const SEVERAL: usize = 16;
}

/// The statements of a snapshot store.
///
/// Values are named in the order given here, each once.
#[derive(Clone, Debug)]
pub struct SnapshotStatements {
    /// Selects the newest snapshot within bounds. Values: id, lowest and highest number, earliest and latest timestamp.
    /// Returns: number, timestamp, serializer, manifest, payload; serializer, manifest and payload of metadata;
    /// checksum or NULL; its size in bytes if that is more than it may have, and NULL otherwise.
    pub load: SqlStr,
    /// Stores or replaces. Values: id, number, slice, timestamp, serializer, manifest, payload; serializer, manifest
    /// and payload of the metadata; checksum.
    pub save: SqlStr,
    /// Deletes within bounds. Values as for `load`.
    pub delete: SqlStr,
}
