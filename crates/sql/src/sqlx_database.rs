//! The requirements of shared code on sqlx.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use futures_util::stream::{BoxStream, TryStreamExt};
use sqlx::database::HasStatementCache;
use sqlx::{
    Arguments, ColumnIndex, Database, Decode, Encode, Executor, IntoArguments, Row, SqlStr, Type,
};

/// Integers, texts and bytes to and from any database of sqlx: the bounds, written once.
///
/// Everything that has them is portable; never implemented by hand.
pub trait SqlxDatabase: Database {
    /// Adds an integer to the values of a statement.
    fn add_integer(arguments: &mut Self::Arguments, value: Option<i64>);
    /// Adds a text to the values of a statement.
    fn add_text(arguments: &mut Self::Arguments, value: Option<Arc<str>>);
    /// Adds bytes to the values of a statement.
    fn add_bytes(arguments: &mut Self::Arguments, value: Option<Vec<u8>>);

    /// Reads an integer of a row.
    fn integer(row: &Self::Row, column: usize) -> Result<Option<i64>, sqlx::Error>;
    /// Reads a text from a column of a row.
    fn text(row: &Self::Row, column: usize) -> Result<Option<String>, sqlx::Error>;
    /// Reads bytes from a column of a row.
    fn bytes(row: &Self::Row, column: usize) -> Result<Option<Vec<u8>>, sqlx::Error>;
    /// Reads a text that stays in the row.
    fn text_of(row: &Self::Row, column: usize) -> Result<Option<&str>, sqlx::Error>;
    /// Reads bytes that stay in the row.
    fn bytes_of(row: &Self::Row, column: usize) -> Result<Option<&[u8]>, sqlx::Error>;

    /// Runs a prepared statement, and returns its rows as they come.
    ///
    /// They are to be read to the end: what is left of them has to be read before the connection does anything else.
    fn fetch(
        connection: &mut Self::Connection,
        sql: SqlStr,
        arguments: Self::Arguments,
    ) -> BoxStream<'_, Result<Self::Row, sqlx::Error>>;

    /// Runs a prepared statement for its rows.
    fn fetch_all(
        connection: &mut Self::Connection,
        sql: SqlStr,
        arguments: Self::Arguments,
    ) -> BoxFuture<'_, Result<Vec<Self::Row>, sqlx::Error>>;

    /// Runs a statement for its rows, and does not keep it.
    fn fetch_once(
        connection: &mut Self::Connection,
        sql: SqlStr,
        arguments: Self::Arguments,
    ) -> BoxFuture<'_, Result<Vec<Self::Row>, sqlx::Error>>;

    /// Runs a prepared statement that returns no rows.
    fn execute(
        connection: &mut Self::Connection,
        sql: SqlStr,
        arguments: Self::Arguments,
    ) -> BoxFuture<'_, Result<Self::QueryResult, sqlx::Error>>;

    /// Runs a statement for the rows that it changes, and does not keep it.
    fn execute_once(
        connection: &mut Self::Connection,
        sql: SqlStr,
        arguments: Self::Arguments,
    ) -> BoxFuture<'_, Result<Self::QueryResult, sqlx::Error>>;

    /// Runs a text of one or several prepared statements that return no rows, and returns the result of each.
    fn execute_each(
        connection: &mut Self::Connection,
        sql: SqlStr,
        arguments: Self::Arguments,
    ) -> BoxFuture<'_, Result<Vec<Self::QueryResult>, sqlx::Error>>;

    /// Runs a text of one or several statements without values for their rows, which is not prepared.
    fn fetch_unprepared(
        connection: &mut Self::Connection,
        sql: SqlStr,
    ) -> BoxFuture<'_, Result<Vec<Self::Row>, sqlx::Error>>;

    /// Runs a text of one or several statements without values, which is not prepared.
    fn run(
        connection: &mut Self::Connection,
        sql: SqlStr,
    ) -> BoxFuture<'_, Result<(), sqlx::Error>>;
}

impl<DB> SqlxDatabase for DB
where
    DB: Database + HasStatementCache,
    DB::Arguments: IntoArguments<DB>,
    for<'c> &'c mut DB::Connection: Executor<'c, Database = DB>,
    usize: ColumnIndex<DB::Row>,
    i64: Type<DB> + for<'q> Encode<'q, DB> + for<'r> Decode<'r, DB>,
    String: Type<DB> + for<'r> Decode<'r, DB>,
    Vec<u8>: Type<DB> + for<'q> Encode<'q, DB> + for<'r> Decode<'r, DB>,
    for<'r> &'r str: Type<DB> + Decode<'r, DB>,
    for<'r> &'r [u8]: Type<DB> + Decode<'r, DB>,
    Arc<str>: Type<DB> + for<'q> Encode<'q, DB>,
    Option<i64>: for<'q> Encode<'q, DB>,
    Option<Arc<str>>: for<'q> Encode<'q, DB>,
    Option<Vec<u8>>: for<'q> Encode<'q, DB>,
{
    fn add_integer(arguments: &mut Self::Arguments, value: Option<i64>) {
        arguments.add(value).expect(ENCODED);
    }

    fn add_text(arguments: &mut Self::Arguments, value: Option<Arc<str>>) {
        arguments.add(value).expect(ENCODED);
    }

    fn add_bytes(arguments: &mut Self::Arguments, value: Option<Vec<u8>>) {
        arguments.add(value).expect(ENCODED);
    }

    fn integer(row: &Self::Row, column: usize) -> Result<Option<i64>, sqlx::Error> {
        row.try_get(column)
    }

    fn text(row: &Self::Row, column: usize) -> Result<Option<String>, sqlx::Error> {
        row.try_get(column)
    }

    fn bytes(row: &Self::Row, column: usize) -> Result<Option<Vec<u8>>, sqlx::Error> {
        row.try_get(column)
    }

    fn text_of(row: &Self::Row, column: usize) -> Result<Option<&str>, sqlx::Error> {
        row.try_get(column)
    }

    fn bytes_of(row: &Self::Row, column: usize) -> Result<Option<&[u8]>, sqlx::Error> {
        row.try_get(column)
    }

    fn fetch(
        connection: &mut Self::Connection,
        sql: SqlStr,
        arguments: Self::Arguments,
    ) -> BoxStream<'_, Result<Self::Row, sqlx::Error>> {
        connection.fetch(sqlx::query_with(sql, arguments))
    }

    fn fetch_all(
        connection: &mut Self::Connection,
        sql: SqlStr,
        arguments: Self::Arguments,
    ) -> BoxFuture<'_, Result<Vec<Self::Row>, sqlx::Error>> {
        connection.fetch_all(sqlx::query_with(sql, arguments))
    }

    fn fetch_once(
        connection: &mut Self::Connection,
        sql: SqlStr,
        arguments: Self::Arguments,
    ) -> BoxFuture<'_, Result<Vec<Self::Row>, sqlx::Error>> {
        connection.fetch_all(sqlx::query_with(sql, arguments).persistent(false))
    }

    fn execute(
        connection: &mut Self::Connection,
        sql: SqlStr,
        arguments: Self::Arguments,
    ) -> BoxFuture<'_, Result<Self::QueryResult, sqlx::Error>> {
        connection.execute(sqlx::query_with(sql, arguments))
    }

    fn execute_once(
        connection: &mut Self::Connection,
        sql: SqlStr,
        arguments: Self::Arguments,
    ) -> BoxFuture<'_, Result<Self::QueryResult, sqlx::Error>> {
        connection.execute(sqlx::query_with(sql, arguments).persistent(false))
    }

    fn execute_each(
        connection: &mut Self::Connection,
        sql: SqlStr,
        arguments: Self::Arguments,
    ) -> BoxFuture<'_, Result<Vec<Self::QueryResult>, sqlx::Error>> {
        let all = connection.fetch_many(sqlx::query_with(sql, arguments));
        let results = all.try_filter_map(|one| std::future::ready(Ok(one.left())));
        Box::pin(results.try_collect())
    }

    fn fetch_unprepared(
        connection: &mut Self::Connection,
        sql: SqlStr,
    ) -> BoxFuture<'_, Result<Vec<Self::Row>, sqlx::Error>> {
        Box::pin(async move { connection.fetch_all(sqlx::raw_sql(sql)).await })
    }

    fn run(
        connection: &mut Self::Connection,
        sql: SqlStr,
    ) -> BoxFuture<'_, Result<(), sqlx::Error>> {
        Box::pin(async move { connection.execute(sqlx::raw_sql(sql)).await.map(drop) })
    }
}

const ENCODED: &str = "integers, texts and bytes are always encoded";
