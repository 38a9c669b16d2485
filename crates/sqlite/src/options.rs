//! The settings of a store on SQLite.

mod location;

use std::fmt;
use std::ops::RangeInclusive;
use std::path::Path;
use std::time::Duration;

use actix_persistence_sql::{
    InvalidOption, NamedPool, Pools, Settings, StoreOptions, read_bytes, read_count, within,
};
use actix_persistence_storage_api::SectionReader;

pub(crate) use location::{Location, Mode};

/// The longest busy time-out. SQLite counts its milliseconds in 32 bits; this is more than is ever needed.
const MAX_BUSY_TIMEOUT: Duration = Duration::from_secs(3_600);

/// The sizes that a log may have in bytes. Below the least the log would be begun anew all the time.
const MAX_LOG_BYTES: RangeInclusive<usize> = 64 * 1024..=1024 * 1024 * 1024 * 1024;

/// The options of [`SqliteJournal`](crate::SqliteJournal), [`SqliteSnapshotStore`](crate::SqliteSnapshotStore) and
/// [`SqliteStateStore`](crate::SqliteStateStore).
///
/// Every field has a default and is a key of the config section, spelt with `-`.
/// A store uses its own tables only; naming the others does no harm.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SqliteOptions {
    /// `url`: the database file, as `sqlite://bank.db`, `sqlite:bank.db`, `sqlite:///var/lib/bank.db` or a plain path.
    ///
    /// Relative to the working directory; `%20` and the like are decoded; `?mode=rwc`, `rw` or `ro` may follow.
    /// Default `sqlite://persistence.db`.
    pub url: String,
    /// `busy-timeout`: the time for which a call waits for the lock of another process; for a free connection it waits
    /// twice as long, at least 5 s.
    ///
    /// A call waits at most for both, so keep it below a third of the circuit breaker's call time-out.
    /// At most an hour. Default 3 s.
    pub busy_timeout: Duration,
    /// `synchronous`: what a commit waits for. Default [`Synchronous::Full`].
    pub synchronous: Synchronous,
    /// `read-connections`: the number of reads that run at the same time, beside the one writer; 1 to 64. Default 4.
    pub read_connections: usize,
    /// `max-log-bytes`: the length of the write-ahead log, in bytes, after which it is begun anew; 64 KiB to 1 TiB.
    ///
    /// SQLite begins it anew when no connection reads. If one always does, the writer waits between two transactions
    /// until readers have let go of it, at most a fifth of a second, and tries again when the log has grown by an
    /// eighth of this. Default 64 MiB.
    pub max_log_bytes: usize,
    /// The names of the tables, and the limits of what is stored.
    pub store: StoreOptions,
    /// `pool`: the name of a pool of the application, instead of `url`.
    pool: Option<NamedPool<sqlx::Sqlite>>,
}

/// The event that a commit waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Synchronous {
    /// The disk: what is stored survives the end of the process and of the machine.
    ///
    /// On macOS, where an ordinary sync does not empty the disk's cache, every sync does
    /// ([`PRAGMA fullfsync`](https://www.sqlite.org/pragma.html#pragma_fullfsync)), which makes commits slower there.
    #[default]
    Full,
    /// The operating system only: what is stored survives `kill -9`, but power loss or a crash of the machine
    /// may take back the last commits, although they were confirmed. Nothing is half there then.
    ///
    /// Actors would go on with events that are gone, and use their numbers again. For tests and throw-away data.
    Normal,
}

impl Synchronous {
    /// Returns the number for `PRAGMA synchronous`, see <https://www.sqlite.org/pragma.html#pragma_synchronous>.
    pub(crate) fn level(self) -> i64 {
        match self {
            Synchronous::Full => 2,
            Synchronous::Normal => 1,
        }
    }

    /// Returns whether a sync empties the disk's own cache where the system leaves the choice, as macOS does.
    pub(crate) fn flushes_the_disk(self) -> bool {
        self == Synchronous::Full
    }
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self {
            url: "sqlite://persistence.db".to_owned(),
            busy_timeout: Duration::from_secs(3),
            synchronous: Synchronous::Full,
            read_connections: 4,
            max_log_bytes: 64 * 1024 * 1024,
            store: StoreOptions::default(),
            pool: None,
        }
    }
}

impl SqliteOptions {
    /// Returns the defaults, for one database.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            ..Self::default()
        }
    }

    /// Returns the defaults, with the file and how to open it taken from a pool of the application; see [`Pools`].
    #[cfg(feature = "sqlx-0_9")]
    pub fn with_pool(name: impl Into<String>, pool: sqlx::SqlitePool) -> Self {
        Self {
            pool: Some(NamedPool::new(name, pool)),
            ..Self::new("")
        }
    }

    /// Returns the `url` of a file whose name is taken as it is; `None` if it is not UTF-8.
    ///
    /// In a `url` some characters have a meaning of their own: this escapes them.
    pub fn url_of(path: impl AsRef<Path>) -> Option<String> {
        Some(Location::url_of(path.as_ref().to_str()?))
    }

    /// Sets the time for which a call waits for a lock; for a connection it waits twice as long, at least 5 s.
    #[must_use]
    pub fn with_busy_timeout(mut self, busy_timeout: Duration) -> Self {
        self.busy_timeout = busy_timeout;
        self
    }

    /// Sets what a commit waits for.
    #[must_use]
    pub fn with_synchronous(mut self, synchronous: Synchronous) -> Self {
        self.synchronous = synchronous;
        self
    }

    /// Sets the number of reads that run at the same time.
    #[must_use]
    pub fn with_read_connections(mut self, read_connections: usize) -> Self {
        self.read_connections = read_connections;
        self
    }

    /// Sets the length of the write-ahead log, in bytes, after which it is begun anew.
    #[must_use]
    pub fn with_max_log_bytes(mut self, max_log_bytes: usize) -> Self {
        self.max_log_bytes = max_log_bytes;
        self
    }

    /// Returns the application's pool, if the file is opened as it opens it.
    pub(crate) fn pool(&self) -> Option<&NamedPool<sqlx::Sqlite>> {
        self.pool.as_ref()
    }

    /// Returns the place of the database.
    pub(crate) fn location(&self) -> Result<Location, InvalidOption> {
        match &self.pool {
            None => Location::parse(&self.url).map_err(InvalidOption::of("url")),
            Some(_) if !self.url.is_empty() => Err(InvalidOption::new(
                "pool",
                "stands for the place of the file; leave out 'url'",
            )),
            Some(pool) => {
                Location::of_pool(&pool.connect_options()).map_err(InvalidOption::of("pool"))
            }
        }
    }

    /// Changes the names of tables, and the limits.
    #[must_use]
    pub fn with_store(mut self, change: impl FnOnce(StoreOptions) -> StoreOptions) -> Self {
        self.store = change(self.store);
        self
    }
}

impl Settings for SqliteOptions {
    type Resources = Pools<sqlx::Sqlite>;

    fn read(reader: &mut SectionReader<'_>, pools: &Self::Resources) -> Self {
        let default = Self::default();
        let pool = pools.read(reader);
        let place = match pool {
            Some(_) => "",
            None => &default.url,
        };
        Self {
            url: reader.string_or("url", place),
            busy_timeout: reader.duration_or("busy-timeout", default.busy_timeout),
            synchronous: reader.choice_or(
                "synchronous",
                &[("full", Synchronous::Full), ("normal", Synchronous::Normal)],
                default.synchronous,
            ),
            read_connections: read_count(
                reader,
                "read-connections",
                default.read_connections,
                1..=64,
            ),
            max_log_bytes: read_bytes(reader, "max-log-bytes", default.max_log_bytes),
            store: StoreOptions::read(reader, &default.store),
            pool,
        }
    }

    fn mistakes(&self) -> Vec<InvalidOption> {
        let checks = [
            (
                "busy-timeout",
                within(self.busy_timeout <= MAX_BUSY_TIMEOUT, "must be at most 1h"),
            ),
            (
                "read-connections",
                within(
                    (1..=64).contains(&self.read_connections),
                    "must be from 1 to 64",
                ),
            ),
            (
                "max-log-bytes",
                within(
                    MAX_LOG_BYTES.contains(&self.max_log_bytes),
                    "must be from 64KiB to 1TiB",
                ),
            ),
        ];
        let own = checks
            .into_iter()
            .filter_map(|(key, result)| Some(InvalidOption::new(key, result.err()?)));
        let of_place = self.location().err();
        of_place
            .into_iter()
            .chain(own)
            .chain(self.store.mistakes())
            .collect()
    }

    fn store(&self) -> &StoreOptions {
        &self.store
    }
}

/// Shows the options. Written by hand, so that a new field is shown only if it is added here, and so can be no secret
/// by mistake.
impl fmt::Debug for SqliteOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteOptions")
            .field("url", &self.url)
            .field("pool", &self.pool)
            .field("busy_timeout", &self.busy_timeout)
            .field("synchronous", &self.synchronous)
            .field("read_connections", &self.read_connections)
            .field("max_log_bytes", &self.max_log_bytes)
            .field("store", &self.store)
            .finish()
    }
}

#[cfg(test)]
mod tests;
