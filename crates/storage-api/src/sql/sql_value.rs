//! Values of SQL databases, as programs have them.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

/// A value that is given to a statement or comes back in a row.
///
/// For any other type a statement casts: `$1::uuid` from a text, `created::text` to one.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub enum SqlValue {
    /// The value NULL; it fits every type.
    Null,
    /// True or false. Databases without such a type keep 1 or 0, and return that.
    Boolean(bool),
    /// A whole number with a sign.
    Integer(i64),
    /// A number with a fraction.
    Float(f64),
    /// A text; also how JSON is given and read.
    Text(Arc<str>),
    /// A sequence of bytes.
    Bytes(Bytes),
}

impl SqlValue {
    /// Returns the name of its type, for messages; never the value itself.
    pub fn type_name(&self) -> &'static str {
        match self {
            SqlValue::Null => "NULL",
            SqlValue::Boolean(_) => "a boolean",
            SqlValue::Integer(_) => "an integer",
            SqlValue::Float(_) => "a float",
            SqlValue::Text(_) => "a text",
            SqlValue::Bytes(_) => "bytes",
        }
    }
}

/// Shows what it is, not its content: values of users do not belong in logs.
impl fmt::Debug for SqlValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.type_name())
    }
}

macro_rules! from {
    ($($type:ty => $value:ident => $made:expr;)*) => {$(
        impl From<$type> for SqlValue {
            fn from($value: $type) -> Self {
                $made
            }
        }
    )*};
}

from! {
    bool => value => SqlValue::Boolean(value);
    i64 => value => SqlValue::Integer(value);
    i32 => value => SqlValue::Integer(value.into());
    u32 => value => SqlValue::Integer(value.into());
    f64 => value => SqlValue::Float(value);
    &str => value => SqlValue::Text(value.into());
    String => value => SqlValue::Text(value.into());
    Arc<str> => value => SqlValue::Text(value);
    Bytes => value => SqlValue::Bytes(value);
    Vec<u8> => value => SqlValue::Bytes(value.into());
}

impl<T: Into<SqlValue>> From<Option<T>> for SqlValue {
    fn from(value: Option<T>) -> Self {
        value.map_or(SqlValue::Null, Into::into)
    }
}

/// A type that can be read from a row.
pub trait FromSqlValue: Sized {
    /// The type of value that is expected, for messages.
    const EXPECTED: &'static str;

    /// Takes the value; none if it is something else.
    fn from_sql_value(value: SqlValue) -> Option<Self>;
}

macro_rules! read {
    ($($type:ty, $expected:literal, $($pattern:pat => $made:expr),+;)*) => {$(
        impl FromSqlValue for $type {
            const EXPECTED: &'static str = $expected;

            fn from_sql_value(value: SqlValue) -> Option<Self> {
                match value {
                    $($pattern => Some($made),)+
                    _ => None,
                }
            }
        }
    )*};
}

read! {
    bool, "a boolean", SqlValue::Boolean(value) => value, SqlValue::Integer(0) => false, SqlValue::Integer(1) => true;
    i64, "an integer", SqlValue::Integer(value) => value;
    f64, "a float", SqlValue::Float(value) => value, SqlValue::Integer(value) => value as f64;
    Bytes, "bytes", SqlValue::Bytes(value) => value;
    Vec<u8>, "bytes", SqlValue::Bytes(value) => value.into();
}

/// Bytes that are UTF-8 are a text, too: MySQL returns texts with a binary collation as bytes.
impl FromSqlValue for String {
    const EXPECTED: &'static str = "a text";

    fn from_sql_value(value: SqlValue) -> Option<Self> {
        match value {
            SqlValue::Text(value) => Some(value.as_ref().to_owned()),
            SqlValue::Bytes(value) => String::from_utf8(value.into()).ok(),
            _ => None,
        }
    }
}

impl<T: FromSqlValue> FromSqlValue for Option<T> {
    const EXPECTED: &'static str = T::EXPECTED;

    fn from_sql_value(value: SqlValue) -> Option<Self> {
        match value {
            SqlValue::Null => Some(None),
            value => T::from_sql_value(value).map(Some),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_is_and_nothing_else() {
        assert_eq!(i64::from_sql_value(7_i64.into()), Some(7));
        assert_eq!(bool::from_sql_value(1_i64.into()), Some(true));
        assert_eq!(bool::from_sql_value(2_i64.into()), None);
        assert_eq!(String::from_sql_value("a".into()), Some("a".to_owned()));
        assert_eq!(i64::from_sql_value(SqlValue::Null), None);
        assert_eq!(Option::<i64>::from_sql_value(SqlValue::Null), Some(None));
        assert_eq!(Option::<i64>::from_sql_value("7".into()), None);
    }

    #[test]
    fn is_never_shown() {
        assert_eq!(format!("{:?}", SqlValue::from("secret")), "a text");
    }
}
