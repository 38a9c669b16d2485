//! Columns of the application beside a state.

use crate::{ExtensionError, SqlValue, StateChange};

/// A column that the application adds to the table of states, to find states by it; like `AdditionalColumn` of Akka's
/// R2DBC plugin.
///
/// The application makes the column in the database, or names its type in [`sql_type`](Self::sql_type), so that a store that
/// makes its tables makes it, too. It must allow NULL or have a default, if this ever returns [`ColumnValue::Keep`] for a
/// state that is not there yet.
/// One value of this type serves all entities of its entity type at the same time.
pub trait AdditionalColumn: Send + Sync {
    /// Returns the name of the column, an identifier.
    fn column_name(&self) -> &str;

    /// Returns the type of the column in a database, which has the name that [`Session::database`](crate::Session::database)
    /// returns; `None`, which is the default, if the application makes the column itself.
    ///
    /// A store that makes its tables, as `auto-initialize` says, adds the column with this type to a table that lacks it.
    /// Nothing changes the type of a column that is there. The text is what follows the name in `ADD COLUMN`, as
    /// `VARCHAR(50)` or `INTEGER NOT NULL DEFAULT 0`: letters, digits, `_`, spaces and parentheses, and commas within these.
    /// States that are there already get NULL or the default. The tables on SQLite are strict, so that a type is `INTEGER`,
    /// `REAL`, `TEXT`, `BLOB` or `ANY` there.
    fn sql_type(&self, database: &str) -> Option<&str> {
        let _ = database;
        None
    }

    /// Returns the value that stands beside the state after this change.
    ///
    /// # Contract
    /// - **D-COLUMN-1**: The store calls the method for every write, and stores the value together with the state;
    ///   [`ColumnValue::Keep`] keeps the stored value, or the default of the column in a new row.
    /// - **D-COLUMN-2**: The store also calls the method for every delete that leaves a tombstone, so that no value
    ///   outlives its state. (Akka does not.)
    /// - **D-COLUMN-3**: If the method fails, the store refuses the change as
    ///   [`Extension`](crate::StorageErrorKind::Extension), and stores nothing.
    /// - **D-COLUMN-4**: A store whose table lacks the column, and that has no type to make it with, fails to initialise, and
    ///   the error names the column.
    ///
    /// # Errors
    /// After any error the change is not stored, and the actor gets the error.
    fn bind(&self, change: &StateChange<'_>) -> Result<ColumnValue, ExtensionError>;
}

/// The effect of a change on a column.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnValue {
    /// The column gets this value; [`SqlValue::Null`] clears it.
    Set(SqlValue),
    /// The column stays as it is; in a new row it has its default.
    Keep,
}

impl<T: Into<SqlValue>> From<T> for ColumnValue {
    fn from(value: T) -> Self {
        ColumnValue::Set(value.into())
    }
}

/// Fails to compile when [`AdditionalColumn`] is no longer object safe.
const _: Option<&dyn AdditionalColumn> = None;
