//! `?` in the place of `$1`.

use actix_persistence_storage_api::SqlValue;

/// The text with `?` for every `$n` outside of quotes and comments, and a value for each of them.
pub(crate) fn placeholders(
    sql: &str,
    values: Vec<SqlValue>,
) -> Result<(String, Vec<SqlValue>), String> {
    let mut text = String::with_capacity(sql.len());
    let mut ordered = Vec::with_capacity(values.len());
    let mut rest = sql;
    while let Some(next) = rest.chars().next() {
        let length = quoted(rest).unwrap_or_else(|| match number(rest) {
            Some(_) => 0,
            None => next.len_utf8(),
        });
        if let (0, Some((number, digits))) = (length, number(rest)) {
            let value = number.checked_sub(1).and_then(|at| values.get(at));
            let value = value.ok_or_else(|| {
                let count = values.len();
                format!("the statement has ${number}, but there are {count} values")
            })?;
            ordered.push(value.clone());
            text.push('?');
            rest = &rest[1 + digits..];
        } else {
            text.push_str(&rest[..length]);
            rest = &rest[length..];
        }
    }
    Ok((text, ordered))
}

/// The number of a placeholder at the start of the text, and how many digits it has.
fn number(text: &str) -> Option<(usize, usize)> {
    let digits = text.strip_prefix('$')?;
    let length = digits.bytes().take_while(u8::is_ascii_digit).count();
    Some((digits[..length].parse().ok()?, length))
}

/// The length of what is quoted or a comment at the start of the text, if something is; without an end it is all of it.
fn quoted(text: &str) -> Option<usize> {
    let until = |opening: usize, end: &str| {
        let found = text[opening..].find(end);
        found.map_or(text.len(), |at| opening + at + end.len())
    };
    match text.as_bytes() {
        [quote @ (b'\'' | b'"'), ..] => Some(string(text, *quote)),
        [b'`', ..] => Some(until(1, "`")),
        [b'#', ..] | [b'-', b'-', b' ' | b'\t' | b'\n', ..] => Some(until(1, "\n")),
        [b'/', b'*', ..] => Some(until(2, "*/")),
        _ => None,
    }
}

/// The length of a text in quotes, in which a backslash makes the next character mean nothing.
///
/// A doubled quote ends one text and begins the next, which is as good.
fn string(text: &str, quote: u8) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            byte if byte == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
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
