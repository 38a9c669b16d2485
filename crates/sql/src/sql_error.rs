//! The reason why an operation stopped, and its meaning for the caller.

use std::borrow::Cow;
use std::error::Error;
use std::{fmt, io};

use actix_persistence_storage_api::{Effect, Operation, StorageError, StorageErrorKind};
use sqlx::error::DatabaseError;

use crate::Dialect;

/// The reason why an operation stopped, before its meaning for the caller is decided.
#[derive(Debug)]
pub enum SqlError {
    /// The database or its driver says so.
    Driver(sqlx::Error),
    /// The plugin says so.
    Refused {
        /// The kind of trouble.
        kind: StorageErrorKind,
        /// The thing that could not be done, and the setting to change.
        message: String,
        /// The source of the error.
        source: Option<Box<dyn Error + Send + Sync>>,
    },
    /// A statement of the application failed, and the application has the error already.
    InSession {
        /// The error that the application got.
        error: StorageError,
        /// True if the same work may be tried again at once.
        again: bool,
        /// True if other connections that wait for work are likely to be lost, too.
        ends_connection: bool,
        /// True if others who use the same rows are the reason.
        of_rows: bool,
    },
    /// The database did not answer within the time an operation may take.
    Silent,
}

/// The class of an error that the database reports: its meaning for the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorClass {
    /// The kind of trouble.
    pub kind: StorageErrorKind,
    /// The thing that could not be done, and the setting to change.
    pub message: Cow<'static, str>,
    /// The effect of a statement that commits by itself, or of a commit, that is answered with this error.
    pub effect: Effect,
    /// True if the same work may be tried again at once, when certainly nothing of it is stored.
    pub again: bool,
    /// True if the server ends the connection, or is about to, so that others like it are lost as well.
    pub ends_connection: bool,
    /// True if others who use the same rows are the reason, so that a statement about other rows may work.
    pub of_rows: bool,
    /// True if the connection keeps a statement from before one of its tables was altered, and does not run it any more.
    pub of_kept_statement: bool,
}

impl ErrorClass {
    /// Makes an error of a statement that had no effect, and would be the same if it were tried again.
    pub fn new(kind: StorageErrorKind, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            kind,
            message: message.into(),
            effect: Effect::NotStored,
            again: false,
            ends_connection: false,
            of_rows: false,
            of_kept_statement: false,
        }
    }

    /// The work may be tried again at once.
    #[must_use]
    pub fn again(mut self) -> Self {
        self.again = true;
        self
    }

    /// The statement could not have its rows.
    #[must_use]
    pub fn of_rows(mut self) -> Self {
        self.of_rows = true;
        self
    }

    /// A table was altered after the connection prepared the statement, and the other connections may keep it, too.
    #[must_use]
    pub fn of_kept_statement(mut self) -> Self {
        self.of_kept_statement = true;
        self.again().ends_connection()
    }

    /// The work may be stored or not.
    #[must_use]
    pub fn unknown(mut self) -> Self {
        self.effect = Effect::Unknown;
        self
    }

    /// The connection is at its end.
    #[must_use]
    pub fn ends_connection(mut self) -> Self {
        self.ends_connection = true;
        self
    }
}

impl SqlError {
    /// Returns the error of a request that the plugin refuses.
    pub fn refused(kind: StorageErrorKind, message: impl Into<String>) -> Self {
        SqlError::Refused {
            kind,
            message: message.into(),
            source: None,
        }
    }

    /// Returns the error for stored data that contradicts itself.
    pub fn corrupt(message: impl Into<String>) -> Self {
        Self::refused(StorageErrorKind::Corrupt, message)
    }

    /// Returns the error for a schema that this version cannot work with.
    pub fn mismatch(message: impl Into<String>) -> Self {
        Self::refused(StorageErrorKind::SchemaMismatch, message)
    }

    /// Returns the same error with the `place` in the stored data, such as a column, before its message.
    #[must_use]
    pub fn about(self, place: fmt::Arguments<'_>) -> Self {
        match self {
            SqlError::Driver(error) => {
                let (kind, message) = class_of_driver(&error);
                SqlError::Refused {
                    kind,
                    message: format!("{place}: {message}"),
                    source: Some(without_wrapper(error)),
                }
            }
            SqlError::Refused {
                kind,
                message,
                source,
            } => SqlError::Refused {
                kind,
                message: format!("{place}: {message}"),
                source,
            },
            error @ (SqlError::InSession { .. } | SqlError::Silent) => error,
        }
    }

    fn is_refused_as(&self, expected: StorageErrorKind) -> bool {
        matches!(self, SqlError::Refused { kind, .. } if *kind == expected)
    }

    /// Returns whether the tables are not those of this version.
    pub(crate) fn is_mismatch(&self) -> bool {
        self.is_refused_as(StorageErrorKind::SchemaMismatch)
    }

    /// Returns whether stored data contradicts itself.
    pub(crate) fn is_corrupt(&self) -> bool {
        self.is_refused_as(StorageErrorKind::Corrupt)
    }

    /// Returns whether the database refuses every login, or every write.
    pub(crate) fn is_refusal<D: Dialect>(&self) -> bool {
        self.kind::<D>() == Some(StorageErrorKind::AccessDenied)
    }

    /// Returns the kind of what was refused, or of what the database reported.
    fn kind<D: Dialect>(&self) -> Option<StorageErrorKind> {
        match self {
            SqlError::Refused { kind, .. } => Some(*kind),
            error => error.reported().map(|error| D::error_class(error).kind),
        }
    }

    /// Returns whether it is trouble with the database itself, whichever call met it.
    pub(crate) fn is_of_the_store(&self) -> bool {
        match self {
            SqlError::InSession {
                error,
                again,
                ends_connection,
                ..
            } => {
                let is_out_of_reach = matches!(
                    error.kind(),
                    StorageErrorKind::Unavailable | StorageErrorKind::Timeout
                );
                *again || *ends_connection || is_out_of_reach
            }
            _ => true,
        }
    }

    /// Returns whether the database has answered all that it was asked, and has no trouble of its own; for the end of a
    /// transaction of which no statement was given up.
    pub(crate) fn is_after_an_answer<D: Dialect>(&self) -> bool {
        let is_trouble = |kind| {
            matches!(
                kind,
                StorageErrorKind::Unavailable | StorageErrorKind::Timeout
            )
        };
        match self {
            // Code of the application has ended.
            SqlError::Refused { kind, .. } => *kind == StorageErrorKind::Extension,
            SqlError::InSession { .. } => !self.is_of_the_store(),
            error => error
                .reported()
                .is_some_and(|error| !is_trouble(D::error_class(error).kind)),
        }
    }

    /// Returns the source for an error that comes from this one.
    pub fn into_source(self) -> Option<Box<dyn Error + Send + Sync>> {
        match self {
            SqlError::Driver(error) => Some(without_wrapper(error)),
            SqlError::Refused { source, .. } => source,
            SqlError::InSession { error, .. } => Some(error.into()),
            SqlError::Silent => None,
        }
    }

    /// Returns the error as it is in tables to which only the plugin writes: a broken rule is then no refusal of a value.
    #[must_use]
    pub(crate) fn in_own_tables<D: Dialect>(self) -> Self {
        match self {
            SqlError::Driver(sqlx::Error::Database(error)) if D::breaks_rule(&*error) => {
                let ErrorClass { kind, message, .. } = D::error_class(&*error);
                SqlError::Refused {
                    kind,
                    message: message.into_owned(),
                    source: Some(D::source(error)),
                }
            }
            error => error,
        }
    }

    /// Returns the error as it is for a statement that has run before in the same transaction: if a table was altered since, then
    /// by the transaction itself, as it would be in every other attempt, because locks keep others from it. They do so only once
    /// the transaction has gone back to a savepoint, or where it is a function that returns other columns.
    #[must_use]
    pub(crate) fn after_the_same_statement<D: Dialect>(self) -> Self {
        match self {
            SqlError::Driver(sqlx::Error::Database(error))
                if D::error_class(&*error).of_kept_statement =>
            {
                SqlError::Refused {
                    kind: StorageErrorKind::Extension,
                    message: ALTERED_ITSELF.to_owned(),
                    source: Some(D::source(error)),
                }
            }
            error => error,
        }
    }

    /// Returns the error of opening a connection to a server: before there is one, none was lost.
    pub fn of_connecting(error: sqlx::Error) -> Self {
        let (kind, message, error) = match error {
            // This is how the handshake reports what it finds in a certificate.
            sqlx::Error::Io(error) if error.kind() == io::ErrorKind::InvalidData => {
                (StorageErrorKind::AccessDenied, NOT_SECURE, error)
            }
            // It has answered, and gone away again.
            sqlx::Error::Io(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::UnexpectedEof
                        | io::ErrorKind::ConnectionReset
                        | io::ErrorKind::ConnectionAborted
                        | io::ErrorKind::BrokenPipe
                ) =>
            {
                (StorageErrorKind::Unavailable, CLOSED, error)
            }
            sqlx::Error::Io(error) => (StorageErrorKind::Unavailable, UNREACHABLE, error),
            error => return error.into(),
        };
        SqlError::Refused {
            kind,
            message: message.to_owned(),
            source: Some(error.into()),
        }
    }

    /// Returns the error that the database reports, if this is one.
    pub fn reported(&self) -> Option<&dyn DatabaseError> {
        match self {
            SqlError::Driver(sqlx::Error::Database(error)) => Some(&**error),
            _ => None,
        }
    }

    /// Returns whether a row is there already that has to be the only one of its kind.
    pub(crate) fn is_unique_violation(&self) -> bool {
        self.reported()
            .is_some_and(DatabaseError::is_unique_violation)
    }

    /// Returns the effect of a statement that commits by itself, or of a commit, that ended with this error.
    pub(crate) fn effect<D: Dialect>(&self) -> Effect {
        match self {
            SqlError::Driver(sqlx::Error::Database(error)) => D::error_class(&**error).effect,
            // It was never sent.
            SqlError::Driver(sqlx::Error::Encode(_)) => Effect::NotStored,
            // No statement changed a row.
            SqlError::Refused {
                kind: StorageErrorKind::Constraint,
                ..
            } => Effect::NotStored,
            _ => Effect::Unknown,
        }
    }

    /// Returns whether others who use the same rows are the reason.
    pub(crate) fn is_of_rows<D: Dialect>(&self) -> bool {
        self.reported()
            .is_some_and(|error| D::error_class(error).of_rows)
    }

    /// Returns an error for which others who use the same rows are the reason as trouble that passes and says nothing of the store:
    /// the rows are those of the application.
    #[must_use]
    pub(crate) fn of_rows_of_the_application(self) -> Self {
        match self {
            SqlError::InSession {
                error,
                again,
                ends_connection,
                of_rows: true,
            } => SqlError::InSession {
                error: StorageError::new(StorageErrorKind::Busy, Operation::Transact)
                    .with_message(OTHERS_USE_ROWS)
                    .with_source(error),
                again,
                ends_connection,
                of_rows: true,
            },
            error => error,
        }
    }

    /// Returns whether the same work may be tried again at once.
    pub(crate) fn may_be_tried_again<D: Dialect>(&self) -> bool {
        if let SqlError::InSession { again, .. } = self {
            return *again;
        }
        self.reported()
            .is_some_and(|error| D::error_class(error).again)
    }

    /// Returns whether the row that a statement was about may be the reason, rather than the database: others hold it,
    /// or a rule does not take it.
    pub(crate) fn may_be_of_a_row<D: Dialect>(&self) -> bool {
        match self {
            SqlError::Refused { kind, .. } => matches!(
                kind,
                StorageErrorKind::Unavailable
                    | StorageErrorKind::Constraint
                    | StorageErrorKind::Extension
                    | StorageErrorKind::Unsupported
            ),
            error => error
                .reported()
                .is_some_and(|error| D::error_class(error).of_rows || D::breaks_rule(error)),
        }
    }

    /// Returns whether a statement took longer than it may.
    pub(crate) fn is_time_out<D: Dialect>(&self) -> bool {
        self.kind::<D>() == Some(StorageErrorKind::Timeout)
    }

    /// Returns whether other connections that wait for work are likely to be lost, too.
    pub(crate) fn ends_connections<D: Dialect>(&self) -> bool {
        match self {
            SqlError::Driver(sqlx::Error::Database(error)) => {
                D::error_class(&**error).ends_connection
            }
            SqlError::Driver(error) => is_lost(error),
            SqlError::Refused { .. } => false,
            SqlError::InSession {
                ends_connection, ..
            } => *ends_connection,
            SqlError::Silent => true,
        }
    }
}

impl From<sqlx::Error> for SqlError {
    fn from(error: sqlx::Error) -> Self {
        SqlError::Driver(error)
    }
}

/// Returns the error for the caller; `effect` is the effect of a write, and is not used for a read.
pub fn classify<D: Dialect>(operation: Operation, effect: Effect, error: SqlError) -> StorageError {
    let (kind, message, source) = match error {
        // The driver's wrapper repeats the cause in its own text.
        SqlError::Driver(sqlx::Error::Database(error))
            if may_break_rules(operation) && D::breaks_rule(&*error) =>
        {
            let message = match operation {
                Operation::Transact => RULE_OF_A_TABLE,
                _ => RULE_OF_OTHERS,
            };
            let kind = StorageErrorKind::Constraint;
            (kind, message.into(), Some(D::source(error)))
        }
        SqlError::Driver(sqlx::Error::Database(error)) => {
            let ErrorClass { kind, message, .. } = D::error_class(&*error);
            (kind, message, Some(D::source(error)))
        }
        SqlError::Driver(error) => {
            let (kind, message) = class_of_driver(&error);
            (kind, message.into(), Some(without_wrapper(error)))
        }
        SqlError::Refused {
            kind,
            message,
            source,
        } => (kind, Cow::Owned(message), source),
        SqlError::InSession { error, .. } => {
            let message = "a statement of the application failed".into();
            (error.kind(), message, Some(error.into()))
        }
        SqlError::Silent => (StorageErrorKind::Timeout, SILENT.into(), None),
    };
    let mut error = StorageError::new(kind, operation).with_message(message);
    if operation.writes() {
        error = error.with_effect(effect);
    }
    match source {
        Some(source) => error.with_source(source),
        None => error,
    }
}

/// The cause itself where the driver's text is the cause's with words before it: a report of all causes would show it
/// twice.
fn without_wrapper(error: sqlx::Error) -> Box<dyn Error + Send + Sync> {
    match error {
        sqlx::Error::Io(error) => error.into(),
        sqlx::Error::Tls(error) | sqlx::Error::Configuration(error) => error,
        error => error.into(),
    }
}

/// Returns whether rules that others made may be in the way: those of our own columns hold for whatever is stored, and
/// a second row of an id is found before.
fn may_break_rules(operation: Operation) -> bool {
    matches!(
        operation,
        Operation::UpsertState
            | Operation::DeleteState
            | Operation::HardDeleteState
            | Operation::Transact
    )
}

const RULE_OF_OTHERS: &str = "a column, a rule or a trigger that was added to the table does not take it; see which values \
    must be there, which ones fit, and which must be the only ones of their kind";
const RULE_OF_A_TABLE: &str = "a rule of the table does not take a value: the type or length of a column, NOT NULL, UNIQUE, \
    CHECK, a foreign key, or a trigger";
const OTHERS_USE_ROWS: &str =
    "other transactions use the rows or the table of the statement; let them end";
const ALTERED_ITSELF: &str = "a table was altered after the transaction ran the same statement, which would return other columns \
    now; alter tables in a transaction of their own";
const NOT_SECURE: &str = "no secure connection could be made; check the keys that begin with 'tls'";
const CLOSED: &str = "the server, or what stands before it, accepted the connection and closed it; see its log, whether it is \
    starting or stopping, takes so many connections, and is the kind of server that the section names";
const UNREACHABLE: &str =
    "no server can be reached there; see whether it runs, and check host and port";
const SILENT: &str = "the database gave no answer in time; see whether it is overloaded or hangs, or raise the time-outs";

fn is_lost(error: &sqlx::Error) -> bool {
    matches!(
        error,
        sqlx::Error::Io(_)
            | sqlx::Error::Tls(_)
            | sqlx::Error::Protocol(_)
            | sqlx::Error::WorkerCrashed
    )
}

pub(crate) fn class_of_driver(error: &sqlx::Error) -> (StorageErrorKind, &'static str) {
    match error {
        sqlx::Error::WorkerCrashed => (
            StorageErrorKind::Unavailable,
            "the connection's thread has ended",
        ),
        sqlx::Error::Io(_) => (
            StorageErrorKind::Unavailable,
            "the connection to the server was lost",
        ),
        sqlx::Error::Protocol(_) => (
            StorageErrorKind::Unavailable,
            "the server's answer was not understood, as after a lost connection",
        ),
        sqlx::Error::Tls(_) => (StorageErrorKind::AccessDenied, NOT_SECURE),
        sqlx::Error::Configuration(_) => (
            StorageErrorKind::AccessDenied,
            "the connection settings cannot be used",
        ),
        sqlx::Error::Decode(_)
        | sqlx::Error::ColumnDecode { .. }
        | sqlx::Error::RowNotFound
        | sqlx::Error::ColumnNotFound(_)
        | sqlx::Error::ColumnIndexOutOfBounds { .. } => (
            StorageErrorKind::Corrupt,
            "a row does not hold what this version stores",
        ),
        _ => (StorageErrorKind::Backend, "the driver refuses"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_connecting(kind: io::ErrorKind) -> (StorageErrorKind, String) {
        match SqlError::of_connecting(sqlx::Error::Io(kind.into())) {
            SqlError::Refused { kind, message, .. } => (kind, message),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_server_that_closes_a_connection_is_told_from_none() {
        let (kind, message) = of_connecting(io::ErrorKind::UnexpectedEof);
        assert_eq!(kind, StorageErrorKind::Unavailable);
        assert!(message.contains("closed it"), "{message}");
        let (kind, message) = of_connecting(io::ErrorKind::ConnectionRefused);
        assert_eq!(kind, StorageErrorKind::Unavailable);
        assert!(message.contains("no server can be reached"), "{message}");
    }

    #[test]
    fn causes_are_told_once() {
        let reset = io::Error::other("Connection reset by peer");
        let source = without_wrapper(sqlx::Error::Io(reset));
        assert_eq!(source.to_string(), "Connection reset by peer");
        assert!(source.source().is_none());
    }
}
