//! Rows on their way into a statement, column by column.

use sqlx::postgres::PgArguments;
use sqlx::{Arguments, Encode, Postgres as PgDatabase, Type};

/// The values of a statement: an array for each column.
#[derive(Default)]
pub(crate) struct Columns(pub(crate) PgArguments);

impl Columns {
    /// Adds the values of the next column.
    pub(crate) fn add<'t, T>(&mut self, column: impl Iterator<Item = T>)
    where
        Vec<T>: Encode<'t, PgDatabase> + Type<PgDatabase> + 't,
    {
        let column: Vec<T> = column.collect();
        self.0
            .add(column)
            .expect("limits keep a group far below the 2 GiB of a value");
    }
}
