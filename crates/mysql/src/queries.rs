//! Every SQL text of the crate; the tables are made by the files in `migrations`.
//!
//! Each runs on MySQL 8 and on MariaDB 10.11, by the manuals of both: nothing is returned by what writes, `VALUES()` is
//! what an upsert would have inserted, and ids and tags are bytes.

mod counter_queries;
mod event_queries;
mod journal_queries;
mod projection_queries;
mod rows;
mod snapshot_queries;
mod state_queries;
mod text_statements;

use actix_persistence_sql::{
    ChangeEventTexts, EventQueryStatements, JournalStatements, Partitions, SnapshotStatements,
    SqlNames, StateStatements, StatementDialect,
};
use actix_persistence_storage_api::Partition;
use sqlx::SqlStr;

use crate::Mysql;

pub(crate) use counter_queries::CounterQueries;
pub use journal_queries::JournalQueries;
pub(crate) use rows::{LARGEST, MANY_BYTES, RowsStatement, chunk_sizes, sendable_sizes};
pub(crate) use state_queries::StateQueries;
pub(crate) use text_statements::TextStatements;

impl StatementDialect for Mysql {
    const CHANGE_EVENTS: ChangeEventTexts = ChangeEventTexts {
        adopt: journal_queries::ADOPT,
        epoch_of: journal_queries::EPOCH_OF,
    };

    const TAKE_NUMBER: &'static str = state_queries::TAKE_NUMBER;

    fn journal_statements(names: &SqlNames) -> JournalStatements {
        journal_queries::journal_statements(names)
    }

    fn event_query_statements(names: &SqlNames) -> EventQueryStatements {
        event_queries::event_query_statements(names)
    }

    fn snapshot_statements(names: &SqlNames) -> SnapshotStatements {
        snapshot_queries::snapshot_statements(names)
    }

    fn state_statements(names: &SqlNames) -> StateStatements {
        state_queries::state_statements(names)
    }
}

/// Returns the partitions of the tables with these names.
fn partitions_of(names: &SqlNames) -> Partitions {
    let partitions = names.partitions();
    partitions
        .expect("all names of this crate have partitions")
        .clone()
}

/// Returns statements for 1, 2, 4, 8, .. partitions: those that are left over are bound so that they find nothing, or are the
/// same once more.
fn powers_of_partitions(statement: impl Fn(usize) -> SqlStr) -> Vec<SqlStr> {
    let powers = 0..=Partition::MOST.ilog2();
    powers.map(|power| statement(1 << power)).collect()
}

/// Begins a transaction, at the isolation level of the session.
pub(crate) const BEGIN: &str = "START TRANSACTION";
pub(crate) const BEGIN_READING: &str = "START TRANSACTION READ ONLY";
pub(crate) const COMMIT: &str = "COMMIT";
pub(crate) const ROLLBACK: &str = "ROLLBACK";

/// The number before the next one of a counter: the newest, but never below the microseconds since 1970 by the server's clock.
///
/// A server without a binary log shows a commit before its log is on the disk. What a crash takes back was perhaps read, and
/// must not be numbered again: a reader that has passed that number would not get what has it then. So it is with the
/// numbers of a counter that was restored from a backup, or of a server that took over from one that had stored more.
pub(crate) const BEFORE_NEXT: &str =
    "GREATEST(newest, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)))";

/// Selects the facts about a server. Rows: version, largest packet, when the log is flushed, whether there is a binary
/// log and when it is flushed, whether nothing can be written, how rows are replicated, the number of the session,
/// and the client's end of it, empty where the server does not report it.
///
/// Casts make numbers signed and texts no bytes, whatever the server has for types.
pub(crate) const SERVER: &str = "\
SELECT CONVERT(VERSION() USING utf8mb4), CAST(@@max_allowed_packet AS SIGNED),
       CAST(@@innodb_flush_log_at_trx_commit AS SIGNED), CAST(@@log_bin AS SIGNED), CAST(@@sync_binlog AS SIGNED),
       COALESCE(CONVERT(@@read_only USING utf8mb4), ''), CONVERT(@@binlog_format USING utf8mb4),
       CAST(CONNECTION_ID() AS SIGNED),
       COALESCE((SELECT CONVERT(p.host USING utf8mb4) FROM information_schema.processlist AS p
                 WHERE p.id = CONNECTION_ID()), '')";

/// Selects what only the driver's connection can change, and what statements of the store depend on: the database in which
/// tables are found, the rules for values, the limits of answers, the encoding of texts, and whether replicas learn of it.
pub(crate) const FACTS_OF_SESSION: &str = "\
SELECT '{nonce}' AS nonce, DATABASE() AS `database`, @@SESSION.sql_mode AS sql_mode,
       CAST(@@SESSION.unique_checks AS CHAR) AS unique_checks,
       CAST(@@SESSION.foreign_key_checks AS CHAR) AS foreign_key_checks,
       CAST(@@SESSION.sql_select_limit AS CHAR) AS sql_select_limit,
       @@SESSION.character_set_client AS character_set_client,
       @@SESSION.character_set_connection AS character_set_connection,
       CAST(@@SESSION.sql_log_bin AS CHAR) AS sql_log_bin";

/// Finds a session, unless its number belongs to another one by now. Values: number, the client's end of it.
pub(crate) const FIND_SESSION: &str = "\
SELECT CAST(p.id AS SIGNED) FROM information_schema.processlist AS p WHERE p.id = ? AND CONVERT(p.host USING utf8mb4) = ?";
/// Ends a session with all that it does and holds.
pub(crate) const END_SESSION: &str = "KILL {session}";

/// Sets everything that must not depend on the server or the user, with `{..}` for the time limits.
///
/// A transaction reads what others have committed, statement by statement, and never locks gaps. What is too long or too
/// large is an error instead of being cut off. A commit neither begins another transaction nor ends the session, and keys are
/// checked although the server may be set up for imports. Time-outs are those of row locks, of tables that are being changed, and of a
/// session whose client is gone without a word.
pub(crate) const SET_SESSION: &str = "\
SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
SET SESSION TRANSACTION READ WRITE;
SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', SESSION autocommit = 1,
    SESSION completion_type = 0, SESSION unique_checks = 1, SESSION foreign_key_checks = 1,
    SESSION innodb_lock_wait_timeout = {lock_seconds}, SESSION lock_wait_timeout = {lock_seconds},
    SESSION wait_timeout = {idle_seconds}, SESSION sql_select_limit = 18446744073709551615, SESSION sql_safe_updates = 0,
    SESSION sql_big_selects = 1";
/// Limits the time of a statement: on MariaDB of any, and a transaction may not wait for its client for longer either.
pub(crate) const LIMIT_MARIADB: &str = "\
SET SESSION max_statement_time = {statement_seconds}, SESSION idle_transaction_timeout = {transaction_seconds}";
/// Limits the time of a statement: on MySQL only of one that reads.
pub(crate) const LIMIT_MYSQL: &str = "SET SESSION max_execution_time = {statement_milliseconds}";

/// Restores the other settings that functions may change and that statements of the store depend on, and releases their
/// locks. Each server takes the comment that is meant for it:
/// <https://mariadb.com/docs/server/reference/sql-statements/comment-syntax>.
pub(crate) const RESTORE_SESSION: &str = "\
SET SESSION time_zone = DEFAULT
    /*M! , SESSION max_statement_time = {statement_seconds}, SESSION idle_transaction_timeout = {transaction_seconds} */
    /*!80000 , SESSION max_execution_time = {statement_milliseconds} */;
DO RELEASE_ALL_LOCKS()";

pub(crate) const MAX_ALLOWED_PACKET: &str = "SELECT CAST(@@max_allowed_packet AS SIGNED)";

/// Lets one session of a database make tables; ends with the session, and does not wait. Returns 1 if it got the lock.
///
/// A name may have 64 bytes, as the name of a database may.
pub(crate) const TRY_LOCK_SCHEMA: &str = "\
SELECT CAST(GET_LOCK(CONCAT('actix_persistence.', MD5(DATABASE())), 0) AS SIGNED)";

/// Lifts the limit on the time of a statement, which MySQL has only for one that reads. The limit on waiting for a lock
/// stays: until an index has the one on its table, every other statement on the table waits behind it.
pub(crate) const WITHOUT_LIMIT: &str =
    "SET SESSION sql_safe_updates = 0 /*M! , SESSION max_statement_time = 0 */";
pub(crate) const CREATE_INDEX: [&str; 2] = [
    "ALTER TABLE {table} ADD INDEX {index} (",
    "), ALGORITHM = INPLACE, LOCK = NONE",
];
pub(crate) const DROP_INDEX: &str =
    "ALTER TABLE {table} DROP INDEX {index}, ALGORITHM = INPLACE, LOCK = NONE";
/// Selects 1 if there is such an index; one that was interrupted is gone.
pub(crate) const INDEX_STATE: &str = "\
SELECT CAST(1 AS SIGNED) FROM information_schema.statistics
WHERE table_schema = DATABASE() AND table_name = TRIM(BOTH '`' FROM '{table}') AND CONCAT('`', index_name, '`') = '{index}'
LIMIT 1";

/// The table of versions, with a row for the journal, one for the snapshot store, and one for the state store of each
/// set of table names in the database.
pub(crate) const CREATE_VERSION_TABLE: &str = "\
CREATE TABLE IF NOT EXISTS {version_table} (
    table_name   VARCHAR(64)  NOT NULL PRIMARY KEY,
    other_tables VARCHAR(255) NOT NULL,
    component    VARCHAR(64)  NOT NULL,
    version      BIGINT       NOT NULL
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin";
pub(crate) const SELECT_VERSION: &str = "\
SELECT component, version, other_tables FROM {version_table} WHERE table_name = ?";
pub(crate) const SELECT_STEPS: &str = "\
SELECT version, other_tables FROM {version_table} WHERE component = ? ORDER BY version";
pub(crate) const FORGET_VERSION: &str = "DELETE FROM {version_table} WHERE table_name = ?";
pub(crate) const SET_VERSION: &str = "\
INSERT INTO {version_table} (table_name, other_tables, component, version) VALUES (?, ?, ?, ?)
ON DUPLICATE KEY UPDATE version = VALUES(version), other_tables = VALUES(other_tables)";
/// A bare `table_name` is compared with a constant, here and below: so the server looks at this one table, and not at all
/// tables of the database. It compares as it does for names in statements.
pub(crate) const TABLE_EXISTS: &str = "\
SELECT COUNT(*) FROM information_schema.tables
WHERE table_schema = DATABASE() AND table_name = ?";

pub(crate) const COLUMNS: &str = "\
SELECT CAST(column_name AS CHAR), CAST(column_type AS CHAR) FROM information_schema.columns
WHERE table_schema = DATABASE() AND table_name = ?";

/// Changes nothing, but fails if the user lacks a privilege of the journal, or if the server is read only.
pub(crate) const TRY_JOURNAL: &[&str] = &[
    "INSERT INTO {event_table} (persistence_id, sequence_nr, ordering, slice, partition_nr, timestamp, writer_uuid,
         serializer_id, event_manifest, adapter_manifest, tag_count, bytes, checksum, payload)
     SELECT persistence_id, sequence_nr, ordering, slice, partition_nr, timestamp, writer_uuid, serializer_id,
         event_manifest, adapter_manifest, tag_count, bytes, checksum, payload
     FROM {event_table} WHERE 1 = 0",
    "INSERT INTO {tag_table} (tag, partition_nr, ordering, slice)
     SELECT tag, partition_nr, ordering, slice FROM {tag_table} WHERE 1 = 0",
    "INSERT INTO {metadata_table} (persistence_id, highest, deleted_to, swept_to, epoch, writer_uuid)
     SELECT persistence_id, highest, deleted_to, swept_to, epoch, writer_uuid FROM {metadata_table} WHERE 1 = 0",
    "UPDATE {metadata_table} SET highest = highest WHERE 1 = 0",
    "UPDATE {ordering_table} SET newest = newest WHERE 1 = 0",
    "DELETE FROM {event_table} WHERE 1 = 0",
    "DELETE FROM {tag_table} WHERE 1 = 0",
];

/// The statements of [`TRY_JOURNAL`] for a snapshot store.
pub(crate) const TRY_SNAPSHOT_STORE: &[&str] = &[
    "INSERT INTO {snapshot_table} (persistence_id, sequence_nr, slice, timestamp, serializer_id, manifest,
         checksum, payload)
     SELECT persistence_id, sequence_nr, slice, timestamp, serializer_id, manifest, checksum, payload
     FROM {snapshot_table} WHERE 1 = 0",
    "UPDATE {snapshot_table} SET timestamp = timestamp WHERE 1 = 0",
    "DELETE FROM {snapshot_table} WHERE 1 = 0",
];

/// The same of an offset store.
pub(crate) const TRY_OFFSET_STORE: &[&str] = &[
    "INSERT INTO {projection_table} (name, version, epoch, paused, live)
     SELECT name, version, epoch, paused, live FROM {projection_table} WHERE 1 = 0",
    "UPDATE {projection_table} SET epoch = epoch WHERE 1 = 0",
    "DELETE FROM {projection_table} WHERE 1 = 0",
    "INSERT INTO {share_table} (name, version, share_nr, epoch, attempts, progress, halted, handled, reached_at)
     SELECT name, version, share_nr, epoch, attempts, progress, halted, handled, reached_at
     FROM {share_table} WHERE 1 = 0",
    "UPDATE {share_table} SET epoch = epoch WHERE 1 = 0",
    "DELETE FROM {share_table} WHERE 1 = 0",
    "INSERT INTO {lease_table} (name, version, share_nr, owner, expires)
     SELECT name, version, share_nr, owner, expires FROM {lease_table} WHERE 1 = 0",
    "UPDATE {lease_table} SET expires = expires WHERE 1 = 0",
    "DELETE FROM {lease_table} WHERE 1 = 0",
    "INSERT INTO {member_table} (name, version, owner, expires)
     SELECT name, version, owner, expires FROM {member_table} WHERE 1 = 0",
    "UPDATE {member_table} SET expires = expires WHERE 1 = 0",
    "DELETE FROM {member_table} WHERE 1 = 0",
    "INSERT INTO {skipped_table} (name, version, item, position, reason, skipped_at)
     SELECT name, version, item, position, reason, skipped_at FROM {skipped_table} WHERE 1 = 0",
    "DELETE FROM {skipped_table} WHERE 1 = 0",
    "INSERT INTO {parked_table} (name, version, persistence_id, slice, first_place, next_place, attempts, reason, since)
     SELECT name, version, persistence_id, slice, first_place, next_place, attempts, reason, since
     FROM {parked_table} WHERE 1 = 0",
    "UPDATE {parked_table} SET attempts = attempts WHERE 1 = 0",
    "DELETE FROM {parked_table} WHERE 1 = 0",
    "INSERT INTO {waiting_table} (name, version, persistence_id, place, item_nr, item, position, reason, content, parked_at)
     SELECT name, version, persistence_id, place, item_nr, item, position, reason, content, parked_at
     FROM {waiting_table} WHERE 1 = 0",
    "DELETE FROM {waiting_table} WHERE 1 = 0",
];

/// The same of a table of states.
/// A column of the application may need a value: without `IGNORE` that is an error even if nothing is inserted.
pub(crate) const TRY_STATE_STORE: &[&str] = &[
    "INSERT IGNORE INTO {state_table} (persistence_id, revision, ordering, deleted, slice, partition_nr, timestamp, tags,
         serializer_id, manifest, checksum, payload)
     SELECT persistence_id, revision, ordering, deleted, slice, partition_nr, timestamp, tags, serializer_id, manifest,
         checksum, payload
     FROM {state_table} WHERE 1 = 0",
    "UPDATE {state_table} SET revision = revision WHERE 1 = 0",
    "UPDATE {state_ordering_table} SET newest = newest WHERE 1 = 0",
    "DELETE FROM {state_table} WHERE 1 = 0",
];

/// The counters of events. Returns: partition, the number of all partitions.
pub(crate) const EVENT_COUNTERS: &str =
    "SELECT partition_nr, partitions FROM {ordering_table} ORDER BY partition_nr";
/// The same of states.
pub(crate) const STATE_COUNTERS: &str =
    "SELECT partition_nr, partitions FROM {state_ordering_table} ORDER BY partition_nr";

/// The counters of events that are lower than the rows: that of each partition, found by the index. Returns: partition,
/// the number to be reached.
pub(crate) const EVENTS_AHEAD: &str = "\
SELECT found.partition_nr, found.highest
FROM (SELECT o.partition_nr, o.newest,
          (SELECT e.ordering FROM {event_table} AS e WHERE e.partition_nr = o.partition_nr
           ORDER BY e.ordering DESC LIMIT 1) AS highest
      FROM {ordering_table} AS o) AS found
WHERE found.highest > found.newest";
/// The counters of states that are lower than the rows. For each partition the newest row of each entity type is found by
/// the index, which every query by numbers needs. Returns: partition, the number to be reached.
pub(crate) const STATES_AHEAD: &str = "\
SELECT found.partition_nr, MAX(found.highest)
FROM (SELECT d.partition_nr,
          (SELECT s.ordering FROM {state_table} AS s
           WHERE s.entity_type = d.entity_type AND s.partition_nr = d.partition_nr
           ORDER BY s.ordering DESC LIMIT 1) AS highest
      FROM (SELECT DISTINCT entity_type, partition_nr FROM {state_table} FORCE INDEX ({state_index})) AS d) AS found
JOIN {state_ordering_table} AS o ON o.partition_nr = found.partition_nr
WHERE found.highest > o.newest GROUP BY found.partition_nr";
/// Counts the columns of the index by which states are found in the order of their changes; 0 if there is none.
pub(crate) const HAS_STATE_INDEX: &str = "\
SELECT COUNT(*) FROM information_schema.statistics
WHERE table_schema = DATABASE() AND table_name = TRIM(BOTH '`' FROM '{state_table}')
  AND CONCAT('`', index_name, '`') = '{state_index}'";
/// Moves a counter on. Values: number, partition.
pub(crate) const RAISE_EVENT_COUNTER: &str =
    "UPDATE {ordering_table} SET newest = GREATEST(newest, ?) WHERE partition_nr = ?";
/// The same of states.
pub(crate) const RAISE_STATE_COUNTER: &str =
    "UPDATE {state_ordering_table} SET newest = GREATEST(newest, ?) WHERE partition_nr = ?";

/// Counts the tables that keep payloads in another way. `{table}` stands for a name in quotes.
pub(crate) const OTHER_PAYLOADS: &str = "\
SELECT COUNT(*) FROM information_schema.columns
WHERE table_schema = DATABASE() AND table_name = TRIM(BOTH '`' FROM '{table}') AND column_name = 'payload'
  AND LOWER('{payload_type}') NOT LIKE CONCAT(LOWER(data_type), '%')";
