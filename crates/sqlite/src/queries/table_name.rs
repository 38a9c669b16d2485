//! Names of tables, checked.

/// A plain identifier, `[A-Za-z_][A-Za-z0-9_]{0,47}`, that SQLite and this crate do not use themselves.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TableName(String);

const LONGEST: usize = 48;

impl TableName {
    /// Takes a name; an error continues the key's name.
    pub(crate) fn parse(name: &str) -> Result<Self, String> {
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
        if lower.starts_with("sqlite_") || lower == super::VERSION_TABLE {
            return Err("must not be a name that SQLite or this crate uses itself".to_owned());
        }
        Ok(Self(name.to_owned()))
    }

    /// The name of an index of this table.
    pub(crate) fn index(&self, columns: &str) -> Self {
        debug_assert!(
            columns
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte == b'_')
        );
        Self(format!("{}_{columns}", self.0))
    }

    pub(crate) fn as_str(&self) -> &str {
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
            "a]",
            "ä",
            "a\0",
            "sqlite_sequence",
            "SQLITE_x",
            "Actix_Persistence_Schema",
            too_long.as_str(),
        ] {
            assert!(TableName::parse(bad).is_err(), "{bad:?}");
        }
    }
}
