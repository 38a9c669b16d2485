//! The meaning of SQLite's result codes for the caller; no other place decides it.

use actix_persistence_sql::{ErrorClass, ErrorDialect, SqlError};
use actix_persistence_storage_api::StorageErrorKind;
use sqlx::error::DatabaseError;

use crate::Sqlite;

/// The primary result codes, see <https://www.sqlite.org/rescode.html#primary_result_code_list>.
mod code {
    pub(super) const ERROR: i32 = 1;
    pub(super) const PERM: i32 = 3;
    pub(super) const BUSY: i32 = 5;
    pub(super) const LOCKED: i32 = 6;
    pub(super) const READONLY: i32 = 8;
    pub(super) const INTERRUPT: i32 = 9;
    pub(super) const IOERR: i32 = 10;
    pub(super) const CORRUPT: i32 = 11;
    pub(super) const FULL: i32 = 13;
    pub(super) const CANTOPEN: i32 = 14;
    pub(super) const PROTOCOL: i32 = 15;
    pub(super) const TOOBIG: i32 = 18;
    pub(super) const CONSTRAINT: i32 = 19;
    pub(super) const MISMATCH: i32 = 20;
    pub(super) const NOLFS: i32 = 22;
    pub(super) const AUTH: i32 = 23;
    pub(super) const NOTADB: i32 = 26;
}

/// The lasting fault that an error of opening a database seems to show, although a passing one can look the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doubt {
    /// The file cannot be opened, or only to be read.
    Access,
    /// The file does not begin like a database.
    Header,
    /// Pages contradict each other.
    Damage,
}

/// Returns the doubt about an error; one error of a disk, or a full one, can look like any of these.
pub(crate) fn doubt(error: &SqlError) -> Option<Doubt> {
    match error.reported().and_then(primary_code)? {
        code::CANTOPEN | code::READONLY | code::PERM => Some(Doubt::Access),
        code::NOTADB => Some(Doubt::Header),
        code::CORRUPT => Some(Doubt::Damage),
        _ => None,
    }
}

impl ErrorDialect for Sqlite {
    /// Returns the class of an error.
    ///
    /// Nothing is certain about a commit that fails, whatever SQLite says: the log may hold it or not. Only what a constraint
    /// refuses was never begun to be written.
    fn error_class(error: &dyn DatabaseError) -> ErrorClass {
        let (kind, message) = match primary_code(error) {
            Some(code::ERROR) if is_other_schema(error.message()) => {
                (StorageErrorKind::SchemaMismatch, OTHER_TABLES)
            }
            Some(code) => class_of_code(code),
            None => UNKNOWN,
        };
        let class = ErrorClass::new(kind, message);
        match primary_code(error) {
            // A deferred foreign key: the transaction stays open.
            Some(code::CONSTRAINT) => class,
            _ => class.unknown(),
        }
    }

    /// Returns whether a value breaks a rule: of its column, of a constraint, or of a trigger that raises an error.
    fn breaks_rule(error: &dyn DatabaseError) -> bool {
        matches!(primary_code(error), Some(code::CONSTRAINT | code::MISMATCH))
    }

    /// Returns whether another connection holds a lock, so that trying again soon is likely to work.
    fn is_disturbed(error: &SqlError) -> bool {
        matches!(
            error.reported().and_then(primary_code),
            Some(code::BUSY | code::LOCKED | code::PROTOCOL)
        )
    }
}

/// Returns whether another connection holds the lock, for which this one has waited until its time-out.
pub(crate) fn is_locked(error: &SqlError) -> bool {
    error.reported().and_then(primary_code) == Some(code::BUSY)
}

/// Returns whether a statement found something else than what it was made for: see
/// [`AtOnceStatements`](crate::queries::AtOnceStatements).
pub(crate) fn is_unexpected(error: &SqlError) -> bool {
    error.reported().is_some_and(|error| {
        primary_code(error) == Some(code::ERROR) && error.message() == "integer overflow"
    })
}

/// Returns the kind of an error of the place that a file is written to: that it is full, or cannot be opened.
pub(crate) fn kind_of_place(error: &SqlError) -> Option<StorageErrorKind> {
    let code = error.reported().and_then(primary_code)?;
    matches!(code, code::FULL | code::CANTOPEN | code::READONLY).then(|| class_of_code(code).0)
}

/// Returns whether a statement does not fit the tables: SQLite has no code of its own for that, only these texts.
fn is_other_schema(message: &str) -> bool {
    let begins = ["no such table: ", "no such column: "];
    begins.iter().any(|begin| message.starts_with(begin))
        || message.contains(" has no column named ")
}

const OTHER_TABLES: &str = "a table or a column is missing; compare the tables with what 'actix-persistence schema' \
    prints, and check their names";

const UNKNOWN: (StorageErrorKind, &str) = (StorageErrorKind::Backend, "SQLite refuses");

fn class_of_code(code: i32) -> (StorageErrorKind, &'static str) {
    match code {
        code::BUSY | code::LOCKED | code::PROTOCOL => (
            StorageErrorKind::Unavailable,
            "another process holds a lock on the database; let it finish, or raise 'busy-timeout'",
        ),
        code::INTERRUPT => (
            StorageErrorKind::Unavailable,
            "the statement was interrupted",
        ),
        code::FULL => (
            StorageErrorKind::Unavailable,
            "the disk is full or the database has reached its largest size; free some space",
        ),
        code::IOERR => (
            StorageErrorKind::Backend,
            "the disk reports an error; see the system log",
        ),
        code::READONLY | code::PERM | code::AUTH => (
            StorageErrorKind::AccessDenied,
            "the database is read-only; allow writing to the file and its directory, and leave 'mode=ro' out of 'url'",
        ),
        code::CANTOPEN => (
            StorageErrorKind::AccessDenied,
            "the database file cannot be opened; check 'url' and the permissions of the file and its directory",
        ),
        code::NOTADB => (
            StorageErrorKind::SchemaMismatch,
            "the file is not an SQLite database; name another file in 'url'",
        ),
        code::CORRUPT => (
            StorageErrorKind::Corrupt,
            "the database file is damaged, or the disk gave wrong data once; see the system log, run 'PRAGMA integrity_check', \
             and if it is damaged restore a backup, or see https://www.sqlite.org/recovery.html",
        ),
        code::CONSTRAINT | code::MISMATCH => (
            StorageErrorKind::Corrupt,
            "what is stored breaks a rule of the tables; see what else writes to them, and run 'PRAGMA integrity_check' on the \
             database",
        ),
        code::TOOBIG | code::NOLFS => (
            StorageErrorKind::TooLarge,
            "a value or the file is larger than SQLite takes here",
        ),
        _ => UNKNOWN,
    }
}

/// The low byte of an extended result code is the primary one.
fn primary_code(error: &dyn DatabaseError) -> Option<i32> {
    let extended: i32 = error.code()?.parse().ok()?;
    Some(extended & 0xff)
}

#[cfg(test)]
mod tests {
    use std::error::Error;

    use actix_persistence_sql::classify;
    use actix_persistence_storage_api::{Effect, Operation};
    use sqlx::{Connection, SqliteConnection};

    use super::*;

    async fn error_of(sql: &'static str) -> SqlError {
        let mut connection = SqliteConnection::connect(":memory:").await.unwrap();
        let result = sqlx::raw_sql(sql).execute(&mut connection).await;
        result.expect_err(sql).into()
    }

    #[tokio::test]
    async fn real_errors_have_the_kind_that_tells_what_to_do() {
        use StorageErrorKind::*;
        for (sql, kind) in [
            (
                "PRAGMA max_page_count = 2; CREATE TABLE t (a); CREATE TABLE u (a)",
                Unavailable,
            ),
            ("PRAGMA query_only = ON; CREATE TABLE t (a)", AccessDenied),
            (
                "CREATE TABLE t (a UNIQUE); INSERT INTO t VALUES (1), (1)",
                Corrupt,
            ),
            (
                "CREATE TABLE t (a INTEGER) STRICT; INSERT INTO t VALUES ('text')",
                Corrupt,
            ),
            ("SELECT zeroblob(2000000000)", TooLarge),
            ("SELECT * FROM no_such_table", SchemaMismatch),
            ("CREATE TABLE t (a); SELECT b FROM t", SchemaMismatch),
            ("CREATE TABLE t (a); UPDATE t SET b = 1", SchemaMismatch),
            (
                "CREATE TABLE t (a); INSERT INTO t (b) VALUES (1)",
                SchemaMismatch,
            ),
            ("SELECT no_such_function()", Backend),
        ] {
            let error = error_of(sql).await;
            // If this were the answer to a commit.
            let reported = error.reported().expect(sql);
            let expected = match Sqlite::breaks_rule(reported) {
                true => Effect::NotStored,
                false => Effect::Unknown,
            };
            assert_eq!(Sqlite::error_class(reported).effect, expected, "{sql}");
            let error = classify::<Sqlite>(Operation::WriteMessages, Effect::NotStored, error);
            assert_eq!(error.kind(), kind, "{sql}: {error:?}");
            assert!(error.is_not_stored());
            assert!(error.source().is_some());
        }
    }

    #[test]
    fn every_code_of_the_table_has_a_kind_of_its_own_meaning() {
        use StorageErrorKind::*;
        for (code, kind) in [
            (1, Backend),
            (3, AccessDenied),
            (5, Unavailable),
            (6, Unavailable),
            (7, Backend),
            (8, AccessDenied),
            (9, Unavailable),
            (10, Backend),
            (11, Corrupt),
            (13, Unavailable),
            (14, AccessDenied),
            (15, Unavailable),
            (18, TooLarge),
            (19, Corrupt),
            (20, Corrupt),
            (22, TooLarge),
            (23, AccessDenied),
            (26, SchemaMismatch),
        ] {
            assert_eq!(class_of_code(code).0, kind, "code {code}");
        }
    }

    #[test]
    fn an_error_of_the_disk_is_told_as_one() {
        assert!(class_of_code(10).1.contains("the disk reports an error"));
        assert!(class_of_code(13).1.contains("the disk is full"));
        let damaged = class_of_code(11).1;
        assert!(damaged.contains("or the disk gave wrong data once"));
        assert!(damaged.contains("if it is damaged restore a backup"));
    }

    #[test]
    fn the_effect_is_kept_for_writes_only() {
        let error = || SqlError::Driver(sqlx::Error::WorkerCrashed);
        let unknown = classify::<Sqlite>(Operation::WriteMessages, Effect::Unknown, error());
        assert_eq!(unknown.effect(), Some(Effect::Unknown));
        let read = classify::<Sqlite>(Operation::LoadSnapshot, Effect::Unknown, error());
        assert_eq!(read.effect(), None);
    }
}
