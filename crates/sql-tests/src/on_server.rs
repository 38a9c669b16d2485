//! A database of a test's own on a server: what the tests need of it besides.

use std::any::Any;
use std::time::Duration;

use async_trait::async_trait;

use crate::Tables;

/// Tables in a database on a server, which has users, locks rows, and takes its time.
#[async_trait]
pub trait OnServer: Tables {
    /// Returns the name of the database. A user with this name and password may only log in.
    fn name(&self) -> &str;

    /// Returns the URL for that user.
    fn application_url(&self) -> String;

    /// Locks the rows of an id in a table, as another application may, until what is returned is dropped.
    async fn hold(&self, table: &str, persistence_id: &str) -> Box<dyn Any + Send>;

    /// Returns when this many calls of the plugin wait for locks.
    async fn until_waiting(&self, calls: i64);

    /// Ends all sessions of the database but its own.
    async fn end_sessions(&self);

    /// Returns the statements that lock a table for a time against every reader and writer, as a change of the table by
    /// another application does.
    fn locks_for(&self, table: &str, time: Duration) -> String;

    /// Returns the query for the number of transactions and locks of the plugin that have not ended.
    fn counts_transactions_and_locks(&self) -> &'static str;

    /// Returns the statement with which the server sleeps for a second.
    fn sleeps_a_second(&self) -> &'static str;

    /// Returns the statements that make a trigger: each row that is inserted into the table takes this many seconds.
    fn slows_inserts(&self, table: &str, seconds: f64) -> String;

    /// Returns the text of a key of the JSON in a column, in SQL.
    fn text_in_json(&self, column: &str, key: &str) -> String;
}
