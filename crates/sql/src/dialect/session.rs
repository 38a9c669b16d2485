//! The part of a dialect for statements and values of the application.

use actix_persistence_storage_api::SqlValue;
use sqlx::Database;

use super::{Driver, RowOf};
use crate::{Quoting, SqlError};

/// The placeholders, quotes and values of statements of the application.
pub trait SessionDialect: Driver {
    /// The quotes and comments of the database.
    const QUOTING: Quoting;

    /// The statement that lets a connection see how tables are now, where the driver takes a statement to return the columns for
    /// which the connection has prepared it.
    const LOOK_AT_TABLES: Option<&'static str> = None;

    /// Selects what the store depends on in a session and only the driver's connection can change: any columns, of one row
    /// or several. The first of them is `{nonce}`.
    const FACTS_OF_SESSION: &'static str;

    /// The text of a statement of the application with the placeholders of the database for `$1`, `$2` and so on, and the
    /// values in the order in which it takes them.
    ///
    /// Statements with values of other types have other texts, where the driver keeps types with a prepared text.
    ///
    /// # Errors
    /// If something is wrong with the placeholders: says what.
    fn placeholders(sql: &str, values: Vec<SqlValue>) -> Result<(String, Vec<SqlValue>), String>;

    /// Returns the placeholder of the value with this number, from 1 on.
    fn placeholder(position: usize) -> String;

    /// The same for a value of the application that goes into a column of this type.
    fn cast(placeholder: &str, _value: &SqlValue, _type_name: &str) -> String {
        placeholder.to_owned()
    }

    /// Returns whether a column of this type would take a value of the application, and keep another one without a word.
    fn changes(_value: &SqlValue, _type_name: &str) -> bool {
        false
    }

    /// Adds a value of the application to those of a statement.
    fn add_value(arguments: &mut <Self::Database as Database>::Arguments, value: SqlValue);

    /// Reads a value for the application.
    ///
    /// # Errors
    /// If the column has a type for which there is no value; the message says how to cast it.
    fn read_value(row: &RowOf<Self>, column: usize) -> Result<SqlValue, SqlError>;
}
