//! The columns that the steps of a schema add to a table.

use super::migration::Step;

/// Returns the columns of a table that the statement makes, in order; `quoted` is the name as statements have it.
///
/// It is read from the steps, so that the columns are not written twice: within `CREATE TABLE` each column begins a
/// line by its name in small letters, four spaces in, and what else is there begins with a capital one.
pub(super) fn own_columns(steps: &[Step], quoted: &str) -> Vec<Box<str>> {
    let lines = steps.iter().flat_map(|step| step.sql.as_str().lines());
    lines
        .skip_while(|line| !makes(line, quoted))
        .skip(1)
        .take_while(|line| !line.starts_with(')'))
        .filter_map(column)
        .collect()
}

/// Returns whether a line begins the statement that makes this table, in whatever schema.
fn makes(line: &str, quoted: &str) -> bool {
    let name = line.strip_prefix("CREATE TABLE ");
    let name = name.and_then(|name| name.strip_suffix(" ("));
    name.is_some_and(|name| name.ends_with(quoted))
}

fn column(line: &str) -> Option<Box<str>> {
    let name = line.strip_prefix("    ")?.split(' ').next()?;
    let is_name = |byte| matches!(byte, b'a'..=b'z' | b'_');
    (!name.is_empty() && name.bytes().all(is_name)).then(|| name.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SqlNames;

    #[test]
    fn columns_are_told_from_rules_and_from_those_of_other_tables() {
        let text = "-- a\nCREATE TABLE IF NOT EXISTS \"s\".\"my_t\" (\n    x BIGINT\n);\n\
            CREATE TABLE \"s\".\"t\" (\n    one_a  TEXT NOT NULL, -- two\n        GENERATED ALWAYS AS (three),\n    \
            payload BYTEA,\n    -- four\n    PRIMARY KEY (five),\n    CHECK (six)\n) STRICT;\n    seven TEXT\n";
        let steps = [Step::in_transaction(SqlNames::new('"', None).fill(text))];
        assert_eq!(
            own_columns(&steps, "\"t\""),
            ["one_a", "payload"].map(Into::into)
        );
        assert_eq!(own_columns(&steps, "\"my_t\""), ["x"].map(Into::into));
        assert!(own_columns(&steps, "\"u\"").is_empty());
    }
}
