//! Values of the application's statements, as MySQL and MariaDB have them.

mod placeholders;

use actix_persistence_sql::{Quoting, RowOf, SessionDialect, SqlError, refuses_type};
use actix_persistence_storage_api::SqlValue;
use sqlx::mysql::MySqlArguments;
use sqlx::{Arguments, Row, TypeInfo, ValueRef};

use crate::{Mysql, queries};

impl SessionDialect for Mysql {
    const QUOTING: Quoting = Quoting::Mysql;
    const FACTS_OF_SESSION: &'static str = queries::FACTS_OF_SESSION;

    fn placeholders(sql: &str, values: Vec<SqlValue>) -> Result<(String, Vec<SqlValue>), String> {
        placeholders::placeholders(sql, values)
    }

    /// Values come in the order of their placeholders.
    fn placeholder(_position: usize) -> String {
        "?".to_owned()
    }

    /// Returns whether the column changes the value: whole numbers are made of others by rounding.
    fn changes(value: &SqlValue, type_name: &str) -> bool {
        let type_name = type_name.to_ascii_lowercase();
        let is_whole = ["tinyint", "smallint", "mediumint", "int", "bigint"]
            .iter()
            .any(|whole| type_name.starts_with(whole));
        matches!(value, SqlValue::Float(value) if is_whole && value.fract() != 0.0)
    }

    fn add_value(arguments: &mut MySqlArguments, value: SqlValue) {
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

    fn read_value(row: &RowOf<Mysql>, column: usize) -> Result<SqlValue, SqlError> {
        let value = row.try_get_raw(column)?;
        if value.is_null() {
            return Ok(SqlValue::Null);
        }
        let kind = value.type_info().name().to_owned();
        Ok(match kind.as_str() {
            "BOOLEAN" | "TINYINT" | "SMALLINT" | "MEDIUMINT" | "INT" | "BIGINT" => {
                SqlValue::Integer(row.try_get_unchecked(column)?)
            }
            "FLOAT" | "DOUBLE" => SqlValue::Float(row.try_get_unchecked(column)?),
            "CHAR" | "VARCHAR" | "TINYTEXT" | "TEXT" | "MEDIUMTEXT" | "LONGTEXT" | "ENUM"
            | "SET" | "JSON" => SqlValue::from(row.try_get_unchecked::<String, _>(column)?),
            "BINARY" | "VARBINARY" | "TINYBLOB" | "BLOB" | "MEDIUMBLOB" | "LONGBLOB" => {
                SqlValue::from(row.try_get_unchecked::<Vec<u8>, _>(column)?)
            }
            unsigned if unsigned.ends_with("UNSIGNED") => {
                let number: u64 = row.try_get_unchecked(column)?;
                let integer = i64::try_from(number);
                SqlValue::Integer(integer.map_err(|_| refuses_type(unsigned))?)
            }
            // What a sum of integers has; it comes as a text.
            "DECIMAL" => {
                let text: String = row.try_get_unchecked(column)?;
                let integer = text.parse();
                SqlValue::Integer(integer.map_err(|_| refuses_type("DECIMAL"))?)
            }
            other => return Err(refuses_type(other)),
        })
    }
}
