//! Mischief that code of the application does in a transaction of the store, and what may become of it.

use fastrand::Rng;
use serde::{Deserialize, Serialize};

use crate::Backend;

/// The work that a change handler, a column or a transaction does beside its own rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Mischief {
    /// Does nothing beside them.
    Nothing,
    /// Runs statements, one after the other, and goes on after one that failed if it swallows errors.
    Runs {
        /// In the way of the database.
        statements: Vec<String>,
        /// True if the code ignores errors.
        swallows: bool,
    },
    /// Fails after all its work.
    Fails,
    /// Panics after all its work.
    Panics,
    /// The column refuses its value.
    ColumnFails,
    /// The code of the column panics.
    ColumnPanics,
    /// The code never ends, outside the database.
    Hangs,
    /// Drops a statement before its end.
    GivesUp {
        /// In the way of the database.
        statement: String,
        /// True if it waits for it a little.
        waits: bool,
        /// True if it runs another one afterwards.
        goes_on: bool,
    },
    /// Counts in two rows, which others count in the other order.
    Crosses {
        /// True if it begins with the second one.
        backwards: bool,
    },
    /// Begins another transaction of the same stores, and waits for it.
    Transacts,
    /// Sends a command to an event-sourced actor of the same database, and waits for the answer.
    Asks,
    /// Reads a state from the same store.
    Reads,
    /// Keeps its thread busy without an await.
    Blocks,
    /// Locks what belongs to the store, and then never ends.
    Holds {
        /// In the way of the database.
        statement: String,
    },
    /// Ends the connection that it runs on.
    Disconnects,
}

/// The outcomes that are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Expectation {
    /// The write is stored, or not; where the outcome is unknown, all of it or nothing.
    Anything,
    /// As [`Anything`](Self::Anything), but where the outcome is unknown a transaction may be stored in part.
    AnythingInPart,
    /// The write may be stored, and is never acknowledged.
    NeverAcknowledged,
    /// The write is never stored, and its outcome is never unknown.
    NeverStored,
}

/// A mischief, and when it is done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Plan {
    /// The mischief to be done.
    pub(crate) mischief: Mischief,
    /// True if the transaction stores all its rows before the mischief; otherwise the last one comes after it.
    pub(crate) rows_first: bool,
    /// The outcomes that are allowed.
    pub(crate) expected: Expectation,
}

/// The transaction in which code of the application runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The code runs in the transaction that stores a state.
    Change {
        /// True if an event is stored with it.
        with_event: bool,
    },
    /// The code runs in a transaction of its own.
    Transaction,
}

impl Plan {
    /// Returns a plan that does nothing wrong.
    pub(crate) fn plain() -> Self {
        Self::of(Mischief::Nothing, true, Expectation::Anything)
    }

    /// Returns a plan that never ends.
    pub(super) fn hanging() -> Self {
        Self::of(Mischief::Hangs, true, Expectation::NeverStored)
    }

    fn of(mischief: Mischief, rows_first: bool, expected: Expectation) -> Self {
        Self {
            mischief,
            rows_first,
            expected,
        }
    }

    pub(super) fn random(rng: &mut Rng, backend: Backend, place: Place) -> Self {
        use Expectation::{Anything, NeverStored};
        let rows_first = rng.bool();
        let of = |mischief, expected| Self::of(mischief, rows_first, expected);
        match rng.u8(..32) {
            0..8 => of(Mischief::Nothing, Anything),
            8..15 => statements(rng, backend, place, rows_first),
            15 => of(Mischief::Fails, NeverStored),
            16 => of(Mischief::Panics, NeverStored),
            17 if place != Place::Transaction => of(Mischief::ColumnFails, NeverStored),
            18 if place != Place::Transaction => of(Mischief::ColumnPanics, NeverStored),
            17..19 => of(Mischief::Fails, NeverStored),
            19 => of(Mischief::Hangs, NeverStored),
            20 => {
                let statements = vec![endless(backend).to_owned()];
                let swallows = rng.bool();
                let mischief = Mischief::Runs {
                    statements,
                    swallows,
                };
                of(mischief, NeverStored)
            }
            21..23 => {
                let waits = rng.bool();
                // The other one has time to end by itself, if it is not waited for at all.
                let statement = match waits || rng.bool() {
                    true => endless(backend),
                    false => brief(backend),
                };
                let mischief = Mischief::GivesUp {
                    statement: statement.to_owned(),
                    waits,
                    goes_on: rng.bool(),
                };
                of(mischief, NeverStored)
            }
            23..26 => of(
                Mischief::Crosses {
                    backwards: rng.bool(),
                },
                Anything,
            ),
            26 => of(Mischief::Transacts, Anything),
            27 => of(Mischief::Asks, Anything),
            28 => of(Mischief::Reads, Anything),
            29 => of(Mischief::Blocks, Anything),
            30 => {
                let locks = locks(backend);
                let statement = locks[rng.usize(..locks.len())].to_owned();
                of(Mischief::Holds { statement }, NeverStored)
            }
            _ if backend == Backend::Sqlite => of(Mischief::Nothing, Anything),
            _ => of(Mischief::Disconnects, Expectation::NeverAcknowledged),
        }
    }
}

/// Returns a statement that never ends by itself, or not soon.
fn endless(backend: Backend) -> &'static str {
    match backend {
        Backend::Sqlite | Backend::Memory => {
            "WITH RECURSIVE n (a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM n) SELECT COUNT(*) AS a FROM n"
        }
        Backend::Postgres => "SELECT pg_sleep(30)::text AS a",
        Backend::Mysql => "SELECT SLEEP(30) AS a",
    }
}

/// Returns a statement that takes some milliseconds.
fn brief(backend: Backend) -> &'static str {
    match backend {
        Backend::Sqlite | Backend::Memory => {
            "WITH RECURSIVE n (a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM n LIMIT 20000) SELECT COUNT(*) AS a FROM n"
        }
        Backend::Postgres => "SELECT pg_sleep(0.01)::text AS a",
        Backend::Mysql => "SELECT SLEEP(0.01) AS a",
    }
}

/// Locks what the stores use.
fn locks(backend: Backend) -> &'static [&'static str] {
    match backend {
        // Every transaction that writes has the lock of the file.
        Backend::Sqlite | Backend::Memory => &["SELECT COUNT(*) AS a FROM event_journal"],
        Backend::Postgres => &[
            "LOCK TABLE event_journal IN ACCESS EXCLUSIVE MODE",
            "LOCK TABLE durable_state IN SHARE ROW EXCLUSIVE MODE",
            "SELECT highest FROM journal_metadata FOR UPDATE",
            "SELECT pg_advisory_lock(7)::text AS a",
        ],
        Backend::Mysql => &[
            "SELECT highest FROM journal_metadata FOR UPDATE",
            "SELECT newest FROM durable_state_ordering FOR UPDATE",
            "SELECT GET_LOCK('torture', 5) AS a",
        ],
    }
}

fn statements(rng: &mut Rng, backend: Backend, place: Place, rows_first: bool) -> Plan {
    use Expectation::{Anything, AnythingInPart, NeverAcknowledged, NeverStored};
    const REFUSED: &[&[&str]] = &[
        &["COMMIT"],
        &["ROLLBACK"],
        &["ROLLBACK", "BEGIN"],
        &["COMMIT", "BEGIN", "SAVEPOINT a"],
        &["/* it is hidden */ COMMIT"],
        &["-- or here\nrollback"],
        &["there is no such statement"],
        &["SELECT nothing FROM nowhere"],
        &["INSERT INTO counters (name, n) VALUES ('left', 0)"],
        &["INSERT INTO counters (name, n) VALUES ('new', NULL)"],
        &["SET autocommit = 0"],
        &["ROLLBACK TO SAVEPOINT nobody_has_set_it"],
    ];
    const HARMLESS: &[&[&str]] = &[
        &[
            "SAVEPOINT a",
            "INSERT INTO handled (persistence_id, revision, op) VALUES ('nobody', 1, -7)",
            "INSERT INTO worked (op, part) VALUES (-7, 1)",
            "ROLLBACK TO SAVEPOINT a",
            "RELEASE SAVEPOINT a",
        ],
        &["SAVEPOINT a", "SAVEPOINT a"],
        &["SELECT op FROM worked"],
        &["CREATE TEMPORARY TABLE for_now (a INTEGER)"],
    ];
    // Of databases where such statements are a part of the transaction.
    const DEFINITIONS: &[&[&str]] = &[
        &["CREATE TABLE IF NOT EXISTS made_lazily (a INTEGER)"],
        &[
            "DROP TABLE IF EXISTS made_lazily",
            "CREATE TABLE made_lazily (a INTEGER)",
        ],
        &[
            "CREATE TABLE IF NOT EXISTS shaped (a INTEGER)",
            "SELECT * FROM shaped",
        ],
        &[
            "CREATE TABLE IF NOT EXISTS shaped (a INTEGER)",
            "ALTER TABLE shaped ADD COLUMN b INTEGER",
            "SELECT * FROM shaped",
            "ALTER TABLE shaped DROP COLUMN b",
        ],
    ];
    let of_sqlite: (&[&[&str]], &[&[&str]]) = (
        &[
            &["END TRANSACTION"],
            &["PRAGMA synchronous = OFF"],
            &["PRAGMA journal_mode = DELETE"],
            &["ATTACH DATABASE ':memory:' AS more"],
            &["VACUUM"],
            &["INSERT OR ROLLBACK INTO counters (name, n) VALUES ('left', 0)"],
        ],
        &[],
    );
    let of_postgres: (&[&[&str]], &[&[&str]]) = (
        &[
            &["COMMIT AND CHAIN"],
            &["PREPARE TRANSACTION 'a'"],
            &["DO $$ BEGIN COMMIT; END $$"],
            &["SET synchronous_commit = off"],
            &["SET LOCAL search_path = pg_catalog"],
            &["COPY handled TO STDOUT"],
            &["COPY handled FROM STDIN"],
            &["LISTEN news"],
        ],
        &[
            &["SELECT set_config('synchronous_commit', 'off', false)"],
            &["SELECT set_config('search_path', 'pg_catalog', false)"],
            &["SELECT set_config('statement_timeout', '1ms', false)"],
            &["SELECT set_config('lock_timeout', '1ms', false)"],
            &["SELECT set_config('idle_in_transaction_session_timeout', '1ms', false)"],
            &["SELECT set_config('default_transaction_isolation', 'serializable', false)"],
            &["SELECT set_config('transaction_read_only', 'on', true)"],
            &["SELECT set_config('session_replication_role', 'replica', false)"],
            &["SET CONSTRAINTS ALL DEFERRED"],
            &["DO $$ BEGIN RAISE WARNING 'beware'; END $$"],
        ],
    );
    let of_mariadb: (&[&[&str]], &[&[&str]]) = (
        &[
            &["START TRANSACTION"],
            &["SET SESSION innodb_lock_wait_timeout = 1"],
            &["LOCK TABLES handled WRITE"],
            &["XA END 'a'"],
            &["USE mysql"],
        ],
        &[&["SELECT @a := 1 AS a"], &["CALL sets_it()"]],
    );
    let (refused, harmless) = match backend {
        Backend::Sqlite | Backend::Memory => of_sqlite,
        Backend::Postgres => of_postgres,
        Backend::Mysql => of_mariadb,
    };
    let definitions_commit = backend == Backend::Mysql;
    // These do not look like what they are.
    let ends: &[&[&str]] = match backend {
        Backend::Sqlite | Backend::Memory => &[
            &["SELECT 1; COMMIT"],
            &["SELECT 1; ROLLBACK; BEGIN IMMEDIATE"],
        ],
        Backend::Postgres => &[&["/* /* */ */ COMMIT"], &["/* /* */ */ ROLLBACK AND CHAIN"]],
        Backend::Mysql => &[
            &["CALL commits_it()"],
            &["CALL rolls_it_back()"],
            &["/*!40000 COMMIT */"],
            &["/*!40000 ROLLBACK */"],
        ],
    };
    let mut choice: Vec<(&[&str], Expectation, bool)> = Vec::new();
    let mut add = |lists: &[&'static [&'static str]], expected, first| {
        choice.extend(lists.iter().map(|list| (*list, expected, first)));
    };
    add(REFUSED, NeverStored, rows_first);
    add(refused, NeverStored, rows_first);
    add(HARMLESS, Anything, rows_first);
    add(harmless, Anything, rows_first);
    match place {
        Place::Change { .. } if definitions_commit => add(DEFINITIONS, NeverStored, rows_first),
        Place::Transaction if definitions_commit => add(DEFINITIONS, AnythingInPart, rows_first),
        _ => add(DEFINITIONS, Anything, rows_first),
    }
    // What they commit is what came before them: everything but an event, if the rows come first.
    if place != (Place::Change { with_event: true }) {
        add(ends, NeverAcknowledged, true);
    }
    let (statements, expected, rows_first) = choice[rng.usize(..choice.len())];
    let mischief = Mischief::Runs {
        statements: statements.iter().map(ToString::to_string).collect(),
        swallows: rng.bool(),
    };
    Plan::of(mischief, rows_first, expected)
}
