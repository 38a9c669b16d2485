//! The meaning of PostgreSQL's errors for the caller; no other place decides it.

use std::error::Error;
use std::fmt;

use actix_persistence_sql::{ErrorClass, ErrorDialect, SqlError};
use actix_persistence_storage_api::StorageErrorKind;
use sqlx::error::DatabaseError;
use sqlx::postgres::{PgDatabaseError, PgSeverity};

use crate::Postgres;

/// The part of an error that is kept: its detail, its hint and its context may quote rows.
#[derive(Debug)]
struct Reported {
    code: String,
    /// The message of the server; left out where the server quotes values.
    message: Option<String>,
    /// The name of the constraint that was violated, and of its table.
    rule: String,
}

impl fmt::Display for Reported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            code,
            message,
            rule,
        } = self;
        match message {
            Some(message) => write!(f, "{message} (SQLSTATE {code}{rule})"),
            None => write!(f, "SQLSTATE {code}{rule}"),
        }
    }
}

impl Error for Reported {}

impl ErrorDialect for Postgres {
    /// Returns the class of an error, by its SQLSTATE: <https://www.postgresql.org/docs/current/errcodes-appendix.html>.
    ///
    /// A statement that fails has no effect; only what ends the session may come after its commit.
    fn error_class(error: &dyn DatabaseError) -> ErrorClass {
        let code = error.code().unwrap_or_default();
        let class = class_of_code(&code);
        let error = error.try_downcast_ref::<PgDatabaseError>();
        if code == "0A000" && error.and_then(PgDatabaseError::routine) == Some(OF_KEPT_PLANS) {
            return ErrorClass::new(StorageErrorKind::Unavailable, ALTERED).of_kept_statement();
        }
        let severity = error.map(PgDatabaseError::severity);
        if matches!(severity, Some(PgSeverity::Fatal | PgSeverity::Panic)) {
            return class.unknown().ends_connection();
        }
        class
    }

    /// Returns whether a value breaks a rule: of its type, of a constraint, of a cast to the type of a column, or of a trigger, which may
    /// use a class of its own.
    fn breaks_rule(error: &dyn DatabaseError) -> bool {
        breaks_rule_by_code(&error.code().unwrap_or_default())
    }

    /// The error without what may quote values.
    ///
    /// Errors of class 22 quote a value in the message itself; those of class 23 name a constraint, which is reported
    /// without the message, whatever else that holds.
    fn source(error: Box<dyn DatabaseError>) -> Box<dyn Error + Send + Sync> {
        let code = error.code().unwrap_or_default().into_owned();
        let is_quoting = matches!(class_of(&code), "22" | "23");
        let mut rule = String::new();
        if let Some(error) = error.try_downcast_ref::<PgDatabaseError>() {
            for (what, name) in [
                ("constraint", error.constraint()),
                ("column", error.column()),
                ("table", error.table()),
            ] {
                if let Some(name) = name {
                    rule += &format!(", {what} {name:?}");
                }
            }
        }
        Box::new(Reported {
            message: (!is_quoting).then(|| error.message().to_owned()),
            code,
            rule,
        })
    }

    /// Returns whether others make the tables at this moment, perhaps by hand and without the lock.
    fn is_disturbed(error: &SqlError) -> bool {
        let code = error.reported().and_then(DatabaseError::code);
        matches!(
            code.as_deref(),
            Some("40001" | "40P01" | "55P03" | "42P06" | "42P07" | "23505")
        )
    }
}

fn breaks_rule_by_code(code: &str) -> bool {
    /// The classes of the server's own codes that begin with a letter; other such classes are of applications.
    const OF_THE_SERVER: [&str; 4] = ["F0", "HV", "P0", "XX"];
    match (class_of(code), code) {
        ("22" | "23" | "44" | "45", _) => true,
        // Raised by a trigger; no assertion of one holds; no such cast.
        (_, "P0001" | "P0004" | "42846") => true,
        (class, _) => {
            class.starts_with(|first: char| first.is_ascii_uppercase())
                && !OF_THE_SERVER.contains(&class)
        }
    }
}

fn class_of(code: &str) -> &str {
    code.get(..2).unwrap_or_default()
}

fn class_of_code(code: &str) -> ErrorClass {
    use StorageErrorKind::*;
    match code {
        "40001" | "40P01" => ErrorClass::new(Unavailable, IN_THE_WAY).again().of_rows(),
        "40003" => {
            ErrorClass::new(Unavailable, "the server does not know what became of it").unknown()
        }
        "55P03" => ErrorClass::new(Unavailable, LOCKED).of_rows(),
        "57014" => ErrorClass::new(Timeout, TOOK_TOO_LONG).of_rows(),
        "57P01" | "57P02" | "57P04" | "57P05" => ErrorClass::new(Unavailable, ENDED)
            .unknown()
            .ends_connection(),
        "25P03" => ErrorClass::new(Unavailable, ENDED).ends_connection(),
        "57P03" => ErrorClass::new(Unavailable, "the server is starting or stopping"),
        "53100" => ErrorClass::new(Unavailable, "the server's disk is full; free some space"),
        "53300" => ErrorClass::new(Unavailable, TOO_MANY_CONNECTIONS),
        "25006" => ErrorClass::new(AccessDenied, READ_ONLY).ends_connection(),
        "42501" => ErrorClass::new(AccessDenied, NO_PRIVILEGE),
        "3D000" => ErrorClass::new(AccessDenied, NO_DATABASE),
        "3F000" | "42P01" | "42703" | "42804" => ErrorClass::new(SchemaMismatch, OTHER_TABLES),
        "22021" | "22P05" => ErrorClass::new(
            Unsupported,
            "a text holds NUL, which PostgreSQL cannot store",
        ),
        "22001" | "22003" => ErrorClass::new(
            Unsupported,
            "a value is too long or too high for its column",
        ),
        "22P02" => ErrorClass::new(Unsupported, "a value is not what its column takes"),
        "XX001" | "XX002" => ErrorClass::new(Corrupt, DAMAGED),
        "26000" => ErrorClass::new(Backend, POOLER),
        "" => ErrorClass::new(Unavailable, ENDED)
            .unknown()
            .ends_connection(),
        _ => match class_of(code) {
            "08" => ErrorClass::new(Unavailable, ENDED)
                .unknown()
                .ends_connection(),
            "23" => ErrorClass::new(Corrupt, CONTRADICTION),
            "28" => ErrorClass::new(AccessDenied, NO_LOGIN),
            "53" => ErrorClass::new(
                Unavailable,
                "the server is short of memory or another resource",
            ),
            "54" => ErrorClass::new(TooLarge, "a value is larger than PostgreSQL takes here"),
            _ => ErrorClass::new(Backend, "PostgreSQL refuses"),
        },
    }
}

/// The function of the server that finds that a statement would return other columns than when it was prepared. Its message is in the
/// server's language, and its code that of anything that is not supported.
const OF_KEPT_PLANS: &str = "RevalidateCachedQuery";
const ALTERED: &str = "a table was altered after the statement was prepared";
const IN_THE_WAY: &str = "other transactions were in the way";
const LOCKED: &str = "another transaction holds a lock; let it finish, or raise 'lock-timeout'";
const TOOK_TOO_LONG: &str =
    "the server ended the statement; see what keeps it busy, or raise 'statement-timeout'";
const ENDED: &str = "the server ended the connection";
const TOO_MANY_CONNECTIONS: &str = "the server has too many connections; raise its max_connections, or lower 'writers' and 'read-connections'";
const READ_ONLY: &str =
    "the server is read-only; name the primary, and leave default_transaction_read_only off";
const NO_PRIVILEGE: &str =
    "the user lacks a privilege; grant it, or let the owner of the tables start once";
const NO_DATABASE: &str = "there is no such database; create it, or name another one";
const OTHER_TABLES: &str = "a table or a column is missing or differs; compare the tables with what \
    'actix-persistence schema' prints, and check 'schema' and the names of tables";
const DAMAGED: &str = "the database is damaged; restore a backup";
const POOLER: &str =
    "prepared statements get lost, as behind a connection pooler that is not in session mode";
const CONTRADICTION: &str = "the tables contradict each other; see what else writes to them";
const NO_LOGIN: &str =
    "the login is refused; check user and password, and the server's pg_hba.conf";

#[cfg(test)]
mod tests {
    use actix_persistence_storage_api::Effect;

    use super::*;

    #[test]
    fn every_code_of_the_table_has_a_kind_of_its_own_meaning() {
        use StorageErrorKind::*;
        for (code, kind) in [
            ("40001", Unavailable),
            ("40P01", Unavailable),
            ("55P03", Unavailable),
            ("57014", Timeout),
            ("57P01", Unavailable),
            ("57P03", Unavailable),
            ("53100", Unavailable),
            ("53200", Unavailable),
            ("53300", Unavailable),
            ("25006", AccessDenied),
            ("28P01", AccessDenied),
            ("28000", AccessDenied),
            ("3D000", AccessDenied),
            ("42501", AccessDenied),
            ("42P01", SchemaMismatch),
            ("22021", Unsupported),
            ("23505", Corrupt),
            ("XX001", Corrupt),
            ("54000", TooLarge),
            ("08006", Unavailable),
            ("XX000", Backend),
            ("P0001", Backend),
        ] {
            assert_eq!(class_of_code(code).kind, kind, "{code}");
        }
    }

    #[test]
    fn only_what_may_come_after_a_commit_leaves_the_outcome_unknown() {
        for code in ["08006", "40003", "57P01", "57P02", "57P05", ""] {
            assert_eq!(class_of_code(code).effect, Effect::Unknown, "{code}");
        }
        for code in [
            "40001", "57014", "55P03", "53100", "23505", "XX000", "25006",
        ] {
            assert_eq!(class_of_code(code).effect, Effect::NotStored, "{code}");
        }
    }

    #[test]
    fn rules_are_told_from_trouble() {
        for code in [
            "22003", "22007", "22P02", "23505", "23502", "44000", "P0001", "42846", "45000",
            "APP01",
        ] {
            assert!(breaks_rule_by_code(code), "{code}");
        }
        for code in [
            "", "42P01", "40001", "57014", "XX000", "P0002", "F0001", "53100", "08006",
        ] {
            assert!(!breaks_rule_by_code(code), "{code}");
        }
    }

    #[test]
    fn what_others_do_to_a_row_is_told_from_trouble_with_the_server() {
        for code in ["40001", "40P01", "55P03", "57014"] {
            assert!(class_of_code(code).of_rows, "{code}");
        }
        for code in [
            "57P01", "53300", "53100", "08006", "25006", "42P01", "XX001",
        ] {
            assert!(!class_of_code(code).of_rows, "{code}");
        }
    }

    #[test]
    fn only_conflicts_of_transactions_are_tried_again() {
        for code in ["40001", "40P01"] {
            assert!(class_of_code(code).again, "{code}");
        }
        for code in ["55P03", "57014", "57P01", "53300", "23505"] {
            assert!(!class_of_code(code).again, "{code}");
        }
    }
}
