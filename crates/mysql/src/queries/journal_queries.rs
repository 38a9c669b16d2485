//! The statements of the journal.

use actix_persistence_sql::{JournalStatements, SqlNames};
use sqlx::SqlStr;

use super::{CounterQueries, RowsStatement, TextStatements};

/// The statements of one journal that only this crate has, with its table names in them.
#[derive(Debug)]
pub struct JournalQueries {
    /// Number events.
    pub(crate) counters: CounterQueries,
    /// Takes over ids. Values: id, id again, writer.
    pub(crate) raise_epochs: RowsStatement,
    /// Selects the ids that were taken over. Values: ids. Rows: id, highest, deleted_to, epoch.
    pub(crate) raised: RowsStatement,
    /// Raises the highest numbers of ids whose epoch and highest number are as expected. Values: id, highest afterwards
    /// and before, epoch. Counts 2 for each that was raised, and 1 for each other.
    pub(crate) raise_highest: RowsStatement,
    /// Makes sure that ids have a row that knows their highest number, and locks it. Values: id, id again.
    pub(crate) know: RowsStatement,
    /// Removes rows without a writer and without a number. Values: ids.
    pub(crate) forget: RowsStatement,
    /// Takes over ids whose epoch and highest number are as expected. Values: id, epoch before and
    /// afterwards, highest before and afterwards, writer. Counts those that were taken over.
    pub(crate) take_over: RowsStatement,
    /// Locks ids. Values: ids. Returns: id, epoch, highest.
    pub(crate) lock: RowsStatement,
    /// Stores events without metadata. Values: id, number, ordering, slice, partition, timestamp, writer, serializer, manifest,
    /// adapter manifest, number of tags, bytes of payloads, checksum, payload.
    pub(crate) insert_events: RowsStatement,
    /// Stores events with metadata. Values: as for `insert_events`; then serializer, manifest and payload of the metadata.
    pub(crate) insert_events_with_metadata: RowsStatement,
    /// Stores tags. Values: tag, partition, ordering, slice.
    pub(crate) insert_tags: RowsStatement,
    /// Store groups by one text.
    pub(crate) text: TextStatements,
    /// A page of events. Values: see the text.
    pub(crate) page: SqlStr,
    /// A page that is within its limit of bytes as a whole. Values: see the text.
    pub(crate) whole_page: SqlStr,
    /// Tags of events. Values: id, lowest and highest number. Returns: number, tag.
    pub(crate) tags: SqlStr,
}

const RAISE_EPOCHS: &str = "\
INSERT INTO {metadata_table} (persistence_id, highest, deleted_to, swept_to, epoch, writer_uuid)
VALUES {rows}
ON DUPLICATE KEY UPDATE
    highest = GREATEST(highest, VALUES(highest)), epoch = epoch + 1, writer_uuid = VALUES(writer_uuid)";

/// Values: id, id, writer. Other tools may have put events there.
const RAISED_ROW: &str = "\
(?, COALESCE((SELECT e.sequence_nr FROM {event_table} AS e WHERE e.persistence_id = ?
              ORDER BY e.sequence_nr DESC LIMIT 1), 0), 0, 0, 1, ?)";

const RAISED: &str = "\
SELECT persistence_id, highest, deleted_to, epoch FROM {metadata_table} WHERE persistence_id IN ({rows})
ORDER BY persistence_id";

/// Raises the highest numbers of ids by an upsert, because that is the fastest fence by far: no rows of values have to
/// be made a table first. Its row carries the number that is expected as `deleted_to`. An id never seen would be
/// inserted; that counts 1, as does one that is not changed, because the driver asks for the number of rows found:
/// <https://dev.mysql.com/doc/refman/8.4/en/insert-on-duplicate.html>.
pub(super) const RAISE_HIGHEST: &str = "\
INSERT INTO {metadata_table} (persistence_id, highest, deleted_to, swept_to, epoch, writer_uuid)
VALUES {rows}
ON DUPLICATE KEY UPDATE
    highest = IF(epoch = VALUES(epoch) AND highest = VALUES(deleted_to), VALUES(highest), highest)";

/// Makes the rows of ids. Other tools may have put events there that the row does not know.
const KNOW: &str = "\
INSERT INTO {metadata_table} (persistence_id, highest, deleted_to, swept_to, epoch, writer_uuid)
VALUES {rows}
ON DUPLICATE KEY UPDATE highest = GREATEST(highest, VALUES(highest))";

const KNOWN_ROW: &str = "\
(?, COALESCE((SELECT e.sequence_nr FROM {event_table} AS e WHERE e.persistence_id = ?
              ORDER BY e.sequence_nr DESC LIMIT 1), 0), 0, 0, 0, '')";

const FORGET: &str = "\
DELETE FROM {metadata_table} WHERE persistence_id IN ({rows}) AND epoch = 0 AND highest = 0";

/// Takes ids over. It is slower than an upsert, whose changes see each other, so that it cannot change both numbers on
/// one condition; but once in the life of an incarnation. The order of the join is given, because the other one would
/// lock every row on its way.
const TAKE_OVER: &str = "\
UPDATE ({rows}) AS v
STRAIGHT_JOIN {metadata_table} AS m FORCE INDEX (PRIMARY) ON m.persistence_id = v.id
SET m.highest = v.after, m.epoch = v.raised, m.writer_uuid = v.writer
WHERE m.epoch = v.epoch AND m.highest = v.prior";

const TAKEN_ROW: &str =
    "SELECT ? AS id, ? AS epoch, ? AS raised, ? AS prior, ? AS after, ? AS writer";

const LOCK: &str = "\
SELECT persistence_id, epoch, highest FROM {metadata_table} WHERE persistence_id IN ({rows})
ORDER BY persistence_id FOR UPDATE";

pub(super) const INSERT_EVENTS: &str = "\
INSERT INTO {event_table} (persistence_id, sequence_nr, ordering, slice, partition_nr, timestamp, writer_uuid,
    serializer_id, event_manifest, adapter_manifest, tag_count, bytes, checksum, payload)
VALUES {rows}";

pub(super) const INSERT_EVENTS_WITH_METADATA: &str = "\
INSERT INTO {event_table} (persistence_id, sequence_nr, ordering, slice, partition_nr, timestamp, writer_uuid,
    serializer_id, event_manifest, adapter_manifest, tag_count, bytes, checksum, payload, metadata_serializer_id,
    metadata_manifest, metadata_payload)
VALUES {rows}";

pub(super) const INSERT_TAGS: &str = "\
INSERT INTO {tag_table} (tag, partition_nr, ordering, slice) VALUES {rows}";

/// The statements that read a page; in files of their own, so that a test can check what they read.
const PAGE: &str = include_str!("page.sql");
const WHOLE_PAGE: &str = include_str!("whole_page.sql");

/// Reads tags by the places of their events. The order of the joins and the index are given here and in what removes them:
/// with another plan a server that knows little of the tables would read all tags.
const TAGS: &str = "\
SELECT e.sequence_nr, t.tag
FROM {event_table} AS e FORCE INDEX (PRIMARY)
STRAIGHT_JOIN {tag_table} AS t FORCE INDEX ({tag_index}) ON t.partition_nr = e.partition_nr AND t.ordering = e.ordering
WHERE e.persistence_id = ? AND e.sequence_nr BETWEEN ? AND ? ORDER BY e.sequence_nr, t.tag";

/// Reads the head of an id. `LIMIT` keeps the server from merging the inner query into the outer one: MariaDB 10.11
/// does not know the columns of a merged query any more when the statement runs again.
const HEAD: &str = "\
SELECT GREATEST(COALESCE(m.highest, 0),
                COALESCE((SELECT e.sequence_nr FROM {event_table} AS e WHERE e.persistence_id = given.id
                          ORDER BY e.sequence_nr DESC LIMIT 1), 0)),
       COALESCE(m.deleted_to, 0), COALESCE(m.epoch, 0)
FROM (SELECT ? AS id LIMIT 1) AS given
LEFT JOIN {metadata_table} AS m ON m.persistence_id = given.id";

const LOCK_EPOCH: &str = "SELECT epoch FROM {metadata_table} WHERE persistence_id = ? FOR UPDATE";

const POSITION: &str = "\
SELECT epoch, writer_uuid, highest FROM {metadata_table} WHERE persistence_id = ?";

/// An id that has events but no row here was never taken over: other tools put them there.
const RAISE_DELETED_TO: &str = "\
INSERT INTO {metadata_table} (persistence_id, highest, deleted_to, swept_to, epoch, writer_uuid)
SELECT found.id, found.highest, LEAST(found.number, found.highest), 0, 0, ''
FROM (
    SELECT given.id, given.number, GREATEST(
        COALESCE((SELECT m.highest FROM {metadata_table} AS m WHERE m.persistence_id = given.id), 0),
        COALESCE((SELECT e.sequence_nr FROM {event_table} AS e WHERE e.persistence_id = given.id
                  ORDER BY e.sequence_nr DESC LIMIT 1), 0)) AS highest
    FROM (SELECT ? AS number, ? AS id LIMIT 1) AS given
    LIMIT 1
) AS found
WHERE found.highest > 0
ON DUPLICATE KEY UPDATE
    highest = GREATEST({metadata_table}.highest, VALUES(highest)),
    deleted_to = GREATEST({metadata_table}.deleted_to, VALUES(deleted_to))";

/// Locks the row, so that two that remove rows of an id come one after the other.
const UNSWEPT: &str = "\
SELECT persistence_id, deleted_to, swept_to FROM {metadata_table} WHERE persistence_id = ? FOR UPDATE";

const NEXT_UNSWEPT: &str = "\
SELECT persistence_id, deleted_to, swept_to FROM {metadata_table} WHERE unswept = 1
ORDER BY persistence_id LIMIT 1 FOR UPDATE";

const SIZES: &str = "\
SELECT sequence_nr, bytes FROM {event_table}
WHERE persistence_id = ? AND sequence_nr > ? AND sequence_nr <= ? ORDER BY sequence_nr";

const SWEEP_TAGS: &str = "\
DELETE t
FROM {event_table} AS e FORCE INDEX (PRIMARY)
STRAIGHT_JOIN {tag_table} AS t FORCE INDEX ({tag_index}) ON t.partition_nr = e.partition_nr AND t.ordering = e.ordering
WHERE e.persistence_id = ? AND e.sequence_nr > ? AND e.sequence_nr <= ?";

const SWEEP_EVENTS: &str = "\
DELETE FROM {event_table} WHERE persistence_id = ? AND sequence_nr > ? AND sequence_nr <= ?";

/// Raises `swept_to`, and never lowers it: another process may have removed more.
const SET_SWEPT_TO: &str = "\
UPDATE {metadata_table} SET swept_to = GREATEST(swept_to, ?) WHERE persistence_id = ?";

/// An id whose events record changes of a state.
pub(crate) const ADOPT: &str = "\
INSERT INTO {metadata_table} (persistence_id, highest, deleted_to, swept_to, epoch, writer_uuid)
SELECT v.id, v.highest, v.highest, v.highest, v.epoch, v.writer
FROM (SELECT ? AS id, ? AS highest, ? AS epoch, ? AS writer) AS v
ON DUPLICATE KEY UPDATE
    highest = IF({metadata_table}.epoch < 0, GREATEST({metadata_table}.highest, VALUES(highest)), {metadata_table}.highest),
    epoch = IF({metadata_table}.epoch < 0, VALUES(epoch), {metadata_table}.epoch)";

pub(crate) const EPOCH_OF: &str = "SELECT epoch FROM {metadata_table} WHERE persistence_id = ?";

/// The epoch stays and is raised, so that no writer of before can go on; that of an id without writers stays as it is.
const RESTART_NUMBERS: &str = "\
UPDATE {metadata_table}
SET highest = 0, deleted_to = 0, swept_to = 0, writer_uuid = '',
    epoch = CASE WHEN epoch > 0 THEN epoch + 1 ELSE epoch END
WHERE persistence_id = ? AND swept_to = highest";

impl JournalQueries {
    pub(crate) fn new(names: &SqlNames) -> Self {
        let rows = |text: &str, row: &str| RowsStatement::new(text, row, names);
        let columns = |text: &str, number: usize| {
            let row = format!("({})", vec!["?"; number].join(", "));
            rows(text, &row)
        };
        Self {
            counters: CounterQueries::new("{ordering_table}", names),
            raise_epochs: rows(RAISE_EPOCHS, RAISED_ROW),
            raised: rows(RAISED, "?"),
            raise_highest: rows(RAISE_HIGHEST, "(?, ?, ?, 0, ?, '')"),
            know: rows(KNOW, KNOWN_ROW),
            forget: rows(FORGET, "?"),
            take_over: RowsStatement::separated(TAKE_OVER, TAKEN_ROW, " UNION ALL ", names),
            lock: rows(LOCK, "?"),
            insert_events: columns(INSERT_EVENTS, 14),
            insert_events_with_metadata: columns(INSERT_EVENTS_WITH_METADATA, 17),
            insert_tags: columns(INSERT_TAGS, 4),
            text: TextStatements::new(names),
            page: names.fill(PAGE),
            whole_page: names.fill(WHOLE_PAGE),
            tags: names.fill(TAGS),
        }
    }
}

/// The statements that every journal has.
pub(crate) fn journal_statements(names: &SqlNames) -> JournalStatements {
    JournalStatements {
        head: names.fill(HEAD),
        lock_epoch: names.fill(LOCK_EPOCH),
        position: names.fill(POSITION),
        raise_deleted_to: names.fill(RAISE_DELETED_TO),
        unswept: names.fill(UNSWEPT),
        next_unswept: names.fill(NEXT_UNSWEPT),
        sizes: names.fill(SIZES),
        sweep_tags: names.fill(SWEEP_TAGS),
        sweep_events: names.fill(SWEEP_EVENTS),
        set_swept_to: names.fill(SET_SWEPT_TO),
        restart_numbers: names.fill(RESTART_NUMBERS),
    }
}
