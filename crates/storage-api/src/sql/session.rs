//! Statements of an application within a transaction of a store.

use std::any::Any;
use std::borrow::Cow;
use std::error::Error;
use std::sync::Arc;

use async_trait::async_trait;

use crate::{FromSqlValue, Operation, SqlValue, StorageError, StorageErrorKind};

/// The text of one statement, in the SQL of the database, with `$1`, `$2` and so on for its values.
///
/// Those are the same on every database, even where the database itself writes `?`.
/// A program must declare that a text made at run time is safe, so that the input of a user never gets into SQL by
/// accident.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sql(Cow<'static, str>);

impl Sql {
    /// Makes a text made at run time, in which nothing comes from outside the program: values belong to `$1`.
    pub fn assert_safe(text: String) -> Self {
        Self(Cow::Owned(text))
    }

    /// Returns the text of the statement.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&'static str> for Sql {
    fn from(text: &'static str) -> Self {
        Self(Cow::Borrowed(text))
    }
}

/// A transaction of a store, open for statements of the application.
///
/// Their changes are committed with what the store writes, or not at all. After an error the transaction can only end,
/// without a commit. The methods that take any text and values are on `dyn Session`.
///
/// Statements that read and change rows belong here, and savepoints. The transaction and the session are the store's: what
/// begins or ends a transaction is refused, and so is what sets or resets something for the session, `SET LOCAL` too. What
/// functions and procedures of the server set does not outlast the transaction. Statements that define tables are part of
/// the transaction on SQLite and PostgreSQL; PostgreSQL refuses a statement that would return other columns than when it ran
/// before in the transaction, because its table was altered since. On MySQL and MariaDB they commit what came before: a
/// change handler may not run them there, and a transaction of the application that fails after one has an unknown effect.
///
/// Tables whose schema a statement leaves out are those in the schema of the store, which on PostgreSQL its key `schema`
/// names.
///
/// The connection of the driver can do what these methods cannot; see [`lend_connection`](Self::lend_connection).
#[async_trait]
pub trait Session: Send {
    /// Returns the database, by the name of its plugin: `sqlite`, `postgres` or `mysql`.
    fn database(&self) -> &'static str;

    /// Runs a statement without rows, and returns the number of rows that it changed, or found to change.
    ///
    /// # Contract
    /// - **D-EXECUTE-1**: The statement sees what the store and earlier statements changed in the same transaction.
    /// - **D-EXECUTE-2**: The call returns the number of rows that the statement changed, or that it found and left as
    ///   they were because they already had the new values.
    /// - **D-EXECUTE-3**: Whatever statements run, even `COMMIT`, the store acknowledges only what is stored, and never
    ///   reports as `NotStored` what is stored.
    /// - **D-EXECUTE-4**: If a value violates a constraint of a table, such as a key that already exists, the statement
    ///   is refused as [`Constraint`](crate::StorageErrorKind::Constraint).
    /// - **D-EXECUTE-5**: If the future of a statement is dropped before it ends, nothing of its transaction is stored.
    ///
    /// # Errors
    /// The errors of the database. [`Extension`](crate::StorageErrorKind::Extension) if the statement would end the
    /// transaction or change the session, or has done so.
    ///
    /// # Cancel safety
    /// Dropped before its end, the transaction is not committed; no other statement of it runs.
    async fn execute_sql(&mut self, sql: Sql, values: Vec<SqlValue>) -> Result<u64, StorageError>;

    /// Runs a statement for its rows, all of which are held in memory.
    ///
    /// # Contract
    /// - **D-SELECT-1**: Integers, floats, texts, bytes and NULL come back as they were given, if the columns have such
    ///   types; a text may come back as its UTF-8 bytes.
    /// - **D-SELECT-2**: Each value belongs to the placeholder with its number (`$1`, `$2` and so on), however often
    ///   and in whatever order the placeholders occur.
    ///
    /// # Errors
    /// The error of the database, or an error if a column has a type that no [`SqlValue`] is.
    ///
    /// # Cancel safety
    /// As for [`execute_sql`](Self::execute_sql).
    async fn select_sql(
        &mut self,
        sql: Sql,
        values: Vec<SqlValue>,
    ) -> Result<Vec<SqlRow>, StorageError>;

    /// Lends the connection of the database's driver, whose type only the plugin knows; each plugin has a method that
    /// names it.
    ///
    /// The code may run anything with it. The store looks afterwards, at the next statement of the session or in the end:
    /// the transaction must be the one that was lent, every answer must have been read, and what the store depends on in
    /// the session must be as it was. Otherwise nothing is committed; unless it is certain that nothing was committed
    /// before, the effect is unknown. A connection that was lent is closed when its transaction has ended.
    ///
    /// It may be lent again. Savepoints that are set with it end when the session is used in another way, and it must not
    /// roll back to one that was set before.
    ///
    /// # Errors
    /// [`Unsupported`](crate::StorageErrorKind::Unsupported) by default, and from a store without a driver; the errors of
    /// the database.
    ///
    /// # Cancel safety
    /// As for [`execute_sql`](Self::execute_sql). A future of the driver that is dropped before its end may have done its
    /// work or not, and may do it later: return an error after that.
    async fn lend_connection(&mut self) -> Result<&mut (dyn Any + Send), StorageError> {
        Err(no_connection("the store has no connection to lend"))
    }
}

impl dyn Session + '_ {
    /// Lends the connection of the driver, of the type `C`, if this is a session of that database. For plugins, whose
    /// methods name the type.
    ///
    /// # Errors
    /// [`Unsupported`](crate::StorageErrorKind::Unsupported) if the session is one of another database, which the message
    /// names, or of another version of the driver; the errors of [`lend_connection`](Session::lend_connection).
    ///
    /// # Cancel safety
    /// As [`lend_connection`](Session::lend_connection).
    pub async fn connection_of<C: Any>(&mut self, database: &str) -> Result<&mut C, StorageError> {
        let found = self.database();
        if found != database {
            return Err(no_connection(format!(
                "the session is one of '{found}', and its connection is not one of '{database}'"
            )));
        }
        let connection = self.lend_connection().await?.downcast_mut();
        connection.ok_or_else(|| {
            no_connection(format!(
                "the driver of '{database}' is one of another version"
            ))
        })
    }

    /// Runs a statement without rows, and returns the number of rows that it changed, or found to change.
    ///
    /// # Errors
    /// As [`execute_sql`](Session::execute_sql).
    ///
    /// # Cancel safety
    /// As [`execute_sql`](Session::execute_sql).
    pub async fn execute(
        &mut self,
        sql: impl Into<Sql>,
        values: impl IntoIterator<Item = SqlValue>,
    ) -> Result<u64, StorageError> {
        let values = values.into_iter().collect();
        self.execute_sql(sql.into(), values).await
    }

    /// Runs a statement for its rows, all of which are held in memory.
    ///
    /// # Errors
    /// As [`select_sql`](Session::select_sql).
    ///
    /// # Cancel safety
    /// As [`execute_sql`](Session::execute_sql).
    pub async fn select(
        &mut self,
        sql: impl Into<Sql>,
        values: impl IntoIterator<Item = SqlValue>,
    ) -> Result<Vec<SqlRow>, StorageError> {
        let values = values.into_iter().collect();
        self.select_sql(sql.into(), values).await
    }

    /// Runs a statement for its only row, or none.
    ///
    /// # Errors
    /// As [`select_sql`](Session::select_sql); of several rows the first is given.
    ///
    /// # Cancel safety
    /// As [`execute_sql`](Session::execute_sql).
    pub async fn select_one(
        &mut self,
        sql: impl Into<Sql>,
        values: impl IntoIterator<Item = SqlValue>,
    ) -> Result<Option<SqlRow>, StorageError> {
        Ok(self.select(sql, values).await?.into_iter().next())
    }
}

/// Returns the error of a session that has no such connection; the transaction may go on without it.
fn no_connection(message: impl Into<String>) -> StorageError {
    StorageError::new(StorageErrorKind::Unsupported, Operation::Transact)
        .not_stored()
        .with_message(message)
}

/// A row of a [`Session`].
#[derive(Clone, Debug, PartialEq)]
pub struct SqlRow {
    columns: Arc<[Box<str>]>,
    values: Vec<SqlValue>,
}

/// The reason why [`SqlRow::get`] returns no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RowError {
    /// The statement returns no such column.
    #[error("the row has no column '{column}'")]
    NoSuchColumn {
        /// The name that was asked for.
        column: String,
    },
    /// The value has another type.
    #[error("the column '{column}' is {found}, not {expected}")]
    OtherType {
        /// The name that was asked for.
        column: String,
        /// The type that was asked for.
        expected: &'static str,
        /// The type of the value.
        found: &'static str,
    },
}

impl SqlRow {
    /// Makes a row with one value for each of the columns, which all rows of a statement share.
    pub fn new(columns: Arc<[Box<str>]>, values: Vec<SqlValue>) -> Self {
        debug_assert_eq!(columns.len(), values.len());
        Self { columns, values }
    }

    /// Returns the value of a column, by its name in the result; if several columns have that name, of the first.
    ///
    /// # Errors
    /// If there is no such column, or its value has no form of the type `T`. Use `Option<T>` for a column that may be NULL.
    pub fn get<T: FromSqlValue>(&self, column: &str) -> Result<T, RowError> {
        let position = self.columns.iter().position(|name| **name == *column);
        let value = position.and_then(|position| self.values.get(position));
        let Some(value) = value else {
            let column = column.to_owned();
            return Err(RowError::NoSuchColumn { column });
        };
        T::from_sql_value(value.clone()).ok_or_else(|| RowError::OtherType {
            column: column.to_owned(),
            expected: T::EXPECTED,
            found: value.type_name(),
        })
    }

    /// Returns the names of the columns, in the order of the statement.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|name| &**name)
    }

    /// Returns the values, in the order of the statement.
    pub fn values(&self) -> &[SqlValue] {
        &self.values
    }
}

/// The reason why code of the application refused a change; any error converts into it.
pub type ExtensionError = Box<dyn Error + Send + Sync>;

/// Fails to compile when [`Session`] is no longer object safe.
const _: Option<&dyn Session> = None;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_says_which_column_is_missing_or_of_another_type() {
        let columns: Arc<[Box<str>]> = ["id".into(), "title".into()].into();
        let row = SqlRow::new(columns, vec![7_i64.into(), SqlValue::Null]);
        assert_eq!(row.get::<i64>("id"), Ok(7));
        assert_eq!(row.get::<Option<String>>("title"), Ok(None));
        let text = |error: RowError| error.to_string();
        assert_eq!(
            row.get::<String>("title").map_err(text),
            Err("the column 'title' is NULL, not a text".to_owned())
        );
        assert_eq!(
            row.get::<i64>("titel").map_err(text),
            Err("the row has no column 'titel'".to_owned())
        );
    }
}
