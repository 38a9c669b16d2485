//! What SQLite's result codes mean for the caller: the one place that decides.

use std::error::Error;

use actix_persistence_storage_api::{Effect, Operation, StorageError, StorageErrorKind};

/// Primary result codes, see <https://www.sqlite.org/rescode.html#primary_result_code_list>.
mod code {
    pub(super) const PERM: i32 = 3;
    pub(super) const BUSY: i32 = 5;
    pub(super) const LOCKED: i32 = 6;
    pub(super) const READONLY: i32 = 8;
    pub(super) const INTERRUPT: i32 = 9;
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

/// Why an operation stopped, before anybody decided what that means for its caller.
#[derive(Debug)]
pub(crate) enum Fault {
    /// SQLite or its driver says so.
    Database(sqlx::Error),
    /// This crate says so.
    Refused {
        kind: StorageErrorKind,
        message: String,
        source: Option<Box<dyn Error + Send + Sync>>,
    },
}

impl Fault {
    pub(crate) fn refused(kind: StorageErrorKind, message: impl Into<String>) -> Self {
        Fault::Refused {
            kind,
            message: message.into(),
            source: None,
        }
    }

    /// Whether somebody else holds a lock, so that trying again soon is likely to work.
    pub(crate) fn is_busy(&self) -> bool {
        matches!(
            primary_code(self),
            Some(code::BUSY | code::LOCKED | code::PROTOCOL)
        )
    }
}

impl From<sqlx::Error> for Fault {
    fn from(error: sqlx::Error) -> Self {
        Fault::Database(error)
    }
}

/// What a fault means; `effect` is what is certain about a write, and is not looked at for a read.
pub(crate) fn classify(operation: Operation, effect: Effect, fault: Fault) -> StorageError {
    let (kind, message) = match primary_code(&fault) {
        Some(code) => meaning(code),
        None => meaning_without_code(&fault),
    };
    let error = StorageError::new(kind, operation);
    let error = if operation.writes() {
        error.with_effect(effect)
    } else {
        error
    };
    match fault {
        // The driver's wrapper repeats the cause in its own text.
        Fault::Database(sqlx::Error::Database(source)) => {
            error.with_message(message).with_source(source.into_error())
        }
        Fault::Database(source) => error.with_message(message).with_source(source),
        Fault::Refused {
            message,
            source: None,
            ..
        } => error.with_message(message),
        Fault::Refused {
            message,
            source: Some(source),
            ..
        } => error.with_message(message).with_source(source),
    }
}

fn meaning(code: i32) -> (StorageErrorKind, &'static str) {
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
            "the database file is damaged; restore a backup, or see https://www.sqlite.org/recovery.html",
        ),
        code::CONSTRAINT | code::MISMATCH => (
            StorageErrorKind::Corrupt,
            "the tables contradict each other; run 'PRAGMA integrity_check' on the database",
        ),
        code::TOOBIG | code::NOLFS => (
            StorageErrorKind::TooLarge,
            "a value or the file is larger than SQLite takes here",
        ),
        _ => (StorageErrorKind::Backend, "SQLite refuses"),
    }
}

fn meaning_without_code(fault: &Fault) -> (StorageErrorKind, &'static str) {
    match fault {
        Fault::Refused { kind, .. } => (*kind, ""),
        Fault::Database(sqlx::Error::WorkerCrashed) => (
            StorageErrorKind::Unavailable,
            "the connection's thread has ended",
        ),
        Fault::Database(
            sqlx::Error::Decode(_)
            | sqlx::Error::ColumnDecode { .. }
            | sqlx::Error::RowNotFound
            | sqlx::Error::ColumnNotFound(_)
            | sqlx::Error::ColumnIndexOutOfBounds { .. },
        ) => (
            StorageErrorKind::Corrupt,
            "a row does not hold what this version stores",
        ),
        Fault::Database(_) => (StorageErrorKind::Backend, "the driver refuses"),
    }
}

/// The low byte of an extended result code is the primary one.
fn primary_code(fault: &Fault) -> Option<i32> {
    let Fault::Database(sqlx::Error::Database(error)) = fault else {
        return None;
    };
    let extended: i32 = error.code()?.parse().ok()?;
    Some(extended & 0xff)
}

#[cfg(test)]
mod tests {
    use sqlx::{Connection, SqliteConnection};

    use super::*;

    async fn fault_of(sql: &'static str) -> Fault {
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
            ("SELECT * FROM no_such_table", Backend),
        ] {
            let fault = fault_of(sql).await;
            let error = classify(Operation::WriteMessages, Effect::NotStored, fault);
            assert_eq!(error.kind(), kind, "{sql}: {error:?}");
            assert!(error.is_certainly_not_stored());
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
            assert_eq!(meaning(code).0, kind, "code {code}");
        }
    }

    #[test]
    fn the_effect_is_kept_for_writes_only() {
        let fault = || Fault::Database(sqlx::Error::WorkerCrashed);
        let unknown = classify(Operation::WriteMessages, Effect::Unknown, fault());
        assert_eq!(unknown.effect(), Some(Effect::Unknown));
        let read = classify(Operation::LoadSnapshot, Effect::Unknown, fault());
        assert_eq!(read.effect(), None);
    }
}
