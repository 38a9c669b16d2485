//! The driver without us: rows with the same columns on the same server.

/// The events of a batch.
pub(crate) const BATCH: usize = 100;

/// A database server by its driver alone; in a database of its own, which is gone in the end.
pub(crate) trait Bare: Sized {
    /// The `kind` of its plugin.
    const NAME: &'static str;
    /// The variable with the URL of a server.
    const VARIABLE: &'static str;

    async fn open(url: &str) -> Self;

    /// Returns the URL of the same database, for the plugin.
    fn url(&self) -> String;

    /// One connection, a transaction for each event: events per second.
    async fn singles(&mut self, events: usize) -> f64;

    /// Two connections at the same time, a statement for each batch: events per second.
    async fn batches(&mut self, events: usize) -> f64;

    /// Reads what the plugin stored of one id, in pages of 1,000 rows: events per second.
    async fn replay(&mut self, id: &str, events: usize) -> f64;

    async fn close(self);
}

/// The database of this process.
pub(crate) fn database() -> String {
    format!("actix_persistence_bench_{}", std::process::id())
}

/// The same server with another database.
pub(crate) fn with_database(url: &str, database: &str) -> String {
    let (server, _) = url.rsplit_once('/').expect("a URL names a database");
    format!("{server}/{database}")
}

/// An id of many, and its next number.
pub(crate) fn place(event: usize) -> (String, i64) {
    (
        format!("Notebook|{}", event % 1_000),
        (event / 1_000) as i64,
    )
}
