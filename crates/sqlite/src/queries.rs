//! Every SQL text of the crate; the tables are made by the files in `migrations`.

mod at_once;
mod event_queries;
mod journal_queries;
mod projection_queries;
mod rows;
mod snapshot_queries;
mod state_queries;

use actix_persistence_sql::{
    ChangeEventTexts, EventQueryStatements, JournalStatements, SnapshotStatements, SqlNames,
    StateStatements, StatementDialect,
};

use crate::Sqlite;

pub(crate) use at_once::{AtOnceStatements, TextPart};
pub(crate) use journal_queries::{EVENTS_IN_A_ROW, JournalQueries, LARGE_PAYLOAD_BYTES};
pub(crate) use rows::{RowsStatement, chunk_sizes};
pub(crate) use state_queries::StateQueries;

impl StatementDialect for Sqlite {
    const ID_FIRST: bool = true;

    const CHANGE_EVENTS: ChangeEventTexts = ChangeEventTexts {
        adopt: journal_queries::ADOPT,
        epoch_of: journal_queries::EPOCH_OF,
    };

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

/// Takes the write lock at once: a transaction that reads first could no longer wait for it.
pub(crate) const BEGIN: &str = "BEGIN IMMEDIATE";
/// Begins a transaction of several statements that read.
pub(crate) const BEGIN_READING: &str = "BEGIN DEFERRED";
/// Commits, and raises the number of transactions, which stands where the newest `ordering` stands, too: no other page
/// is written for it when events are stored. One that [`POSITION`] does not take for a number stays as it is.
pub(crate) const COMMIT: &str = "\
    UPDATE sqlite_sequence SET seq = seq + 1 WHERE name = 'actix_persistence_commits' AND seq > 1; COMMIT";
/// Commits the set-up, and does not count it: it comes before the number is compared with what was confirmed, and would
/// hide a lost transaction each time.
pub(crate) const COMMIT_SET_UP: &str = "COMMIT";
pub(crate) const ROLLBACK: &str = "ROLLBACK";

pub(crate) const SQLITE_VERSION: &str = "SELECT sqlite_version()";
pub(crate) const ENCODING: &str = "PRAGMA encoding";
pub(crate) const JOURNAL_MODE: &str = "PRAGMA journal_mode";
pub(crate) const SET_WAL: &str = "PRAGMA journal_mode = WAL";
pub(crate) const SYNCHRONOUS: &str = "PRAGMA synchronous";
pub(crate) const FULLFSYNC: &str = "PRAGMA fullfsync";
pub(crate) const TRUSTED_SCHEMA: &str = "PRAGMA trusted_schema";
pub(crate) const PAGE_SIZE: &str = "PRAGMA page_size";
/// The time for which SQLite waits for a lock, in milliseconds: it pauses for 1 and 2, and for longer and longer after
/// that.
pub(crate) const WAIT_HARDLY: &str = "PRAGMA busy_timeout = 3";
/// The time for which all writers may wait, in milliseconds, until readers have let go of a log that is too long.
pub(crate) const WAIT_LITTLE: &str = "PRAGMA busy_timeout = 200";
/// Selects what only the driver's connection can change, and what the commit depends on: when the log is copied, and how
/// it is written.
pub(crate) const FACTS_OF_SESSION: &str = "\
    SELECT '{nonce}' AS nonce; PRAGMA wal_autocheckpoint; PRAGMA synchronous; PRAGMA fullfsync; PRAGMA checkpoint_fullfsync;
    PRAGMA ignore_check_constraints";
/// Lets the connection read how tables are now, if they were altered on another one.
pub(crate) const LOOK_AT_TABLES: &str = "SELECT 1 FROM sqlite_schema LIMIT 1";
/// Returns `ok`, or the first damage that it finds.
pub(crate) const CHECK_PAGES: &str = "PRAGMA integrity_check(1)";
/// Reads the state of the log, and changes nothing.
pub(crate) const LOOK_AT_LOG: &str = "PRAGMA wal_checkpoint(NOOP)";
pub(crate) const COPY_LOG: &str = "PRAGMA wal_checkpoint(PASSIVE)";
pub(crate) const TRUNCATE_LOG: &str = "PRAGMA wal_checkpoint(TRUNCATE)";
/// Lets a connection write that was opened to read.
pub(crate) const ALLOW_WRITING: &str = "PRAGMA query_only = OFF";
/// Copies the database as of one moment to a file that is empty.
pub(crate) const COPY_INTO: &str = "VACUUM INTO ?1";
pub(crate) const CELL_SIZE_CHECK: &str = "PRAGMA cell_size_check";

/// The table of versions, which counts transactions besides.
///
/// Holds a row for the journal, one for the snapshot store, and one for the state store of each set of table names in the file.
pub(crate) const CREATE_VERSION_TABLE: &str = "\
    CREATE TABLE IF NOT EXISTS {version_table} (
        table_name   TEXT    NOT NULL PRIMARY KEY COLLATE NOCASE,
        other_tables TEXT    NOT NULL COLLATE NOCASE,
        component    TEXT    NOT NULL,
        version      INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS actix_persistence_commits (
        commits  INTEGER PRIMARY KEY AUTOINCREMENT, -- SQLite keeps the newest in 'sqlite_sequence'
        database TEXT    NOT NULL                   -- tells this database from others
    ) STRICT;
    INSERT INTO actix_persistence_commits (commits, database)
    SELECT 2, lower(hex(randomblob(16))) WHERE NOT EXISTS (SELECT 1 FROM actix_persistence_commits);
    UPDATE actix_persistence_commits SET commits = 1";
/// Returns: which database it is, and the number of transactions it had. No row if nothing counts them: a program has
/// emptied `sqlite_sequence`, or has copied the tables without it. The count begins at 2: 1 is what a copy of the row
/// leaves there.
pub(crate) const POSITION: &str = "\
    SELECT c.database, s.seq AS commits
    FROM actix_persistence_commits AS c
    JOIN sqlite_sequence AS s ON s.name = 'actix_persistence_commits' AND s.seq > 1
    LIMIT 1";
/// Begins to count transactions where nothing counts them, as of another database: notes of others may go on for which
/// nothing was counted.
pub(crate) const COUNT_ANEW: &str = "\
    BEGIN IMMEDIATE;
    DELETE FROM sqlite_sequence WHERE name = 'actix_persistence_commits' AND seq <= 1;
    DELETE FROM actix_persistence_commits
    WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'actix_persistence_commits');
    INSERT INTO actix_persistence_commits (commits, database)
    SELECT 2, lower(hex(randomblob(16))) WHERE NOT EXISTS (SELECT 1 FROM actix_persistence_commits);
    UPDATE actix_persistence_commits SET commits = 1;
    COMMIT";
pub(crate) const SELECT_VERSION: &str = "\
    SELECT component, version, other_tables FROM {version_table} WHERE table_name = ?1";
pub(crate) const SELECT_STEPS: &str = "\
SELECT version, other_tables FROM {version_table} WHERE component = ?1 ORDER BY version";
pub(crate) const FORGET_VERSION: &str = "DELETE FROM {version_table} WHERE table_name = ?1";
pub(crate) const SET_VERSION: &str = "\
    INSERT INTO {version_table} (table_name, other_tables, component, version) VALUES (?1, ?2, ?3, ?4)
    ON CONFLICT (table_name) DO UPDATE SET version = excluded.version, other_tables = excluded.other_tables";
pub(crate) const CREATE_INDEX: [&str; 2] = ["CREATE INDEX {index} ON {table} (", ")"];
/// Changes no row, and fails if the database cannot be written to.
pub(crate) const TRY_WRITING: &str = "\
    UPDATE actix_persistence_schema SET version = version WHERE false";
/// Counts the newest rows of TABLE, the last ones that were inserted, that the index over KEY does not lead to.
pub(crate) const NEWEST_WITHOUT_INDEX: &str = "\
    SELECT COUNT(*) FROM (SELECT KEY FROM TABLE ORDER BY rowid DESC LIMIT 1000) AS n
    WHERE NOT EXISTS (SELECT 1 FROM TABLE AS i WHERE SAME)";
/// Restores the row of `sqlite_sequence` if the newest `ordering` is gone from it: SQLite would go on after the newest
/// row that is left.
pub(crate) const RESTORE_EVENT_COUNTER: &str = include_str!("queries/restore_event_counter.sql");
pub(crate) const RAISE_STATE_COUNTER: &str = include_str!("queries/raise_state_counter.sql");
/// Selects whether there is the index by which states are found in the order of their changes.
pub(crate) const HAS_STATE_INDEX: &str = "\
    SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'index' AND '\"' || name || '\"' = '{state_index}' COLLATE NOCASE)";
pub(crate) const TABLE_EXISTS: &str = "\
    SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1 COLLATE NOCASE)";

pub(crate) const COLUMNS: &str = "SELECT name, type FROM pragma_table_xinfo(?1)";
