//! The binding of rows to lists of values, for the databases without arrays.

/// Stores rows by one statement: a head, a list of values for each row, and a tail, for events or for states.
macro_rules! write_values {
    ($connection:expr, $table:expr, $rows:expr, $events:expr, $states:expr) => {{
        let (head, tail) = match $table {
            Table::Events => $events,
            Table::States => $states,
        };
        let values = vec!["(?, ?, ?, ?, ?, ?, ?)"; $rows.len()].join(", ");
        let text = sqlx::AssertSqlSafe(format!("{head} VALUES {values} {tail}"));
        let mut query = sqlx::query(text);
        for row in &$rows {
            query = query
                .bind(&row.id)
                .bind(row.number)
                .bind(crate::row::TIMESTAMP)
                .bind(crate::row::SERIALIZER_ID)
                .bind(crate::row::MANIFEST)
                .bind(&row.payload);
            query = match $table {
                Table::Events => query.bind(crate::row::WRITER_UUID),
                Table::States => query.bind(crate::row::TAGS),
            };
        }
        let done = query.execute($connection).await.unwrap();
        // MySQL counts a row that replaces another twice.
        assert!(done.rows_affected() >= $rows.len() as u64);
    }};
}

pub(super) use write_values;
