//! Values of the application's statements, as SQLite has them.

use actix_persistence_sql::{Quoting, RowOf, SessionDialect, SqlError, refuses_type};
use actix_persistence_storage_api::SqlValue;
use sqlx::sqlite::SqliteArguments;
use sqlx::{Arguments, Row, TypeInfo, ValueRef};

use crate::{Sqlite, queries};

impl SessionDialect for Sqlite {
    const QUOTING: Quoting = Quoting::Sqlite;
    /// The driver panics if there are more columns, and the statement then has no rows; it gives old names to others.
    const LOOK_AT_TABLES: Option<&'static str> = Some(queries::LOOK_AT_TABLES);
    const FACTS_OF_SESSION: &'static str = queries::FACTS_OF_SESSION;

    /// Returns the text as it is, because SQLite takes `$1`.
    fn placeholders(sql: &str, values: Vec<SqlValue>) -> Result<(String, Vec<SqlValue>), String> {
        Ok((sql.to_owned(), values))
    }

    fn placeholder(position: usize) -> String {
        format!("?{position}")
    }

    fn add_value(arguments: &mut SqliteArguments, value: SqlValue) {
        let added = match value {
            SqlValue::Boolean(value) => arguments.add(i64::from(value)),
            SqlValue::Integer(value) => arguments.add(value),
            SqlValue::Float(value) => arguments.add(value),
            SqlValue::Text(value) => arguments.add(value.as_ref().to_owned()),
            SqlValue::Bytes(value) => arguments.add(Vec::from(value)),
            _ => arguments.add(None::<i64>),
        };
        added.expect("plain values are always encoded");
    }

    /// Reads a value by its own type, whatever the column is declared as.
    fn read_value(row: &RowOf<Sqlite>, column: usize) -> Result<SqlValue, SqlError> {
        let value = row.try_get_raw(column)?;
        if value.is_null() {
            return Ok(SqlValue::Null);
        }
        let kind = value.type_info().name().to_owned();
        Ok(match kind.as_str() {
            "INTEGER" | "BOOLEAN" => SqlValue::Integer(row.try_get_unchecked(column)?),
            "REAL" => SqlValue::Float(row.try_get_unchecked(column)?),
            "TEXT" => SqlValue::from(row.try_get_unchecked::<String, _>(column)?),
            "BLOB" => SqlValue::from(row.try_get_unchecked::<Vec<u8>, _>(column)?),
            other => return Err(refuses_type(other)),
        })
    }
}
