//! Statements with several rows of values.

use actix_persistence_sql::SqlNames;
use sqlx::SqlStr;

/// The most rows in one statement.
const LARGEST: usize = 128;
/// The number of rows above which the sizes of statements are its multiples.
const STEP: usize = 16;

/// The limit of SQLite: <https://www.sqlite.org/limits.html#max_variable_number>.
const MOST_BINDS: usize = 32_766;
const MOST_COLUMNS: usize = 16;
const _: () = assert!(LARGEST * MOST_COLUMNS < MOST_BINDS);

/// A statement for each of a few numbers of rows, so that a connection prepares each once.
///
/// With powers of two a group needs more statements, with a text for every number of rows more of them are prepared
/// and kept; this was the fastest of the three for groups of varying size.
#[derive(Debug)]
pub(crate) struct RowsStatement(Vec<SqlStr>);

impl RowsStatement {
    /// Repeats `row` for `{rows}` in the text.
    pub(super) fn new(text: &str, row: &str, names: &SqlNames) -> Self {
        let texts = sizes().map(|size| {
            let rows = vec![row; size].join(", ");
            names.fill(&text.replace("{rows}", &rows))
        });
        Self(texts.collect())
    }

    /// Returns the statement for one of [`chunk_sizes`].
    pub(crate) fn of(&self, rows: usize) -> SqlStr {
        self.0[index_of(rows)].clone()
    }
}

/// Splits `total` rows into sizes there are statements for: few of them.
pub(crate) fn chunk_sizes(total: usize) -> impl Iterator<Item = usize> {
    let mut rest = total;
    std::iter::from_fn(move || {
        let size = match rest {
            0 => return None,
            _ if rest >= LARGEST => LARGEST,
            _ if rest >= STEP => rest - rest % STEP,
            _ => rest,
        };
        rest -= size;
        Some(size)
    })
}

fn sizes() -> impl Iterator<Item = usize> {
    (1..STEP).chain((STEP..=LARGEST).step_by(STEP))
}

fn index_of(size: usize) -> usize {
    if size < STEP {
        size - 1
    } else {
        STEP - 2 + size / STEP
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_add_up_and_have_a_statement_of_their_size() {
        let statement = RowsStatement::new("VALUES {rows}", "(?)", &SqlNames::new('"', None));
        for total in (0..=300).chain([999, 1_000, 1_001, 12_345]) {
            let chunks: Vec<_> = chunk_sizes(total).collect();
            assert_eq!(chunks.iter().sum::<usize>(), total);
            assert!(chunks.len() <= total / LARGEST + 2, "{total}: {chunks:?}");
            for size in chunks {
                let binds = statement.of(size).as_str().matches('?').count();
                assert_eq!(binds, size);
            }
        }
    }
}
