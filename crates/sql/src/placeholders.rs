//! The places of `$1`, `$2` and so on in a statement of the application.
//!
//! `sqlparser` would refuse what a database understands and the parser does not; quotes and comments are all that has to
//! be known to find a placeholder.

/// The quotes and comments of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quoting {
    /// The rules of SQLite: a quote within quotes is doubled, and `[..]` quotes a name.
    Sqlite,
    /// The rules of MySQL and MariaDB: a backslash makes the next character mean nothing, `#` begins a comment, and
    /// `--` only before a space.
    Mysql,
    /// The rules of PostgreSQL: `E'..'` has backslashes, `$$..$$` quotes, and comments stand in comments.
    Postgres,
}

/// A piece of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'s> {
    /// A text in quotes, or a comment; without an end it is all of the rest.
    Quoted(&'s str),
    /// A placeholder by its number.
    Placeholder(usize),
    /// A character of anything else.
    Other(&'s str),
}

/// Returns the pieces of a statement, which together are all of it.
pub fn pieces(sql: &str, quoting: Quoting) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut at = 0;
    while let Some(next) = sql[at..].chars().next() {
        let rest = &sql[at..];
        let length = if let Some(length) = quoted(&sql[..at], rest, quoting) {
            pieces.push(Piece::Quoted(&rest[..length]));
            length
        } else if let Some((number, length)) = number(rest) {
            pieces.push(Piece::Placeholder(number));
            length
        } else {
            pieces.push(Piece::Other(&rest[..next.len_utf8()]));
            next.len_utf8()
        };
        at += length;
    }
    pieces
}

/// Returns the number of a placeholder at the start of the text, and the length of all of it.
fn number(text: &str) -> Option<(usize, usize)> {
    let digits = text.strip_prefix('$')?;
    let length = digits.bytes().take_while(u8::is_ascii_digit).count();
    Some((digits[..length].parse().ok()?, 1 + length))
}

/// Returns the length of what is quoted or a comment at the start of the text, if something is.
fn quoted(before: &str, text: &str, quoting: Quoting) -> Option<usize> {
    let is_mysql = quoting == Quoting::Mysql;
    match text.as_bytes() {
        [quote @ (b'\'' | b'"'), ..] => {
            let has_backslashes = match quoting {
                Quoting::Sqlite => false,
                Quoting::Mysql => true,
                Quoting::Postgres => *quote == b'\'' && before.ends_with(['e', 'E']),
            };
            Some(string(text, *quote, has_backslashes))
        }
        [b'`', ..] if quoting != Quoting::Postgres => Some(until(text, 1, "`")),
        [b'[', ..] if quoting == Quoting::Sqlite => Some(until(text, 1, "]")),
        [b'$' | b':' | b'@' | b'#', ..] if quoting == Quoting::Sqlite => with_suffix(before, text),
        [b'#', ..] if is_mysql => Some(until(text, 1, "\n")),
        [b'-', b'-', b' ' | b'\t' | b'\n', ..] => Some(until(text, 1, "\n")),
        [b'-', b'-', ..] if !is_mysql => Some(until(text, 1, "\n")),
        [b'/', b'*', ..] if quoting == Quoting::Postgres => Some(nested_comment(text)),
        [b'/', b'*', ..] => Some(until(text, 2, "*/")),
        [b'$', ..] if quoting == Quoting::Postgres => in_dollars(text),
        _ => None,
    }
}

/// Returns the length of a parameter of SQLite with a suffix in parentheses, as `$1(..)`, which ends at the first `)` whatever
/// quotes are in it.
fn with_suffix(before: &str, text: &str) -> Option<usize> {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$') || !c.is_ascii();
    // As a dollar within a name.
    if text.starts_with('$') && before.ends_with(is_of_name) {
        return None;
    }
    let mut name = &text[1..];
    loop {
        let after = name.trim_start_matches(is_of_name);
        match after.strip_prefix("::") {
            Some(rest) => name = rest,
            None => {
                let suffix = after.strip_prefix('(')?;
                let end = suffix.find(|c: char| c == ')' || c.is_ascii_whitespace())?;
                let has_end = suffix[end..].starts_with(')');
                return has_end.then(|| text.len() - suffix.len() + end + 1);
            }
        }
    }
}

fn until(text: &str, opening: usize, end: &str) -> usize {
    let found = text[opening..].find(end);
    found.map_or(text.len(), |at| opening + at + end.len())
}

/// Returns the length of a text in quotes. A doubled quote ends one text and begins the next, which is as good.
fn string(text: &str, quote: u8, has_backslashes: bool) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if has_backslashes => escaped = true,
            byte if byte == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

fn nested_comment(text: &str) -> usize {
    let (mut at, mut depth) = (0, 0_usize);
    while at < text.len() {
        match &text.as_bytes()[at..] {
            [b'/', b'*', ..] => (at, depth) = (at + 2, depth + 1),
            [b'*', b'/', ..] => (at, depth) = (at + 2, depth - 1),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

/// Returns the length of `$tag$..$tag$`; a tag is a name or nothing, so that a placeholder begins none.
fn in_dollars(text: &str) -> Option<usize> {
    let end = text[1..].find('$')? + 1;
    let tag = &text[1..end];
    let is_name = |(place, letter): (usize, char)| {
        letter.is_alphabetic() || letter == '_' || (place > 0 && letter.is_ascii_digit())
    };
    let opening = &text[..=end];
    tag.chars()
        .enumerate()
        .all(is_name)
        .then(|| until(text, opening.len(), opening))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(sql: &str, quoting: Quoting) -> Vec<usize> {
        let pieces = pieces(sql, quoting).into_iter();
        let numbers = pieces.filter_map(|piece| match piece {
            Piece::Placeholder(number) => Some(number),
            _ => None,
        });
        numbers.collect()
    }

    const ALL: [Quoting; 3] = [Quoting::Sqlite, Quoting::Mysql, Quoting::Postgres];

    #[test]
    fn what_is_quoted_differs_from_database_to_database() {
        use Quoting::{Mysql, Postgres, Sqlite};
        for (sql, found_by) in [
            ("'$1' \"$1\" /* $1 */ -- $1", &[][..]),
            ("'it''s $1' 'ü$1", &[]),
            ("a = $1 -- $1\n", &ALL),
            ("`$1`", &[Postgres]),
            ("[$1]", &[Mysql, Postgres]),
            ("# $1", &[Sqlite, Postgres]),
            ("a --$1", &[Mysql]),
            ("'\\' = '$1'", &[Mysql]),
            ("'\\'$1'", &[Sqlite, Postgres]),
            ("E'\\'$1'", &[Sqlite]),
            ("/* /* */ $1 */", &[Sqlite, Mysql]),
            ("$$ $1 $$", &[Sqlite, Mysql]),
            ("$a1$ $1 $a$ $a1$", &[Sqlite, Mysql]),
        ] {
            for quoting in ALL {
                let expected = &[1][..usize::from(found_by.contains(&quoting))];
                assert_eq!(numbers(sql, quoting), expected, "{sql} as {quoting:?}");
            }
        }
        for quoting in ALL {
            assert_eq!(
                numbers("$12$1 + $a + $ $2", quoting),
                [12, 1, 2],
                "{quoting:?}"
            );
        }
    }
}
