//! Values of the application's statements, as PostgreSQL has them.

mod numeric;

use actix_persistence_sql::{Quoting, RowOf, SessionDialect, SqlError, refuses_type};
use actix_persistence_storage_api::SqlValue;
use sqlx::postgres::types::Oid;
use sqlx::postgres::{PgArgumentBuffer, PgArguments, PgTypeInfo};
use sqlx::{Arguments, Encode, Row, Type, TypeInfo, ValueRef};

use crate::{Postgres, queries};

impl SessionDialect for Postgres {
    const QUOTING: Quoting = Quoting::Postgres;
    const FACTS_OF_SESSION: &'static str = queries::FACTS_OF_SESSION;

    /// The same text, and a comment with the types of its values: the driver keeps what it prepared by the text alone, with the
    /// types of the first values, and would send those of another type as if they had it.
    fn placeholders(sql: &str, values: Vec<SqlValue>) -> Result<(String, Vec<SqlValue>), String> {
        let types: String = values.iter().map(letter).collect();
        Ok((format!("{sql}\n/*{types}*/"), values))
    }

    fn placeholder(position: usize) -> String {
        format!("${position}")
    }

    /// Says which type the value has, so that the column may have another one.
    fn cast(placeholder: &str, value: &SqlValue, type_name: &str) -> String {
        let given = match value {
            SqlValue::Boolean(_) => "boolean",
            SqlValue::Integer(_) => "bigint",
            SqlValue::Float(_) => "double precision",
            SqlValue::Bytes(_) => "bytea",
            _ => "text",
        };
        format!("{placeholder}::{given}::{type_name}")
    }

    /// Returns whether a cast to the type changes the value: one to a whole number rounds, and one to a text writes
    /// bytes in a way of its own.
    fn changes(value: &SqlValue, type_name: &str) -> bool {
        match value {
            SqlValue::Float(value) => {
                matches!(type_name, "smallint" | "integer" | "bigint") && value.fract() != 0.0
            }
            SqlValue::Bytes(_) => type_name == "text" || type_name.starts_with("character"),
            _ => false,
        }
    }

    fn add_value(arguments: &mut PgArguments, value: SqlValue) {
        let added = match value {
            SqlValue::Boolean(value) => arguments.add(value),
            SqlValue::Integer(value) => arguments.add(value),
            SqlValue::Float(value) => arguments.add(value),
            SqlValue::Text(value) => arguments.add(value.as_ref().to_owned()),
            SqlValue::Bytes(value) => arguments.add(Vec::from(value)),
            _ => arguments.add(Untyped),
        };
        added.expect("plain values are always encoded");
    }

    fn read_value(row: &RowOf<Postgres>, column: usize) -> Result<SqlValue, SqlError> {
        let value = row.try_get_raw(column)?;
        if value.is_null() {
            return Ok(SqlValue::Null);
        }
        let bytes = || value.as_bytes().map_err(sqlx::Error::Decode);
        Ok(match value.type_info().name() {
            "BOOL" => SqlValue::Boolean(row.try_get(column)?),
            "INT2" => SqlValue::from(i32::from(row.try_get::<i16, _>(column)?)),
            "INT4" => SqlValue::from(row.try_get::<i32, _>(column)?),
            "INT8" => SqlValue::Integer(row.try_get(column)?),
            "FLOAT4" => SqlValue::Float(row.try_get::<f32, _>(column)?.into()),
            "FLOAT8" => SqlValue::Float(row.try_get(column)?),
            "TEXT" | "VARCHAR" | "CHAR" | "NAME" | "UNKNOWN" => {
                SqlValue::from(row.try_get::<String, _>(column)?)
            }
            "BYTEA" => SqlValue::from(row.try_get::<Vec<u8>, _>(column)?),
            "JSON" => text(bytes()?)?,
            // After the version of its format, which is 1.
            "JSONB" => text(bytes()?.get(1..).unwrap_or_default())?,
            "NUMERIC" => match numeric::integer(bytes()?) {
                Some(integer) => SqlValue::Integer(integer),
                None => {
                    return Err(refuses_type(
                        "NUMERIC, and the value no whole number of 64 bits",
                    ));
                }
            },
            other => return Err(refuses_type(other)),
        })
    }
}

fn letter(value: &SqlValue) -> char {
    match value {
        SqlValue::Boolean(_) => 'b',
        SqlValue::Integer(_) => 'i',
        SqlValue::Float(_) => 'f',
        SqlValue::Text(_) => 't',
        SqlValue::Bytes(_) => 'y',
        _ => 'n',
    }
}

fn text(bytes: &[u8]) -> Result<SqlValue, SqlError> {
    let text = std::str::from_utf8(bytes).map_err(|error| sqlx::Error::Decode(error.into()))?;
    Ok(SqlValue::from(text))
}

/// A NULL whose type the server infers.
struct Untyped;

impl Type<sqlx::Postgres> for Untyped {
    fn type_info() -> PgTypeInfo {
        /// `unknown`, which the server takes for "to be found out".
        const UNKNOWN: Oid = Oid(705);
        PgTypeInfo::with_oid(UNKNOWN)
    }
}

impl Encode<'_, sqlx::Postgres> for Untyped {
    fn encode_by_ref(
        &self,
        _: &mut PgArgumentBuffer,
    ) -> Result<sqlx::encode::IsNull, sqlx::error::BoxDynError> {
        Ok(sqlx::encode::IsNull::Yes)
    }
}
