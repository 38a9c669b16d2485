//! The settings of a store on SQLite.

mod location;

use std::fmt;
use std::path::Path;
use std::time::Duration;

use actix_persistence_storage_api::SectionReader;

pub(crate) use location::{Location, Mode};

use crate::connection::ConnectionSettings;
use crate::queries::{JournalTables, TableName};

const MEBIBYTE: u64 = 1024 * 1024;
/// No event and no snapshot is ever larger.
const MAX_PAYLOAD_BYTES: u64 = 64 * MEBIBYTE;
/// SQLite counts the milliseconds of the busy time-out in 32 bits; nobody wants more than this.
const MAX_BUSY_TIMEOUT: Duration = Duration::from_secs(3_600);

/// What [`SqliteJournal`](crate::SqliteJournal) and [`SqliteSnapshotStore`](crate::SqliteSnapshotStore) need to know.
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
    /// `auto-initialize`: whether initialising creates the database and its tables, or brings older ones up to date.
    ///
    /// Without it a missing or older schema is an error at the start. Default `true`.
    pub auto_initialize: bool,
    /// `busy-timeout`: how long a call waits for the lock of another process; for a free connection it waits twice as long,
    /// at least 5 s.
    ///
    /// A call waits at most for both, so keep it below a third of the circuit breaker's call time-out.
    /// At most an hour. Default 3 s.
    pub busy_timeout: Duration,
    /// `synchronous`: what a commit waits for. Default [`Synchronous::Full`].
    pub synchronous: Synchronous,
    /// `read-connections`: how many reads run side by side, beside the one writer; 1 to 64. Default 4.
    pub read_connections: usize,
    /// `event-table`: the events. Default `event_journal`.
    pub event_table: String,
    /// `tag-table`: the tags of events. Default `event_tag`.
    pub tag_table: String,
    /// `metadata-table`: a row for each persistence id. Default `journal_metadata`.
    pub metadata_table: String,
    /// `snapshot-table`: the snapshots. Default `snapshot`.
    pub snapshot_table: String,
    /// `max-event-bytes`: the largest payload, and the largest metadata, of an event; at most 64 MiB. Default 1 MiB.
    pub max_event_bytes: usize,
    /// `max-snapshot-bytes`: the same for a snapshot. Default 15 MiB.
    pub max_snapshot_bytes: usize,
    /// `max-group-events`: how many events the journal actor may put into one transaction. Default 1,000.
    pub max_group_events: usize,
    /// `max-group-bytes`: how many payload bytes. Default 8 MiB.
    pub max_group_bytes: usize,
    /// `max-page-events`: the most events in one page of a replay, whatever is asked for. Default 10,000.
    pub max_page_events: usize,
    /// `max-page-bytes`: the most payload bytes in one page; a larger event comes alone. Default 64 MiB.
    pub max_page_bytes: usize,
    /// `delete-chunk-events`: how many deleted rows are removed in one transaction, so that writers wait little.
    ///
    /// Default 1,000.
    pub delete_chunk_events: usize,
}

/// What a commit waits for.
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
    /// What `PRAGMA synchronous` says, see <https://www.sqlite.org/pragma.html#pragma_synchronous>.
    pub(crate) fn level(self) -> i64 {
        match self {
            Synchronous::Full => 2,
            Synchronous::Normal => 1,
        }
    }

    /// Whether a sync empties the disk's own cache where the system leaves the choice, as macOS does.
    pub(crate) fn flushes_the_disk(self) -> bool {
        self == Synchronous::Full
    }
}

/// A setting that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{key}' {message}")]
#[non_exhaustive]
pub struct InvalidSqliteOption {
    /// The key of the config section.
    pub key: &'static str,
    /// What is wrong with its value; continues the key.
    pub message: String,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self {
            url: "sqlite://persistence.db".to_owned(),
            auto_initialize: true,
            busy_timeout: Duration::from_secs(3),
            synchronous: Synchronous::Full,
            read_connections: 4,
            event_table: "event_journal".to_owned(),
            tag_table: "event_tag".to_owned(),
            metadata_table: "journal_metadata".to_owned(),
            snapshot_table: "snapshot".to_owned(),
            max_event_bytes: MEBIBYTE as usize,
            max_snapshot_bytes: 15 * MEBIBYTE as usize,
            max_group_events: 1_000,
            max_group_bytes: 8 * MEBIBYTE as usize,
            max_page_events: 10_000,
            max_page_bytes: MAX_PAYLOAD_BYTES as usize,
            delete_chunk_events: 1_000,
        }
    }
}

impl SqliteOptions {
    /// The defaults, for one database.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            ..Self::default()
        }
    }

    /// The `url` of a file whose name is taken as it is; `None` if it is not UTF-8.
    ///
    /// In a `url` some characters have a meaning of their own: this escapes them.
    pub fn url_of(path: impl AsRef<Path>) -> Option<String> {
        Some(Location::url_of(path.as_ref().to_str()?))
    }

    /// Sets whether initialising creates the database and its tables.
    #[must_use]
    pub fn with_auto_initialize(mut self, auto_initialize: bool) -> Self {
        self.auto_initialize = auto_initialize;
        self
    }

    /// Sets how long a call waits for a lock; for a connection it waits twice as long, at least 5 s.
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

    /// Sets how many reads run side by side.
    #[must_use]
    pub fn with_read_connections(mut self, read_connections: usize) -> Self {
        self.read_connections = read_connections;
        self
    }

    /// Sets the names of the journal's three tables.
    #[must_use]
    pub fn with_journal_tables(mut self, events: &str, tags: &str, metadata: &str) -> Self {
        self.event_table = events.to_owned();
        self.tag_table = tags.to_owned();
        self.metadata_table = metadata.to_owned();
        self
    }

    /// Sets the name of the snapshot store's table.
    #[must_use]
    pub fn with_snapshot_table(mut self, snapshots: &str) -> Self {
        self.snapshot_table = snapshots.to_owned();
        self
    }

    /// Sets the largest event.
    #[must_use]
    pub fn with_max_event_bytes(mut self, bytes: usize) -> Self {
        self.max_event_bytes = bytes;
        self
    }

    /// Sets the largest snapshot.
    #[must_use]
    pub fn with_max_snapshot_bytes(mut self, bytes: usize) -> Self {
        self.max_snapshot_bytes = bytes;
        self
    }

    /// Caps what the journal actor puts into one transaction.
    #[must_use]
    pub fn with_max_group(mut self, events: usize, bytes: usize) -> Self {
        self.max_group_events = events;
        self.max_group_bytes = bytes;
        self
    }

    /// Caps a page of a replay.
    #[must_use]
    pub fn with_max_page(mut self, events: usize, bytes: usize) -> Self {
        self.max_page_events = events;
        self.max_page_bytes = bytes;
        self
    }

    /// Sets how many deleted rows are removed in one transaction.
    #[must_use]
    pub fn with_delete_chunk_events(mut self, events: usize) -> Self {
        self.delete_chunk_events = events;
        self
    }

    /// Checks what [`SqliteJournal::new`](crate::SqliteJournal::new) and its like refuse.
    ///
    /// # Errors
    /// The first setting that cannot be used.
    pub fn validate(&self) -> Result<(), InvalidSqliteOption> {
        self.mistakes().into_iter().next().map_or(Ok(()), Err)
    }

    /// What connections need to know; for options that were validated.
    pub(crate) fn connection_settings(&self) -> Result<ConnectionSettings, InvalidSqliteOption> {
        let location = Location::parse(&self.url).map_err(invalid("url"))?;
        Ok(ConnectionSettings {
            location,
            busy_timeout: self.busy_timeout,
            synchronous: self.synchronous,
            read_connections: self.read_connections,
        })
    }

    pub(crate) fn journal_tables(&self) -> Result<JournalTables, InvalidSqliteOption> {
        Ok(JournalTables {
            events: TableName::parse(&self.event_table).map_err(invalid("event-table"))?,
            tags: TableName::parse(&self.tag_table).map_err(invalid("tag-table"))?,
            metadata: TableName::parse(&self.metadata_table).map_err(invalid("metadata-table"))?,
        })
    }

    pub(crate) fn snapshot_table_name(&self) -> Result<TableName, InvalidSqliteOption> {
        TableName::parse(&self.snapshot_table).map_err(invalid("snapshot-table"))
    }

    /// Reads the keys of a section; mistakes stay with the reader.
    pub(crate) fn read(reader: &mut SectionReader<'_>) -> Self {
        const COUNT: std::ops::RangeInclusive<u64> = 1..=1_000_000;
        let default = Self::default();
        let options = Self {
            url: reader.string_or("url", &default.url),
            auto_initialize: reader.boolean_or("auto-initialize", default.auto_initialize),
            busy_timeout: reader.duration_or("busy-timeout", default.busy_timeout),
            synchronous: reader.choice_or(
                "synchronous",
                &[("full", Synchronous::Full), ("normal", Synchronous::Normal)],
                default.synchronous,
            ),
            read_connections: count(reader, "read-connections", default.read_connections, 1..=64),
            event_table: reader.string_or("event-table", &default.event_table),
            tag_table: reader.string_or("tag-table", &default.tag_table),
            metadata_table: reader.string_or("metadata-table", &default.metadata_table),
            snapshot_table: reader.string_or("snapshot-table", &default.snapshot_table),
            max_event_bytes: bytes(reader, "max-event-bytes", default.max_event_bytes),
            max_snapshot_bytes: bytes(reader, "max-snapshot-bytes", default.max_snapshot_bytes),
            max_group_events: count(reader, "max-group-events", default.max_group_events, COUNT),
            max_group_bytes: bytes(reader, "max-group-bytes", default.max_group_bytes),
            max_page_events: count(reader, "max-page-events", default.max_page_events, COUNT),
            max_page_bytes: bytes(reader, "max-page-bytes", default.max_page_bytes),
            delete_chunk_events: count(
                reader,
                "delete-chunk-events",
                default.delete_chunk_events,
                COUNT,
            ),
        };
        for mistake in options.mistakes() {
            reader.reject(mistake.key, mistake.message);
        }
        options
    }

    fn mistakes(&self) -> Vec<InvalidSqliteOption> {
        let mut mistakes = Vec::new();
        let mut check = |key, result: Result<(), String>| {
            if let Err(message) = result {
                mistakes.push(InvalidSqliteOption { key, message });
            }
        };
        check("url", Location::parse(&self.url).map(drop));
        check(
            "busy-timeout",
            within(self.busy_timeout <= MAX_BUSY_TIMEOUT, "must be at most 1h"),
        );
        check(
            "read-connections",
            within(
                (1..=64).contains(&self.read_connections),
                "must be from 1 to 64",
            ),
        );
        for (key, bytes) in [
            ("max-event-bytes", self.max_event_bytes),
            ("max-snapshot-bytes", self.max_snapshot_bytes),
        ] {
            check(
                key,
                within(
                    (1..=MAX_PAYLOAD_BYTES).contains(&(bytes as u64)),
                    "must be from 1 byte to 64MiB",
                ),
            );
        }
        for (key, number) in [
            ("max-group-events", self.max_group_events),
            ("max-group-bytes", self.max_group_bytes),
            ("max-page-events", self.max_page_events),
            ("max-page-bytes", self.max_page_bytes),
            ("delete-chunk-events", self.delete_chunk_events),
        ] {
            check(key, within(number >= 1, "must be at least 1"));
        }
        let tables = self.tables();
        for (position, (key, name)) in tables.iter().enumerate() {
            check(key, TableName::parse(name).map(drop));
            let twin = tables[..position]
                .iter()
                .find(|(_, other)| other.eq_ignore_ascii_case(name));
            if let Some((other, _)) = twin {
                check(key, Err(format!("must not be the same as '{other}'")));
            }
        }
        mistakes
    }

    fn tables(&self) -> [(&'static str, &str); 4] {
        [
            ("event-table", &self.event_table),
            ("tag-table", &self.tag_table),
            ("metadata-table", &self.metadata_table),
            ("snapshot-table", &self.snapshot_table),
        ]
    }
}

/// Written by hand, so that a new field is shown only after somebody thought about secrets.
impl fmt::Debug for SqliteOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteOptions")
            .field("url", &self.url)
            .field("auto_initialize", &self.auto_initialize)
            .field("busy_timeout", &self.busy_timeout)
            .field("synchronous", &self.synchronous)
            .field("read_connections", &self.read_connections)
            .field("tables", &self.tables().map(|(_, name)| name))
            .field("max_event_bytes", &self.max_event_bytes)
            .field("max_snapshot_bytes", &self.max_snapshot_bytes)
            .field("max_group_events", &self.max_group_events)
            .field("max_group_bytes", &self.max_group_bytes)
            .field("max_page_events", &self.max_page_events)
            .field("max_page_bytes", &self.max_page_bytes)
            .field("delete_chunk_events", &self.delete_chunk_events)
            .finish()
    }
}

fn invalid(key: &'static str) -> impl FnOnce(String) -> InvalidSqliteOption {
    move |message| InvalidSqliteOption { key, message }
}

fn count(
    reader: &mut SectionReader<'_>,
    key: &str,
    default: usize,
    range: std::ops::RangeInclusive<u64>,
) -> usize {
    saturated(reader.integer_or(key, default as u64, range))
}

fn bytes(reader: &mut SectionReader<'_>, key: &str, default: usize) -> usize {
    saturated(reader.bytes_or(key, default as u64))
}

fn saturated(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn within(holds: bool, message: &str) -> Result<(), String> {
    holds.then_some(()).ok_or_else(|| message.to_owned())
}

#[cfg(test)]
mod tests;
