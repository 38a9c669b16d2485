//! The one place where names, and the statements of the application, enter SQL.

use std::sync::Arc;

use sqlx::{AssertSqlSafe, SqlSafeStr, SqlStr};

use crate::{MOST_BYTES, MOST_TEXT_BYTES, Partitions, TableName};

/// The names that replace `{keys}` in the texts of a plugin.
///
/// Safe because a [`TableName`] is a plain identifier, a [`SqlNames::text`] is written in the plugin, and so is everything
/// else of a text. The quotes let a table be called `order`.
#[derive(Clone, Debug)]
pub struct SqlNames {
    quote: char,
    schema: Option<TableName>,
    replacements: Vec<(String, String)>,
    partitions: Option<Partitions>,
}

impl SqlNames {
    /// Returns no names yet; `quote` is what the database puts around a name, `schema` what it puts before that of a
    /// table.
    pub fn new(quote: char, schema: Option<TableName>) -> Self {
        let names = Self {
            quote,
            schema,
            replacements: Vec::new(),
            partitions: None,
        };
        let names = match names.schema.clone() {
            Some(schema) => {
                let quoted = names.quoted(&schema);
                names
                    .text("schema", &quoted)
                    .text("schema_text", &format!("'{}'", schema.as_str()))
            }
            None => names,
        };
        names
            .table("version_table", &TableName::of_versions())
            .text("most_bytes", &MOST_BYTES.to_string())
            .text("most_text_bytes", &MOST_TEXT_BYTES.to_string())
    }

    /// Returns a table, which `{key}` stands for.
    #[must_use]
    pub fn table(self, key: &str, name: &TableName) -> Self {
        let quoted = self.quoted(name);
        let qualified = match &self.schema {
            Some(schema) => format!("{}.{quoted}", self.quoted(schema)),
            None => quoted,
        };
        self.text(key, &qualified)
    }

    /// Returns a name that no schema stands before, like that of an index that is made.
    #[must_use]
    pub fn plain(self, key: &str, name: &TableName) -> Self {
        let quoted = self.quoted(name);
        self.text(key, &quoted)
    }

    /// Returns a piece of SQL that the plugin chooses, like the type of a column.
    #[must_use]
    pub fn text(mut self, key: &str, sql: &str) -> Self {
        self.replacements.push((key.to_owned(), sql.to_owned()));
        self
    }

    /// Returns the names with the partitions of the tables, which `{partitions}` stands for: their number in tables that
    /// are made.
    #[must_use]
    pub fn with_partitions(self, partitions: Partitions) -> Self {
        let number = partitions.of_new_tables().to_string();
        Self {
            partitions: Some(partitions),
            ..self.text("partitions", &number)
        }
    }

    /// Returns the partitions of the tables; `None` if one counter numbers all rows, or none does.
    pub fn partitions(&self) -> Option<&Partitions> {
        self.partitions.as_ref()
    }

    /// Returns whether something stands for a key.
    pub fn has(&self, key: &str) -> bool {
        self.of(key).is_some()
    }

    fn of(&self, key: &str) -> Option<&str> {
        let mut replacements = self.replacements.iter();
        let (_, sql) = replacements.find(|(known, _)| known == key)?;
        Some(sql)
    }

    /// Returns the text with every name in its place, in one pass: stores have thousands of texts.
    pub fn fill(&self, text: &str) -> SqlStr {
        let mut filled = String::with_capacity(2 * text.len());
        let mut rest = text;
        while let Some((before, (key, after))) = next_key(rest) {
            filled.push_str(before);
            match self.of(key) {
                Some(name) => filled.push_str(name),
                None => debug_assert!(false, "nothing stands for {{{key}}} in {text}"),
            }
            rest = after;
        }
        filled.push_str(rest);
        safe(filled)
    }

    /// Returns both texts with every name in its place, and the columns of an index between them.
    pub(crate) fn fill_around(&self, [before, after]: [&str; 2], columns: &str) -> SqlStr {
        let [before, after] = [before, after].map(|text| self.fill(text));
        safe(format!("{}{columns}{}", before.as_str(), after.as_str()))
    }

    /// Returns a name as statements have it.
    pub fn quoted(&self, name: &TableName) -> String {
        format!("{0}{1}{0}", self.quote, name.as_str())
    }
}

/// Splits a text around its first key in braces.
fn next_key(text: &str) -> Option<(&str, (&str, &str))> {
    let (before, after) = text.split_once('{')?;
    Some((before, after.split_once('}')?))
}

/// Returns a statement of the application, which vouches for it: its type takes texts of the program, or says that it
/// is safe.
pub(crate) fn of_application(text: String) -> SqlStr {
    safe(text)
}

/// Returns a text in which everything is written in the plugin, or is digits of values.
pub(crate) fn safe(text: String) -> SqlStr {
    AssertSqlSafe(Arc::<str>::from(text)).into_sql_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> TableName {
        TableName::parse(text).unwrap()
    }

    #[test]
    fn names_are_quoted_and_qualified_wherever_they_stand() {
        let names = SqlNames::new('"', Some(name("bank")))
            .table("events", &name("order"))
            .plain("index", &name("order").index("x"));
        let sql = names.fill("CREATE INDEX {index} ON {events}; SELECT {schema_text}");
        assert!(names.has("events") && !names.has("tags"));
        assert_eq!(
            sql.as_str(),
            "CREATE INDEX \"order_x\" ON \"bank\".\"order\"; SELECT 'bank'"
        );
        let names = SqlNames::new('`', None).table("events", &name("order"));
        assert_eq!(
            names.fill("{events} {version_table}").as_str(),
            "`order` `actix_persistence_schema`"
        );
    }
}
