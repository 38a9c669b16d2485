//! The meaning of the error numbers of MySQL and MariaDB for the caller; no other place decides it.

use std::error::Error;
use std::fmt;

use actix_persistence_sql::{ErrorClass, ErrorDialect, SqlError};
use actix_persistence_storage_api::StorageErrorKind;
use sqlx::error::DatabaseError;
use sqlx::mysql::MySqlDatabaseError;

use crate::Mysql;

/// The part of an error that is kept: its text may quote a value, so only what is known not to is reported.
#[derive(Debug)]
struct Reported {
    number: u16,
    state: String,
    /// The message of the server; left out where the server quotes values of rows.
    message: Option<String>,
}

impl fmt::Display for Reported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.message {
            Some(message) => write!(
                f,
                "{message} (error {}, SQLSTATE {})",
                self.number, self.state
            ),
            None => write!(f, "error {}, SQLSTATE {}", self.number, self.state),
        }
    }
}

impl Error for Reported {}

/// Errors whose text quotes a value: a key, a text that cannot be converted, a piece of a statement.
const QUOTING: [u16; 16] = [
    1062, 1064, 1264, 1292, 1366, 1367, 1406, 1411, 1525, 1526, 1586, 1690, 1918, 3140, 3141, 4038,
];

/// The text before the name of the key in the message about a row that already exists; the name ends the message.
const OF_KEY: &str = " for key ";

impl ErrorDialect for Mysql {
    /// Returns the class of an error, by its number:
    /// <https://dev.mysql.com/doc/mysql-errors/8.4/en/server-error-reference.html>,
    /// <https://mariadb.com/docs/server/reference/error-codes/mariadb-error-code-reference>.
    ///
    /// Nothing is certain about a commit that fails. What comes before it is not stored, whatever it says: the connection is
    /// closed, and it will never commit.
    fn error_class(error: &dyn DatabaseError) -> ErrorClass {
        class_of_number(number(error)).unknown()
    }

    /// Returns whether a table, a column, a key, a routine or a trigger is there already, or is not there to be dropped.
    fn is_made_already(error: &dyn DatabaseError) -> bool {
        matches!(
            number(error),
            1050 | 1051
                | 1060
                | 1061
                | 1068
                | 1091
                | 1304
                | 1305
                | 1359
                | 1360
                | 1537
                | 1539
                | 1826
        )
    }

    /// Returns whether a value breaks a rule: of its column, of a constraint, or of a trigger that signals.
    fn breaks_rule(error: &dyn DatabaseError) -> bool {
        breaks_rule_by(number(error), &error.code().unwrap_or_default())
    }

    /// The error without what may quote rows.
    fn source(error: Box<dyn DatabaseError>) -> Box<dyn Error + Send + Sync> {
        let number = number(&*error);
        let text = error.message();
        let message = match number {
            // The value comes before the key, so the last of such words are not a part of it.
            1062 | 1586 => text
                .rfind(OF_KEY)
                .map(|at| format!("there is such a row{}", &text[at..])),
            number => (!QUOTING.contains(&number)).then(|| text.to_owned()),
        };
        Box::new(Reported {
            number,
            state: error.code().unwrap_or_default().into_owned(),
            message,
        })
    }

    /// Returns whether initialising may work when it is tried again after a moment.
    fn is_disturbed(error: &SqlError) -> bool {
        let waits_for_others = |number| number == 1205 || class_of_number(number).again;
        error
            .reported()
            .is_some_and(|error| waits_for_others(number(error)))
    }
}

/// Decides by the class of the SQLSTATE, or by the number if the state says nothing.
fn breaks_rule_by(number: u16, state: &str) -> bool {
    let class = state.get(..2).unwrap_or_default();
    matches!(class, "22" | "23" | "44" | "45")
        || matches!(
            number,
            // Cut short; no value for a column; wrong text, date or value.
            1265 | 1364 | 1366 | 1367 | 1411 | 1525 | 1918
            // A view, a partition, a trigger, a generated column, a CHECK or a type that takes no such value.
            | 1369 | 1526 | 1644 | 1906 | 3105 | 3140 | 3819 | 4025 | 4078
        )
}

fn number(error: &dyn DatabaseError) -> u16 {
    error
        .try_downcast_ref::<MySqlDatabaseError>()
        .map_or(0, MySqlDatabaseError::number)
}

fn class_of_number(number: u16) -> ErrorClass {
    use StorageErrorKind::*;
    match number {
        // A deadlock, and what newer servers of MariaDB say instead: a row has changed since it was read.
        1213 | 1020 => ErrorClass::new(Unavailable, IN_THE_WAY).again().of_rows(),
        // It has waited for all the time that it may, or may not wait.
        1205 | 3572 => ErrorClass::new(Unavailable, LOCKED).of_rows(),
        1317 => ErrorClass::new(Unavailable, "somebody ended the statement"),
        // Statement time-outs of MySQL and MariaDB.
        3024 | 1969 => ErrorClass::new(Timeout, TOOK_TOO_LONG).of_rows(),
        // Shut down; gone; lost; killed; killed at a time-out; a transaction or session idle for too long.
        1053 | 1077 | 2006 | 2013 | 1927 | 1152 | 1158..=1161 | 3169 | 4031 => {
            ErrorClass::new(Unavailable, ENDED).ends_connection()
        }
        1040 | 1203 | 1226 => ErrorClass::new(Unavailable, TOO_MANY_CONNECTIONS),
        1021 | 1114 | 3019 => {
            ErrorClass::new(Unavailable, "the server's disk is full; free some space")
        }
        1037 | 1038 | 1041 | 1206 => ErrorClass::new(
            Unavailable,
            "the server is short of memory or another resource",
        ),
        1290 | 1836 | 1792 | 1874 | 3100 => {
            ErrorClass::new(AccessDenied, READ_ONLY).ends_connection()
        }
        1045 | 1130 | 1129 | 1251 | 1275 | 1698 | 1862 | 1820 | 3118 | 3159 | 4151 => {
            ErrorClass::new(AccessDenied, NO_LOGIN)
        }
        1044 | 1142 | 1143 | 1227 | 1370 | 1410 => ErrorClass::new(AccessDenied, NO_PRIVILEGE),
        1046 | 1049 => ErrorClass::new(AccessDenied, NO_DATABASE),
        1054 | 1146 | 1136 | 1364 | 1347 | 1471 => ErrorClass::new(SchemaMismatch, OTHER_TABLES),
        1153 | 1162 | 1301 | 1118 | 1390 | 1461 => ErrorClass::new(TooLarge, TOO_LARGE),
        3819 | 4025 | 1366 | 1367 | 3140 => ErrorClass::new(Unsupported, NOT_WHAT_THE_COLUMN_TAKES),
        1406 | 1264 => ErrorClass::new(
            Unsupported,
            "a value is too long or too high for its column",
        ),
        1022 | 1048 | 1062 | 1169 | 1586 => ErrorClass::new(Corrupt, CONTRADICTION),
        1034 | 1035 | 1194 | 1195 | 1712 | 1877 | 145 => ErrorClass::new(Corrupt, DAMAGED),
        1665 => ErrorClass::new(Unsupported, STATEMENT_LOGGING),
        1286 | 1235 => ErrorClass::new(Unsupported, "the server lacks InnoDB or another feature"),
        _ => ErrorClass::new(Backend, "the database refuses"),
    }
}

const IN_THE_WAY: &str = "other transactions were in the way";
const LOCKED: &str = "another transaction holds a lock; let it finish, or raise 'lock-timeout'";
const TOOK_TOO_LONG: &str =
    "the server ended the statement; see what keeps it busy, or raise 'statement-timeout'";
const ENDED: &str = "the server ended the connection";
const TOO_MANY_CONNECTIONS: &str = "the server has too many connections; raise its max_connections, or lower \
     'writers' and 'read-connections'";
const READ_ONLY: &str = "the server is read-only; name the primary, or switch read_only off";
const NO_LOGIN: &str =
    "the login is refused; check user and password, and from where the user may log in";
const NO_PRIVILEGE: &str =
    "the user lacks a privilege; grant it, or let the owner of the tables start once";
const NO_DATABASE: &str = "there is no such database; create it, or name another one";
const OTHER_TABLES: &str = "a table or a column is missing or differs; compare the tables with what \
    'actix-persistence schema' prints, and check their names";
const TOO_LARGE: &str = "a value is larger than the server takes; make it smaller, or raise the server's max_allowed_packet";
const NOT_WHAT_THE_COLUMN_TAKES: &str = "a value is not what its column takes; with a 'payload-column' of \"json\" use a \
     serializer that writes JSON";
const CONTRADICTION: &str = "the tables contradict each other; see what else writes to them";
const DAMAGED: &str = "a table is damaged; run 'CHECK TABLE', and restore a backup";
const STATEMENT_LOGGING: &str = "the binary log takes statements instead of rows; set the server's binlog_format to ROW or MIXED";

#[cfg(test)]
mod tests {
    use actix_persistence_storage_api::Effect;

    use super::*;

    #[test]
    fn every_number_of_the_table_has_a_kind_of_its_own_meaning() {
        use StorageErrorKind::*;
        for (number, kind) in [
            (1213, Unavailable),
            (1205, Unavailable),
            (1969, Timeout),
            (3024, Timeout),
            (1053, Unavailable),
            (1927, Unavailable),
            (1040, Unavailable),
            (1021, Unavailable),
            (1290, AccessDenied),
            (1045, AccessDenied),
            (1142, AccessDenied),
            (1049, AccessDenied),
            (1146, SchemaMismatch),
            (1153, TooLarge),
            (4025, Unsupported),
            (3819, Unsupported),
            (1062, Corrupt),
            (1665, Unsupported),
            (1064, Backend),
            (0, Backend),
        ] {
            assert_eq!(class_of_number(number).kind, kind, "{number}");
        }
    }

    #[test]
    fn rules_are_told_from_trouble() {
        for (number, state) in [
            (1062, "23000"),
            (1264, "22003"),
            (1265, "01000"),
            (1292, "22007"),
            (1366, "HY000"),
            (1406, "22001"),
            (1644, "45000"),
            (3819, "HY000"),
            (4025, "23000"),
        ] {
            assert!(breaks_rule_by(number, state), "{number}");
        }
        for (number, state) in [
            (1205, "HY000"),
            (1213, "40001"),
            (1146, "42S02"),
            (2013, "HY000"),
        ] {
            assert!(!breaks_rule_by(number, state), "{number}");
        }
    }

    #[test]
    fn only_conflicts_of_transactions_are_tried_again() {
        let again: Vec<u16> = (0..5_000)
            .filter(|number| class_of_number(*number).again)
            .collect();
        assert_eq!(again, [1020, 1213]);
    }

    #[test]
    fn what_others_do_to_a_row_is_told_from_trouble_with_the_server() {
        let of_rows: Vec<u16> = (0..5_000)
            .filter(|number| class_of_number(*number).of_rows)
            .collect();
        assert_eq!(of_rows, [1020, 1205, 1213, 1969, 3024, 3572]);
    }

    #[test]
    fn an_error_of_a_commit_leaves_the_outcome_unknown() {
        for number in [1213, 1290, 1927, 0] {
            let class = class_of_number(number).unknown();
            assert_eq!(class.effect, Effect::Unknown, "{number}");
        }
    }
}
