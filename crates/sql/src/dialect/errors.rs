//! The part of a dialect that understands errors.

use std::error::Error;

use sqlx::error::DatabaseError;

use super::Driver;
use crate::{ErrorClass, SqlError};

/// The meaning of the errors that a database reports; nothing else decides it.
pub trait ErrorDialect: Driver {
    /// Returns the class of an error.
    fn error_class(error: &dyn DatabaseError) -> ErrorClass;

    /// Returns whether a rule of a table does not take a value: the type or the length of a column, NOT NULL, UNIQUE, CHECK, a foreign
    /// key, or a trigger that raises an error.
    ///
    /// Asked only of statements in which such a rule can be that of the application.
    fn breaks_rule(error: &dyn DatabaseError) -> bool;

    /// Returns the form of an error that may be the source of another one; nothing in it can quote a row or a secret.
    fn source(error: Box<dyn DatabaseError>) -> Box<dyn Error + Send + Sync> {
        error.into_error()
    }

    /// Returns whether a statement that defines something failed because that is done already: the table, the column or the
    /// index is there, or gone. Asked only where definitions commit.
    fn is_made_already(_error: &dyn DatabaseError) -> bool {
        false
    }

    /// Returns whether others are in the way for a moment: of initialising, or of a transaction that its work begins.
    fn is_disturbed(error: &SqlError) -> bool;
}
