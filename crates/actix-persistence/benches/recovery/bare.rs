//! The driver without us: the rows that the plugin stored, read page by page.

use actix_persistence::Config;

/// A database that is gone in the end, and one connection to it.
pub(crate) trait Bare: Sized {
    /// The `kind` of its plugin.
    const NAME: &'static str;
    /// The variable with the URL of a server.
    const VARIABLE: &'static str;
    /// The ratio to bare pages that a recovery of one log must reach.
    const AT_LEAST_ONE_LOG: f64;
    /// The same for many logs.
    const AT_LEAST_MANY_LOGS: f64;

    /// Makes the database; none without a server.
    async fn make() -> Option<Self>;

    /// Returns the config of the plugin on that database.
    fn config(&self) -> Config;

    /// Connects, once there are tables.
    async fn open(&mut self);

    /// Reads up to 1,000 events of an id above a number; returns their number, and the last number.
    async fn page(&mut self, id: &str, after: i64) -> (usize, i64);

    async fn close(self);
}

/// The number of rows, the last number, and a look at every value.
macro_rules! counted {
    ($rows:expr, $after:expr) => {{
        let mut last = $after;
        let mut bytes = 0;
        for row in &$rows {
            last = row.get::<i64, _>(0);
            let (_timestamp, _serializer) = (row.get::<i64, _>(1), row.get::<i64, _>(3));
            bytes += row.get::<Vec<u8>, _>(2).len() + row.get::<String, _>(4).len();
            bytes += row.get::<Vec<u8>, _>(5).len();
        }
        assert!(bytes >= $rows.len() * crate::notebook::PAYLOAD);
        ($rows.len(), last)
    }};
}

pub(crate) use counted;

/// The config of a server.
pub(crate) fn config(kind: &str, url: &str) -> Config {
    Config::new()
        .with("persistence.journal.bench.kind", kind)
        .with("persistence.journal.bench.url", url)
        .with("persistence.journal.bench.auto-initialize", true)
        .with("persistence.journal.plugin", "bench")
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
