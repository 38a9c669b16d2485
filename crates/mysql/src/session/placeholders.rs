//! `?` in the place of `$1`.

use actix_persistence_sql::{Piece, Quoting, pieces};
use actix_persistence_storage_api::SqlValue;

/// Returns the text with `?` for every `$n` outside of quotes and comments, and a value for each of them.
pub(crate) fn placeholders(
    sql: &str,
    values: Vec<SqlValue>,
) -> Result<(String, Vec<SqlValue>), String> {
    let mut text = String::with_capacity(sql.len());
    let mut ordered = Vec::with_capacity(values.len());
    for piece in pieces(sql, Quoting::Mysql) {
        match piece {
            Piece::Quoted(piece) | Piece::Other(piece) => text.push_str(piece),
            Piece::Placeholder(number) => {
                let value = number.checked_sub(1).and_then(|at| values.get(at));
                let value = value.ok_or_else(|| {
                    let count = values.len();
                    format!("the statement has ${number}, but there are {count} values")
                })?;
                ordered.push(value.clone());
                text.push('?');
            }
        }
    }
    Ok((text, ordered))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn translated(sql: &str, count: i64) -> Result<(String, Vec<i64>), String> {
        let values = (1..=count).map(SqlValue::Integer).collect();
        let (text, values) = placeholders(sql, values)?;
        let numbers = values.into_iter().map(|value| match value {
            SqlValue::Integer(number) => number,
            other => panic!("{other:?}"),
        });
        Ok((text, numbers.collect()))
    }

    #[test]
    fn values_come_in_the_order_in_which_they_are_named() {
        let (text, values) = translated("UPDATE t SET a = $2, b = $2+1 WHERE c = $1", 2).unwrap();
        assert_eq!(text, "UPDATE t SET a = ?, b = ?+1 WHERE c = ?");
        assert_eq!(values, [2, 2, 1]);
        let (text, values) = translated("SELECT $12$1", 12).unwrap();
        assert_eq!(
            (text.as_str(), values.as_slice()),
            ("SELECT ??", &[12, 1][..])
        );
    }

    #[test]
    fn nothing_is_touched_within_quotes_and_comments() {
        for text in [
            "SELECT '$1', 'it''s $1', 'a\\'$1'",
            "SELECT \"$1\", `$1` # $1",
            "SELECT /* $1 */ 1 -- $1",
            "SELECT 'ü$1",
            "SELECT $ , $a, '\\\\'",
        ] {
            assert_eq!(translated(text, 0), Ok((text.to_owned(), vec![])));
        }
        let (text, _) = translated("SELECT 1 -- $1\n, $1, a--$1", 1).unwrap();
        assert_eq!(text, "SELECT 1 -- $1\n, ?, a--?");
    }

    #[test]
    fn a_number_without_a_value_is_a_mistake() {
        for sql in ["SELECT $3", "SELECT $0"] {
            let message = translated(sql, 2).unwrap_err();
            assert!(message.contains("there are 2 values"), "{message}");
        }
    }
}
