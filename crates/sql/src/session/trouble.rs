//! Trouble with the database that code of the application has met with the driver's connection.

use std::error::Error;
use std::iter;

use actix_persistence_storage_api::{Operation, StorageError, StorageErrorKind};

use crate::sql_error::class_of_driver;
use crate::{Dialect, ErrorClass, SqlError};

/// Returns the error of the code as that of a statement of the session would be, if its cause is trouble with the database
/// itself: whether to try again, and whether it counts as an outage, is not the application's to say.
pub(super) fn of_database<D: Dialect>(error: SqlError) -> SqlError {
    let (message, source) = match error {
        SqlError::Refused {
            kind: StorageErrorKind::Extension,
            message,
            source: Some(source),
        } => (message, source),
        error => return error,
    };
    match in_causes::<D>(&*source) {
        Some(class) => SqlError::InSession {
            error: StorageError::new(class.kind, Operation::Transact)
                .with_message(class.message)
                .with_source(source),
            again: class.again,
            ends_connection: class.ends_connection,
            of_rows: class.of_rows,
        },
        None => SqlError::Refused {
            kind: StorageErrorKind::Extension,
            message,
            source: Some(source),
        },
    }
}

/// Returns whether the connection has ended, or is about to, which is not the application's doing. An answer that is not
/// understood is: that is how the driver meets what it was not asked to read.
pub(super) fn is_gone<D: Dialect>(error: &SqlError) -> bool {
    match error {
        SqlError::Driver(error) => class_of::<D>(error).ends_connection,
        error => error.ends_connections::<D>(),
    }
}

/// Returns the class of the first error of the driver among the causes, if that is trouble with the database.
fn in_causes<D: Dialect>(error: &(dyn Error + 'static)) -> Option<ErrorClass> {
    let mut causes = iter::successors(Some(error), |&error| error.source());
    let class = causes.find_map(|error| error.downcast_ref().map(class_of::<D>))?;
    let is_out_of_reach = matches!(
        class.kind,
        StorageErrorKind::Unavailable | StorageErrorKind::Timeout
    );
    let is_trouble = class.again || class.ends_connection || is_out_of_reach;
    // A connection that was lent is closed: what the code prepared with it was prepared in the same transaction. So the code has
    // altered the table itself, unless others did after it went back to a savepoint.
    (is_trouble && !class.of_kept_statement).then_some(class)
}

fn class_of<D: Dialect>(error: &sqlx::Error) -> ErrorClass {
    match error {
        sqlx::Error::Database(error) => D::error_class(&**error),
        sqlx::Error::Io(_) | sqlx::Error::Tls(_) | sqlx::Error::WorkerCrashed => {
            let (kind, message) = class_of_driver(error);
            ErrorClass::new(kind, message).ends_connection()
        }
        _ => ErrorClass::new(StorageErrorKind::Extension, "the driver refuses"),
    }
}
