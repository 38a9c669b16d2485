//! Types of columns of an application, checked.

/// The type of a column, such as `VARCHAR(50) NOT NULL DEFAULT 0`, as it stands after a name in `ADD COLUMN`.
///
/// The text has words, numbers and parentheses, and commas only within these, so that it ends neither the statement nor
/// the column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ColumnType(String);

/// The most bytes of a type.
const LONGEST: usize = 200;

impl ColumnType {
    /// Returns the text as a type, if it is one as [`ColumnType`] describes it.
    ///
    /// # Errors
    /// If it is not. The message continues "whose type".
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let refused = |message: &str| Err(message.to_owned());
        if !text.starts_with(|first: char| first.is_ascii_alphabetic()) || text.len() > LONGEST {
            return refused("must begin with a letter and have at most 200 bytes");
        }
        let mut depth = 0_u32;
        for c in text.chars() {
            match c {
                '(' => depth += 1,
                ')' if depth == 0 => {
                    return refused("must not close a parenthesis that it has not opened");
                }
                ')' => depth -= 1,
                ',' if depth == 0 => return refused("must have commas only within parentheses"),
                ',' | ' ' | '_' => {}
                c if c.is_ascii_alphanumeric() => {}
                _ => {
                    return refused(
                        "must have no characters but letters, digits, '_', ',', spaces and parentheses",
                    );
                }
            }
        }
        if depth > 0 {
            return refused("must close its parentheses");
        }
        Ok(Self(text.to_owned()))
    }

    /// Returns the text.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_ends_neither_its_statement_nor_its_column() {
        let longest = "x".repeat(LONGEST);
        for good in [
            "TEXT",
            "VARCHAR(50)",
            "numeric(10, 2) NOT NULL DEFAULT 0",
            "DOUBLE PRECISION",
            "VARCHAR(9) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
            longest.as_str(),
        ] {
            assert_eq!(ColumnType::parse(good).unwrap().as_str(), good);
        }
        let too_long = "x".repeat(LONGEST + 1);
        for bad in [
            "",
            " TEXT",
            "(50)",
            "TEXT; DROP TABLE y",
            "TEXT -- comment",
            "TEXT /* comment */",
            "TEXT # comment",
            "TEXT DEFAULT 'x'",
            "TEXT DEFAULT \"x\"",
            "`TEXT`",
            "TEXT, ADD COLUMN y TEXT",
            "VARCHAR(50",
            "VARCHAR)50(",
            "TEXT\n",
            "TEXT\0",
            "ＴＥＸＴ",
            "{state_table}",
            too_long.as_str(),
        ] {
            assert!(ColumnType::parse(bad).is_err(), "{bad:?}");
        }
    }
}
