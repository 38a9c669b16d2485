//! Every SQL text of the crate; the tables are made by the files in `migrations`.
//!
//! Casts state the types of values, so that the server never guesses. Names are qualified: no search path matters.

mod event_queries;
mod journal_queries;
mod order;
mod projection_queries;
mod snapshot_queries;
mod state_queries;

use actix_persistence_sql::{
    ChangeEventTexts, EventQueryStatements, JournalStatements, SnapshotStatements, SqlNames,
    StateStatements, StatementDialect,
};

use crate::Postgres;

pub use journal_queries::PostgresQueries;
pub(crate) use journal_queries::SMALL_EVENT;
pub(crate) use journal_queries::queries;
pub(crate) use order::{BEGIN_STORING, channel_of};
pub(crate) use state_queries::store_states;

impl StatementDialect for Postgres {
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

pub(crate) const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED, READ WRITE";
pub(crate) const BEGIN_READING: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY";
/// Takes back, for one transaction, what [`SET_SESSION`] says for the statements of the store. A condition of the
/// application may be about anything: an index of its own may have what it finds, but not the order of ids, and then
/// sorting a few states is better than looking at all of them. Where the condition holds for many, it is the other way
/// round, so the plan is made anew for the values and the table of the moment.
pub(crate) const BEGIN_FINDING: &str = "\
BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL enable_sort = on; SET LOCAL plan_cache_mode = force_custom_plan";
/// Lets the planner do with statements of the application whatever the server, the database or the role say: what
/// [`SET_SESSION`] forbids is right for the few statements of the store only.
pub(crate) const BEFORE_APPLICATION: &str = "\
; SET LOCAL enable_seqscan TO DEFAULT; SET LOCAL enable_sort TO DEFAULT; SET LOCAL jit TO DEFAULT; \
SET LOCAL plan_cache_mode TO DEFAULT";
/// Forbids the same again after the statements of the application: a plan of the store that is made after them is kept,
/// too.
pub(crate) const AFTER_APPLICATION: &str = "\
; SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off; SET LOCAL jit = off; \
SET LOCAL plan_cache_mode = force_generic_plan";
pub(crate) const COMMIT: &str = "COMMIT";
pub(crate) const ROLLBACK: &str = "ROLLBACK";

/// Selects the facts about a session. Rows: version, encoding of the server, that of the client, whether nothing can be
/// written, whether commits reach the disk, number, beginning.
///
/// It calls the function that is below `pg_stat_activity`: each new session would first read the definition of the view.
pub(crate) const SESSION: &str = "\
SELECT current_setting('server_version_num')::bigint, current_setting('server_encoding'),
       current_setting('client_encoding'),
       current_setting('transaction_read_only') = 'on' OR pg_is_in_recovery(),
       current_setting('fsync') = 'on', pg_backend_pid(),
       COALESCE((SELECT a.backend_start::text FROM pg_stat_get_activity(pg_backend_pid()) AS a), '')";

/// Selects what only the driver's connection can change, and what statements of the store depend on: for whom they run, and
/// what they may leave out without a word.
pub(crate) const FACTS_OF_SESSION: &str = "\
SELECT '{nonce}' AS nonce, current_user::text AS role, session_user::text AS session_authorization,
       current_setting('row_security') AS row_security,
       current_setting('session_replication_role') AS session_replication_role,
       current_setting('client_encoding') AS client_encoding,
       current_setting('standard_conforming_strings') AS standard_conforming_strings";

/// Ends a session with all that it does and holds, unless its number belongs to another one by now. Values: number, beginning.
pub(crate) const END_SESSION: &str = "\
SELECT count(pg_terminate_backend(a.pid)) FROM pg_stat_activity AS a
WHERE a.pid = $1::integer AND a.backend_start = $2::text::timestamptz";

/// Sets what must not depend on the server, the database or the role. Values: milliseconds of statement, lock and idle
/// transaction; what a commit waits for, or NULL; the schema; how plans are made, or NULL. Returns what a commit waits for now.
///
/// A plan is made once and kept, perhaps while the tables are empty: it must not read whole tables when they are large, nor sort
/// them where an index has most of the order.
/// A session that writes keeps its plans whatever the values are: for arrays of few rows the planner would make one at each
/// execution, which takes longer than the statement.
/// A planner without a choice has costs so high that it would compile each plan. Row security would
/// leave rows out without a word; switched off, it is an error. The search path is for statements of the application, which
/// may leave out the schema of the store; what the server itself has is found first all the same.
pub(crate) const SET_SESSION: &str = "\
SELECT set_config('synchronous_commit', COALESCE($4::text, current_setting('synchronous_commit')), false),
       set_config('statement_timeout', $1::text, false),
       set_config('lock_timeout', $2::text, false),
       set_config('idle_in_transaction_session_timeout', $3::text, false),
       set_config('search_path', quote_ident($5::text) || ', pg_temp', false),
       set_config('default_transaction_isolation', 'read committed', false),
       set_config('row_security', 'off', false),
       set_config('client_min_messages', 'warning', false),
       set_config('enable_seqscan', 'off', false),
       set_config('enable_sort', 'off', false),
       set_config('jit', 'off', false),
       set_config('plan_cache_mode', COALESCE($6::text, current_setting('plan_cache_mode')), false)";

/// Notes the highest number of the rows that a statement has `removed`, if it is above what is noted, in place of `{keep_highest}`.
///
/// Each transaction adds a row of its own, and removes lower ones that no other one is about to remove; if it is taken back,
/// those are there again. It waits for another one only if both remove rows that one transaction stored, which have one number.
fn keeping_highest(text: &str, table: &str) -> String {
    text.replace("{keep_highest}", KEEP_HIGHEST)
        .replace("{kept_table}", table)
}

const KEEP_HIGHEST: &str = "\
kept AS (
    INSERT INTO {kept_table} (ordering)
    SELECT r.highest FROM (SELECT max(ordering) AS highest FROM removed) AS r
    WHERE r.highest > COALESCE((SELECT max(ordering) FROM {kept_table}), (-1)::bigint)
    ON CONFLICT DO NOTHING RETURNING ordering),
forgotten AS (
    DELETE FROM {kept_table} WHERE ordering IN (
        SELECT k.ordering FROM {kept_table} AS k WHERE k.ordering < (SELECT ordering FROM kept) FOR UPDATE SKIP LOCKED))";

/// Undoes whatever functions may have done to the session that code of the application called, as
/// [`DISCARD ALL`](https://www.postgresql.org/docs/current/sql-discard.html) does, but keeps what the driver has prepared.
/// The settings of [`SET_SESSION`] come after it.
pub(crate) const RESTORE_SESSION: &str = "\
CLOSE ALL; SET SESSION AUTHORIZATION DEFAULT; RESET ALL; UNLISTEN *; SELECT pg_advisory_unlock_all(); DISCARD TEMP; \
DISCARD SEQUENCES";

/// Selects whether the schema is there.
pub(crate) const SCHEMA_EXISTS: &str = "\
SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = {schema_text})";
pub(crate) const CREATE_SCHEMA: &str = "CREATE SCHEMA {schema}";

/// Lets one session of the database make tables; ends with the session, and does not wait. The number means this crate's
/// tables and nothing else.
pub(crate) const TRY_LOCK_SCHEMA: &str = "SELECT pg_try_advisory_lock(4703186298134021477)";

/// Lifts the limits on the time of a statement, and of the locks for which it waits. What is made beside writers waits for
/// transactions that are older than it, and no writer waits for it.
pub(crate) const WITHOUT_LIMITS: &str = "SET statement_timeout = 0; SET lock_timeout = 0";
pub(crate) const CREATE_INDEX: [&str; 2] = ["CREATE INDEX CONCURRENTLY {index} ON {table} (", ")"];
pub(crate) const DROP_INDEX: &str = "DROP INDEX CONCURRENTLY {schema}.{index}";
/// Selects whether an index can be used: one that was interrupted is kept up to date, and found by no query.
pub(crate) const INDEX_STATE: &str = "\
SELECT CASE WHEN i.indisvalid AND i.indisready THEN 1 ELSE 0 END::bigint FROM pg_catalog.pg_index AS i
WHERE i.indexrelid = to_regclass('{schema}.{index}') AND i.indrelid = to_regclass('{table}')";

/// The table of versions, with a row for the journal, one for the snapshot store, and one for the state store of each
/// set of table names in the schema.
pub(crate) const CREATE_VERSION_TABLE: &str = "\
CREATE TABLE IF NOT EXISTS {version_table} (
    table_name   TEXT COLLATE \"C\" NOT NULL PRIMARY KEY,
    other_tables TEXT COLLATE \"C\" NOT NULL,
    component    TEXT NOT NULL,
    version      BIGINT NOT NULL
)";
pub(crate) const SELECT_VERSION: &str = "\
SELECT component, version, other_tables FROM {version_table} WHERE table_name = $1::text";
pub(crate) const SELECT_STEPS: &str = "\
SELECT version, other_tables FROM {version_table} WHERE component = $1::text ORDER BY version";
pub(crate) const FORGET_VERSION: &str = "DELETE FROM {version_table} WHERE table_name = $1::text";
pub(crate) const SET_VERSION: &str = "\
INSERT INTO {version_table} (table_name, other_tables, component, version)
VALUES ($1::text, $2::text, $3::text, $4::bigint)
ON CONFLICT (table_name) DO UPDATE SET version = EXCLUDED.version, other_tables = EXCLUDED.other_tables";
/// Finds a relation of any sort with the name: views, indexes and the like have theirs in common with tables.
pub(crate) const TABLE_EXISTS: &str = "\
SELECT count(*) FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = {schema_text} AND c.relname = $1::text";

/// Selects the columns of a table, with types without their length: a cast to a length cuts off what does not fit,
/// where storing fails.
pub(crate) const COLUMNS: &str = "\
SELECT a.attname::text, pg_catalog.format_type(a.atttypid, NULL)
FROM pg_catalog.pg_attribute AS a JOIN pg_catalog.pg_class AS c ON c.oid = a.attrelid
    JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = {schema_text} AND c.relname = $1::text AND a.attnum > 0 AND NOT a.attisdropped";

/// Lets the steps of an application leave out the schema of the store, as they do in its session.
pub(crate) const SEARCH_SCHEMA: &str = "SET search_path = {schema}, pg_temp";
pub(crate) const RESET_SEARCH: &str = "RESET search_path";

/// The statements for a person who may make schemas and act for the owner.
pub(crate) const OWNER_BEFORE: &str = "\
CREATE SCHEMA IF NOT EXISTS {schema};
GRANT USAGE, CREATE ON SCHEMA {schema} TO {owner};
GRANT USAGE ON SCHEMA {schema} TO {application};
SET ROLE {owner}";
pub(crate) const USE_TABLE: &str =
    "GRANT SELECT, INSERT, UPDATE, DELETE ON {table} TO {application}";
pub(crate) const READ_VERSIONS: &str = "\
GRANT SELECT ON {version_table} TO {application};
RESET ROLE";

/// Selects what hinders the journal. Rows: privileges that are missing, type of payloads, the newest `ordering`, also
/// of rows that were removed, the one that no transaction has reached, the lowest one of those that are under way, a trigger that
/// runs before a transaction can be announced.
pub(crate) const CHECK_JOURNAL: &str = "\
SELECT (SELECT string_agg(p.privilege || ' on ' || p.name, ', ')
        FROM (VALUES ('{event_table}', 'SELECT'), ('{event_table}', 'INSERT'), ('{event_table}', 'DELETE'),
                     ('{tag_table}', 'SELECT'), ('{tag_table}', 'INSERT'), ('{tag_table}', 'DELETE'),
                     ('{metadata_table}', 'SELECT'), ('{metadata_table}', 'INSERT'), ('{metadata_table}', 'UPDATE'),
                     ('{removed_table}', 'SELECT'), ('{removed_table}', 'INSERT'), ('{removed_table}', 'UPDATE'),
                     ('{removed_table}', 'DELETE'), ('{ordering_table}', 'SELECT'), ('{ordering_table}', 'UPDATE'))
             AS p (name, privilege)
        WHERE NOT has_table_privilege(p.name, p.privilege)),
       (SELECT format_type(atttypid, NULL) FROM pg_catalog.pg_attribute
        WHERE attrelid = '{event_table}'::regclass AND attname = 'payload'),
       GREATEST((SELECT max(ordering) FROM {event_table}), (SELECT max(ordering) FROM {removed_table})),
       (SELECT base FROM {ordering_table} WHERE is_only) + pg_snapshot_xmax(pg_current_snapshot())::text::bigint,
       (SELECT base FROM {ordering_table} WHERE is_only) + pg_snapshot_xmin(pg_current_snapshot())::text::bigint,
       (SELECT min(t.tgname)::text FROM pg_catalog.pg_trigger AS t WHERE t.tgrelid = '{metadata_table}'::regclass
          AND NOT t.tgisinternal AND t.tgtype & 3 = 2 AND t.tgtype & 20 > 0)";

/// The same of the snapshot store, but for numbers of transactions.
pub(crate) const CHECK_SNAPSHOT_STORE: &str = "\
SELECT (SELECT string_agg(p.privilege || ' on ' || p.name, ', ')
        FROM (VALUES ('{snapshot_table}', 'SELECT'), ('{snapshot_table}', 'INSERT'), ('{snapshot_table}', 'UPDATE'),
                     ('{snapshot_table}', 'DELETE')) AS p (name, privilege)
        WHERE NOT has_table_privilege(p.name, p.privilege)),
       (SELECT format_type(atttypid, NULL) FROM pg_catalog.pg_attribute
        WHERE attrelid = '{snapshot_table}'::regclass AND attname = 'payload'),
       NULL::bigint, 0::bigint, 0::bigint, NULL::text";

/// Selects the privileges of an offset store that are missing.
pub(crate) const CHECK_OFFSET_STORE: &str = "\
SELECT string_agg(p.privilege || ' on ' || t.name, ', ')
FROM (VALUES ('{projection_table}'), ('{share_table}'), ('{lease_table}'), ('{member_table}'), ('{skipped_table}'),
             ('{parked_table}'), ('{waiting_table}')) AS t (name),
     (VALUES ('SELECT'), ('INSERT'), ('UPDATE'), ('DELETE')) AS p (privilege)
WHERE NOT has_table_privilege(t.name, p.privilege)";

/// The same of a table of states, with numbers of transactions: the newest of each entity type is found by the index, and
/// without it no query reads by them.
pub(crate) const CHECK_STATE_STORE: &str = "\
SELECT (SELECT string_agg(p.privilege || ' on ' || p.name, ', ')
        FROM (VALUES ('{state_table}', 'SELECT'), ('{state_table}', 'INSERT'), ('{state_table}', 'UPDATE'),
                     ('{state_table}', 'DELETE'), ('{state_removed_table}', 'SELECT'),
                     ('{state_removed_table}', 'INSERT'), ('{state_removed_table}', 'UPDATE'),
                     ('{state_removed_table}', 'DELETE'), ('{state_ordering_table}', 'SELECT'),
                     ('{state_ordering_table}', 'UPDATE')) AS p (name, privilege)
        WHERE NOT has_table_privilege(p.name, p.privilege)),
       (SELECT format_type(atttypid, NULL) FROM pg_catalog.pg_attribute
        WHERE attrelid = '{state_table}'::regclass AND attname = 'payload'),
       CASE WHEN to_regclass('{schema}.{state_index}') IS NOT NULL THEN (
           WITH RECURSIVE newest AS (
               (SELECT entity_type, ordering FROM {state_table} ORDER BY entity_type DESC, ordering DESC LIMIT 1)
               UNION ALL
               SELECT found.entity_type, found.ordering
               FROM newest CROSS JOIN LATERAL (
                   SELECT s.entity_type, s.ordering FROM {state_table} AS s WHERE s.entity_type < newest.entity_type
                   ORDER BY s.entity_type DESC, s.ordering DESC LIMIT 1) AS found
           )
           SELECT GREATEST(max(ordering), (SELECT max(ordering) FROM {state_removed_table})) FROM newest) END,
       (SELECT base FROM {state_ordering_table} WHERE is_only) + pg_snapshot_xmax(pg_current_snapshot())::text::bigint,
       (SELECT base FROM {state_ordering_table} WHERE is_only) + pg_snapshot_xmin(pg_current_snapshot())::text::bigint,
       (SELECT min(t.tgname)::text FROM pg_catalog.pg_trigger AS t WHERE t.tgrelid = '{state_table}'::regclass
          AND NOT t.tgisinternal AND t.tgtype & 3 = 2 AND t.tgtype & 20 > 0)";

/// Waits for every transaction that has stored or removed something, and keeps others from doing so until the transaction
/// ends: a statement that begins to wait here sees the base that was set meanwhile.
pub(crate) const LOCK_EVENTS: &str = "LOCK TABLE {event_table} IN SHARE ROW EXCLUSIVE MODE";
/// The same of a table of states.
pub(crate) const LOCK_STATES: &str = "LOCK TABLE {state_table} IN SHARE ROW EXCLUSIVE MODE";

/// Adds to the base, so that what is new comes after what is old. Values: the difference.
pub(crate) const RAISE_BASE: &str =
    "UPDATE {ordering_table} SET base = base + $1::bigint WHERE is_only";
/// The same of a table of states.
pub(crate) const RAISE_STATE_BASE: &str =
    "UPDATE {state_ordering_table} SET base = base + $1::bigint WHERE is_only";
