//! Names of tables and schemas, checked.

/// A plain identifier, `[A-Za-z_][A-Za-z0-9_]{0,47}`, that no database and none of the plugins uses itself.
///
/// Nothing else is ever put into SQL as a name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TableName(String);

/// Leaves room for the name of an index within the 63 bytes of PostgreSQL.
const LONGEST: usize = 48;

/// Holds a row for each store of the database with its own tables.
pub(crate) const VERSION_TABLE: &str = "actix_persistence_schema";

/// The prefixes of names that databases, and these crates, keep for themselves.
const RESERVED: [&str; 3] = ["sqlite_", "pg_", "actix_persistence_"];

impl TableName {
    /// Returns the text as the name of a table, if it is an identifier as [`TableName`] describes it.
    ///
    /// # Errors
    /// If it is not. The message continues the name of a key of the config, as in "must be a letter or '_'".
    pub fn parse(name: &str) -> Result<Self, String> {
        let mut bytes = name.bytes();
        let begins_well = bytes
            .next()
            .is_some_and(|first| first.is_ascii_alphabetic() || first == b'_');
        let goes_on_well = bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if !begins_well || !goes_on_well || name.len() > LONGEST {
            return Err(
                "must be a letter or '_' and up to 47 more letters, digits and '_' of ASCII"
                    .to_owned(),
            );
        }
        let lower = name.to_ascii_lowercase();
        if RESERVED.iter().any(|prefix| lower.starts_with(prefix)) {
            return Err(
                "must not be a name that the database or this crate uses itself".to_owned(),
            );
        }
        Ok(Self(name.to_owned()))
    }

    /// Makes the name of the table of schema versions.
    pub(crate) fn of_versions() -> Self {
        Self(VERSION_TABLE.to_owned())
    }

    /// Returns the name of an index of this table.
    pub fn index(&self, columns: &str) -> Self {
        debug_assert!(
            columns
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte == b'_')
        );
        Self(format!("{}_{columns}", self.0))
    }

    /// Returns the name without quotes.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_identifiers_of_up_to_48_bytes_only() {
        let longest = "x".repeat(48);
        for good in ["event_journal", "_", "E2", "order", longest.as_str()] {
            assert_eq!(TableName::parse(good).unwrap().as_str(), good);
        }
        let too_long = "x".repeat(49);
        for bad in [
            "",
            "2e",
            "a b",
            "a-b",
            "a.b",
            "a;",
            "x\"; DROP TABLE y; --",
            "a'",
            "a`",
            "a]",
            "ä",
            "a\0",
            "sqlite_sequence",
            "SQLITE_x",
            "pg_class",
            "Actix_Persistence_Schema",
            too_long.as_str(),
        ] {
            assert!(TableName::parse(bad).is_err(), "{bad:?}");
        }
    }
}
