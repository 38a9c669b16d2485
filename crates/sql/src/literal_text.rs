//! Statements with their values in the text.

use std::io::Write;

use sqlx::SqlStr;

use crate::names::safe;

/// A text of statements with the values in it, for a database that prepares one statement at a time and takes a text of
/// several in one trip.
///
/// Safe because a value is a number, or digits of bytes between quotes, and everything else is written in the plugin.
#[derive(Debug)]
pub struct LiteralText(Vec<u8>);

/// The hexadecimal digits of each byte.
const DIGITS: [[u8; 2]; 256] = {
    const DIGIT: &[u8; 16] = b"0123456789abcdef";
    let mut digits = [[0; 2]; 256];
    let mut byte = 0;
    while byte < 256 {
        digits[byte] = [DIGIT[byte >> 4], DIGIT[byte & 15]];
        byte += 1;
    }
    digits
};

impl LiteralText {
    /// Returns a text that begins with `sql`, with room for so many bytes.
    pub fn new(sql: &SqlStr, bytes: usize) -> Self {
        let mut text = Self(Vec::with_capacity(bytes));
        text.sql(sql);
        text
    }

    /// Adds a part of a statement in which names are [filled](crate::SqlNames::fill).
    pub fn sql(&mut self, sql: &SqlStr) {
        self.0.extend_from_slice(sql.as_str().as_bytes());
    }

    /// Adds a part of a statement.
    pub fn text(&mut self, sql: &'static str) {
        self.0.extend_from_slice(sql.as_bytes());
    }

    /// Adds an integer.
    pub fn integer(&mut self, value: i64) {
        write!(self.0, "{value}").expect("a vector takes all that is written to it");
    }

    /// Adds bytes, as hexadecimal digits: `X'00ff'`.
    pub fn bytes(&mut self, value: &[u8]) {
        self.text("X'");
        self.0.reserve(2 * value.len());
        for byte in value {
            self.0.extend_from_slice(&DIGITS[usize::from(*byte)]);
        }
        self.text("'");
    }

    /// Returns the text.
    pub fn into_sql(self) -> SqlStr {
        safe(String::from_utf8(self.0).expect("texts, and digits"))
    }
}

#[cfg(test)]
mod tests {
    use sqlx::SqlSafeStr;

    use super::*;

    #[test]
    fn values_are_digits_whatever_they_hold() {
        let mut text = LiteralText::new(&"SELECT ".into_sql_str(), 0);
        text.integer(i64::MIN);
        text.text(", ");
        text.bytes("\0'; -- \u{e4}\\".as_bytes());
        text.sql(&" FROM `t`".into_sql_str());
        assert_eq!(
            text.into_sql().as_str(),
            "SELECT -9223372036854775808, X'00273b202d2d20c3a45c' FROM `t`"
        );
    }
}
