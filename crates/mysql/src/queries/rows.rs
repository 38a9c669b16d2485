//! Statements with several rows of values.

use actix_persistence_sql::SqlNames;
use sqlx::SqlStr;

/// The most rows in one statement.
pub(crate) const LARGEST: usize = 256;

/// The size above which a statement has one row only; every server takes a statement of this size.
pub(crate) const MANY_BYTES: usize = 512 * 1024;

/// The limit of the protocol, which counts the values of a statement in 16 bits:
/// <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_stmt_prepare.html>.
const MOST_BINDS: usize = 65_535;
const MOST_COLUMNS: usize = 16;
const _: () = assert!(LARGEST.is_power_of_two() && LARGEST * MOST_COLUMNS < MOST_BINDS);

/// A statement for each power of two, so that a connection prepares each once.
///
/// A text for every number of rows would be prepared ever again, at many times the cost of running it.
#[derive(Debug)]
pub(crate) struct RowsStatement(Vec<SqlStr>);

impl RowsStatement {
    /// Repeats `row` for `{rows}` in the text.
    pub(super) fn new(text: &str, row: &str, names: &SqlNames) -> Self {
        Self::separated(text, row, ", ", names)
    }

    /// The same with something else between the rows.
    pub(super) fn separated(text: &str, row: &str, separator: &str, names: &SqlNames) -> Self {
        let sizes = (0..=LARGEST.ilog2()).map(|power| 1 << power);
        let texts = sizes.map(|size| {
            let rows = vec![row; size].join(separator);
            names.fill(&text.replace("{rows}", &rows))
        });
        Self(texts.collect())
    }

    /// Returns the statement for one of [`chunk_sizes`].
    pub(crate) fn of(&self, rows: usize) -> SqlStr {
        debug_assert!(rows.is_power_of_two());
        self.0[rows.ilog2() as usize].clone()
    }
}

/// Splits `total` rows into sizes there are statements for, the largest first.
pub(crate) fn chunk_sizes(total: usize) -> impl Iterator<Item = usize> {
    let mut rest = total;
    std::iter::from_fn(move || {
        let size = 1_usize << rest.min(LARGEST).checked_ilog2()?;
        rest -= size;
        Some(size)
    })
}

/// Divides rows of these sizes into statements, in order: returns the number of rows of each, always one for which there
/// is a statement.
pub(crate) fn sendable_sizes(bytes: &[usize]) -> Vec<usize> {
    let mut sizes = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let mut size = chunk_sizes(rest.len()).next().unwrap_or(1).min(LARGEST);
        while size > 1 && rest[..size].iter().sum::<usize>() > MANY_BYTES {
            size /= 2;
        }
        sizes.push(size);
        rest = &rest[size..];
    }
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_add_up_and_have_a_statement_of_their_size() {
        let statement = RowsStatement::new("VALUES {rows}", "(?)", &SqlNames::new('`', None));
        for total in (0..=300).chain([999, 1_000, 1_001, 12_345]) {
            let chunks: Vec<_> = chunk_sizes(total).collect();
            assert_eq!(chunks.iter().sum::<usize>(), total);
            assert!(
                chunks.len() <= total / LARGEST + LARGEST.ilog2() as usize,
                "{total}: {chunks:?}"
            );
            for size in chunks {
                let binds = statement.of(size).as_str().matches('?').count();
                assert_eq!(binds, size);
            }
        }
    }
}
