//! Every bit of every row of a database, one after the other.

use std::path::Path;

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection};

/// The tables whose rows have checksums, and the columns that name a row.
const TABLES: [(&str, &str); 3] = [
    ("event_journal", "sequence_nr"),
    ("snapshot", "sequence_nr"),
    ("durable_state", "revision"),
];

/// A bit of a row.
#[derive(Clone, Debug)]
pub(super) struct Bit {
    table: &'static str,
    column: String,
    /// The statement that turns it.
    pub(super) statement: String,
}

impl Bit {
    /// True if the row then looks like that of another id, and this one as if it never had a state.
    pub(super) fn takes_a_state_away(&self) -> bool {
        self.table == "durable_state" && self.column == "persistence_id"
    }
}

/// Returns all of them.
pub(super) async fn bits_of(file: &Path) -> anyhow::Result<Vec<Bit>> {
    let mut connection = SqliteConnectOptions::new().filename(file).connect().await?;
    let mut bits = Vec::new();
    for (table, number) in TABLES {
        let columns = format!("SELECT name FROM pragma_table_info('{table}')");
        let columns: Vec<(String,)> = sqlx::query_as(AssertSqlSafe(columns))
            .fetch_all(&mut connection)
            .await?;
        for (column,) in columns {
            bits.extend(bits_of_column(&mut connection, table, number, &column).await?);
        }
    }
    connection.close().await?;
    Ok(bits)
}

async fn bits_of_column(
    connection: &mut SqliteConnection,
    table: &'static str,
    number: &str,
    column: &str,
) -> anyhow::Result<Vec<Bit>> {
    let cells = format!(
        "SELECT persistence_id, {number}, typeof({column}), \
         CASE typeof({column}) WHEN 'integer' THEN CAST({column} AS TEXT) ELSE hex({column}) END FROM {table}"
    );
    let cells: Vec<(String, i64, String, String)> = sqlx::query_as(AssertSqlSafe(cells))
        .fetch_all(connection)
        .await?;
    let mut bits = Vec::new();
    for (id, at, form, cell) in cells {
        let values: Vec<String> = match form.as_str() {
            "integer" => {
                let value: i64 = cell.parse()?;
                (0..64)
                    .map(|bit| (value ^ (1 << bit)).to_string())
                    .collect()
            }
            "text" => flipped(&cell)
                .map(|hex| format!("CAST(x'{hex}' AS TEXT)"))
                .collect(),
            "blob" => flipped(&cell).map(|hex| format!("x'{hex}'")).collect(),
            _ => Vec::new(),
        };
        bits.extend(values.into_iter().map(|value| Bit {
            table,
            column: column.to_owned(),
            statement: format!(
                "UPDATE {table} SET {column} = {value} WHERE persistence_id = '{id}' AND {number} = {at}"
            ),
        }));
    }
    Ok(bits)
}

/// Returns these bytes, in hexadecimal digits, with each of their bits turned in turn: four in each digit.
fn flipped(hex: &str) -> impl Iterator<Item = String> {
    (0..hex.len() * 4).filter_map(move |bit| {
        let digit = hex.as_bytes().get(bit / 4).copied().map(char::from)?;
        let turned = char::from_digit(digit.to_digit(16)? ^ (1 << (bit % 4)), 16)?;
        Some(format!(
            "{}{turned}{}",
            &hex[..bit / 4],
            &hex[bit / 4 + 1..]
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bit_is_turned_once() {
        let all: Vec<_> = flipped("0F").collect();
        assert_eq!(all, ["1F", "2F", "4F", "8F", "0e", "0d", "0b", "07"]);
    }
}
