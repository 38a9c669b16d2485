//! Statements with several rows of values.

use std::sync::OnceLock;

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
pub(crate) struct RowsStatement {
    text: String,
    lists: Vec<List>,
    names: SqlNames,
    made: Vec<OnceLock<SqlStr>>,
}

/// The placeholder of a list of rows, and one of its rows.
type List = (&'static str, String);

impl RowsStatement {
    /// Repeats a row of `columns` values for `{rows}` in the text.
    pub(super) fn new(text: &str, columns: usize, names: &SqlNames) -> Self {
        Self::of_lists(text, &[("{rows}", columns)], names)
    }

    /// Repeats a row of so many values for each placeholder in the text, and puts the number of rows in the place of
    /// `{number}`.
    pub(super) fn of_lists(text: &str, lists: &[(&'static str, usize)], names: &SqlNames) -> Self {
        let row = |columns: usize| format!("({})", vec!["?"; columns].join(", "));
        let lists = lists.iter().map(|&(list, columns)| (list, row(columns)));
        Self::of_rows(text, lists.collect(), names)
    }

    /// Repeats this row, which need not be values alone, for `{rows}` in the text.
    pub(super) fn of_row(text: &str, row: &str, names: &SqlNames) -> Self {
        Self::of_rows(text, vec![("{rows}", row.to_owned())], names)
    }

    fn of_rows(text: &str, lists: Vec<List>, names: &SqlNames) -> Self {
        Self {
            text: text.to_owned(),
            lists,
            names: names.clone(),
            made: sizes().map(|_| OnceLock::new()).collect(),
        }
    }

    /// Returns the statement for one of [`chunk_sizes`].
    pub(crate) fn of(&self, rows: usize) -> SqlStr {
        let made = self.made[index_of(rows)].get_or_init(|| {
            let text = self.text.replace("{number}", &rows.to_string());
            let repeat = |text: String, (list, row): &List| {
                text.replace(list, &vec![row.as_str(); rows].join(", "))
            };
            self.names.fill(&self.lists.iter().fold(text, repeat))
        });
        made.clone()
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
        let statement = RowsStatement::new("VALUES {rows}", 1, &SqlNames::new('"', None));
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
