//! Settings that the stores of every database have.

use std::fmt;
use std::ops::RangeInclusive;
use std::time::Duration;

use actix_persistence_storage_api::{ConfigErrors, Section, SectionReader};

use crate::state_store::ORDERING;
use crate::{ServerOptions, TableName};

const MEBIBYTE: usize = 1024 * 1024;
/// The largest size in bytes of any event, snapshot or state.
pub(crate) const MAX_PAYLOAD_BYTES: usize = 64 * MEBIBYTE;
const MAX_GROUP_BYTES: usize = 256 * MEBIBYTE;

/// The options of a database, as shared code sees them.
pub trait Settings: Clone + fmt::Debug + Send + Sync + 'static {
    /// The values that sections may name, like pools of the application.
    type Resources: Clone + Default + fmt::Debug + Send + Sync + 'static;

    /// Reads the keys of a section; mistakes stay with the reader.
    fn read(reader: &mut SectionReader<'_>, resources: &Self::Resources) -> Self;

    /// Returns every setting that cannot be used, with the reason.
    fn mistakes(&self) -> Vec<InvalidOption>;

    /// Returns the settings that all databases have.
    fn store(&self) -> &StoreOptions;

    /// Reads a section, which must have no other keys.
    ///
    /// # Errors
    /// Every mistake in the section.
    fn of_section(section: &Section, resources: &Self::Resources) -> Result<Self, ConfigErrors> {
        let mut reader = section.reader();
        let options = Self::read(&mut reader, resources);
        for mistake in options.mistakes() {
            reader.reject(mistake.key, mistake.message);
        }
        reader.finish()?;
        Ok(options)
    }

    /// Checks settings that a program made.
    ///
    /// # Errors
    /// The first that cannot be used.
    fn validate(&self) -> Result<(), InvalidOption> {
        self.mistakes().into_iter().next().map_or(Ok(()), Err)
    }
}

/// A setting that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", if key.is_empty() { String::new() } else { format!("'{key}' ") })]
#[non_exhaustive]
pub struct InvalidOption {
    /// The key of the config section whose value cannot be used; empty for a mistake of the program.
    pub key: &'static str,
    /// The key within the section that `key` names, if `key` names a section and one of its keys is meant.
    pub entry: Option<String>,
    /// The mistake in the value; the text continues the key, as in "must not be empty".
    pub message: String,
}

impl InvalidOption {
    /// Makes a mistake about this key; the `message` continues the key, as in "must not be empty".
    pub fn new(key: &'static str, message: impl Into<String>) -> Self {
        Self {
            key,
            entry: None,
            message: message.into(),
        }
    }

    /// Makes a mistake of the program, which no key of the config is about.
    pub fn of_program(message: impl Into<String>) -> Self {
        Self::new("", message)
    }

    /// Returns the same of a key within the section of that name.
    #[must_use]
    pub fn at_entry(mut self, entry: &str) -> Self {
        self.entry = Some(entry.to_owned());
        self
    }

    /// Returns a function for `map_err`.
    pub fn of(key: &'static str) -> impl FnOnce(String) -> Self {
        move |message| Self::new(key, message)
    }
}

/// Tables and limits: the keys that the plugins of all databases have.
///
/// Every field has a default and is a key of the config section, spelt with `-`.
/// A store uses its own tables only; naming the others does no harm.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoreOptions {
    /// `auto-initialize`: whether initialising creates the tables, or brings older ones up to date.
    ///
    /// Without it a missing or older schema is an error at the start. Default `true` for a file, `false` on a server,
    /// where an application had better not have the right to change the schema.
    pub auto_initialize: bool,
    /// `event-table`: the events. Default `event_journal`.
    pub event_table: String,
    /// `tag-table`: the tags of events. Default `event_tag`.
    pub tag_table: String,
    /// `metadata-table`: a row for each persistence id. Default `journal_metadata`.
    pub metadata_table: String,
    /// `snapshot-table`: the snapshots. Default `snapshot`.
    pub snapshot_table: String,
    /// `state-table`: the durable states. Default `durable_state`.
    pub state_table: String,
    /// `projection-table`: the projections; tables beside it have this name with `_share`, `_lease`, `_member`,
    /// `_skipped`, `_parked` and `_waiting` after it. Default `projection`.
    pub projection_table: String,
    /// `max-event-bytes`: the largest payload, and the largest metadata, of an event; at most 64 MiB. Default 1 MiB.
    pub max_event_bytes: usize,
    /// `max-snapshot-bytes`: the same for a snapshot. Default 15 MiB.
    pub max_snapshot_bytes: usize,
    /// `max-state-bytes`: the largest payload of a durable state together with its tags. Default 15 MiB.
    pub max_state_bytes: usize,
    /// `assert-single-writer`: whether a state is stored only at the revision that follows on the stored one.
    ///
    /// Without it, a change replaces the stored state whatever the two revisions are, even a stored revision that is
    /// higher, and a second writer of an id goes unnoticed: for tools that bring states from elsewhere, never for
    /// actors. Default `true`.
    pub assert_single_writer: bool,
    /// `handler-timeout`: the longest time that a change handler, or a transaction of the application, may take.
    /// Default 3 s; on a server three quarters of `acquire-timeout`, which are 1.5 s unless that is set.
    ///
    /// The handler or transaction holds the state that changes for this time; on SQLite every other writer waits, too.
    /// It must be less than the time for which others wait for a connection: `acquire-timeout` on a server, twice
    /// `busy-timeout`, at least 5 s, on SQLite. Keep it well below the `call-timeout` of the store. A server ends the
    /// transaction earlier if no statement comes for `statement-timeout` and a second.
    pub handler_timeout: Duration,
    /// `max-group-events`: the most events that the journal actor may put into one transaction. Default 1,000.
    pub max_group_events: usize,
    /// `max-group-bytes`: the most payload bytes of such a transaction, at most 256 MiB: a group is one statement, and
    /// no server takes a whole GiB. Default 8 MiB.
    pub max_group_bytes: usize,
    /// `max-page-events`: the most events in one page of a replay, whatever is asked for. Default 10,000.
    pub max_page_events: usize,
    /// `max-page-bytes`: the most payload bytes in one page of events or states; a larger one comes alone. Default 64 MiB.
    pub max_page_bytes: usize,
    /// `delete-chunk-events`: the most deleted rows that are removed in one transaction, so that writers wait little.
    ///
    /// Fewer are removed where they have more than 16 MiB, and after a removal of this number took too long.
    /// Default 1,000.
    pub delete_chunk_events: usize,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            auto_initialize: true,
            event_table: "event_journal".to_owned(),
            tag_table: "event_tag".to_owned(),
            metadata_table: "journal_metadata".to_owned(),
            snapshot_table: "snapshot".to_owned(),
            state_table: "durable_state".to_owned(),
            projection_table: "projection".to_owned(),
            max_event_bytes: MEBIBYTE,
            max_snapshot_bytes: 15 * MEBIBYTE,
            max_state_bytes: 15 * MEBIBYTE,
            assert_single_writer: true,
            handler_timeout: Duration::from_secs(3),
            max_group_events: 1_000,
            max_group_bytes: 8 * MEBIBYTE,
            max_page_events: 10_000,
            max_page_bytes: MAX_PAYLOAD_BYTES,
            delete_chunk_events: 1_000,
        }
    }
}

impl StoreOptions {
    /// Returns the defaults for a database server.
    pub fn for_server() -> Self {
        Self {
            auto_initialize: false,
            handler_timeout: ServerOptions::default().default_handler_timeout(),
            ..Self::default()
        }
    }

    /// Sets whether initialising creates the tables.
    #[must_use]
    pub fn with_auto_initialize(mut self, auto_initialize: bool) -> Self {
        self.auto_initialize = auto_initialize;
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

    /// Sets the name of the state store's table.
    #[must_use]
    pub fn with_state_table(mut self, states: &str) -> Self {
        self.state_table = states.to_owned();
        self
    }

    /// Sets the name of the offset store's table, with which the names of those beside it begin.
    #[must_use]
    pub fn with_projection_table(mut self, projections: &str) -> Self {
        self.projection_table = projections.to_owned();
        self
    }

    /// Sets the largest size of an event, in bytes.
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

    /// Sets the largest durable state.
    #[must_use]
    pub fn with_max_state_bytes(mut self, bytes: usize) -> Self {
        self.max_state_bytes = bytes;
        self
    }

    /// Sets whether a state is stored only at the revision that follows.
    #[must_use]
    pub fn with_assert_single_writer(mut self, assert_single_writer: bool) -> Self {
        self.assert_single_writer = assert_single_writer;
        self
    }

    /// Sets the longest time that a change handler may take.
    #[must_use]
    pub fn with_handler_timeout(mut self, limit: Duration) -> Self {
        self.handler_timeout = limit;
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

    /// Sets the most deleted rows that are removed in one transaction.
    #[must_use]
    pub fn with_delete_chunk_events(mut self, events: usize) -> Self {
        self.delete_chunk_events = events;
        self
    }

    /// Reads the keys of a section, with these defaults; mistakes stay with the reader.
    pub fn read(reader: &mut SectionReader<'_>, default: &Self) -> Self {
        const COUNT: RangeInclusive<u64> = 1..=1_000_000;
        Self {
            auto_initialize: reader.boolean_or("auto-initialize", default.auto_initialize),
            event_table: reader.string_or("event-table", &default.event_table),
            tag_table: reader.string_or("tag-table", &default.tag_table),
            metadata_table: reader.string_or("metadata-table", &default.metadata_table),
            snapshot_table: reader.string_or("snapshot-table", &default.snapshot_table),
            state_table: reader.string_or("state-table", &default.state_table),
            projection_table: reader.string_or("projection-table", &default.projection_table),
            max_event_bytes: read_bytes(reader, "max-event-bytes", default.max_event_bytes),
            max_snapshot_bytes: read_bytes(
                reader,
                "max-snapshot-bytes",
                default.max_snapshot_bytes,
            ),
            max_state_bytes: read_bytes(reader, "max-state-bytes", default.max_state_bytes),
            assert_single_writer: reader
                .boolean_or("assert-single-writer", default.assert_single_writer),
            handler_timeout: reader.duration_or("handler-timeout", default.handler_timeout),
            max_group_events: read_count(
                reader,
                "max-group-events",
                default.max_group_events,
                COUNT,
            ),
            max_group_bytes: read_bytes(reader, "max-group-bytes", default.max_group_bytes),
            max_page_events: read_count(reader, "max-page-events", default.max_page_events, COUNT),
            max_page_bytes: read_bytes(reader, "max-page-bytes", default.max_page_bytes),
            delete_chunk_events: read_count(
                reader,
                "delete-chunk-events",
                default.delete_chunk_events,
                COUNT,
            ),
        }
    }

    /// Returns every setting that cannot be used.
    pub fn mistakes(&self) -> Vec<InvalidOption> {
        let mut mistakes = Vec::new();
        let mut check = |key, result: Result<(), String>| {
            if let Err(message) = result {
                mistakes.push(InvalidOption::new(key, message));
            }
        };
        for (key, bytes) in [
            ("max-event-bytes", self.max_event_bytes),
            ("max-snapshot-bytes", self.max_snapshot_bytes),
            ("max-state-bytes", self.max_state_bytes),
        ] {
            let fits = (1..=MAX_PAYLOAD_BYTES).contains(&bytes);
            check(key, within(fits, "must be from 1 byte to 64MiB"));
        }
        let fits = self.max_group_bytes <= MAX_GROUP_BYTES;
        check("max-group-bytes", within(fits, "must be at most 256MiB"));
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
            if name.eq_ignore_ascii_case(&format!("{}_{ORDERING}", self.state_table)) {
                let message =
                    "must not be that of 'state-table' with '_ordering', which numbers states";
                check(key, Err(message.to_owned()));
            }
        }
        mistakes
    }

    /// Returns the tables of the journal: events, tags, metadata.
    pub(crate) fn journal_tables(&self) -> Result<[TableName; 3], InvalidOption> {
        Ok([
            TableName::parse(&self.event_table).map_err(InvalidOption::of("event-table"))?,
            TableName::parse(&self.tag_table).map_err(InvalidOption::of("tag-table"))?,
            TableName::parse(&self.metadata_table).map_err(InvalidOption::of("metadata-table"))?,
        ])
    }

    /// Returns the table of the snapshot store.
    pub(crate) fn snapshot_table(&self) -> Result<TableName, InvalidOption> {
        TableName::parse(&self.snapshot_table).map_err(InvalidOption::of("snapshot-table"))
    }

    /// Returns the table of the state store.
    pub(crate) fn state_table(&self) -> Result<TableName, InvalidOption> {
        TableName::parse(&self.state_table).map_err(InvalidOption::of("state-table"))
    }

    /// Returns the table of projections.
    pub(crate) fn projection_table(&self) -> Result<TableName, InvalidOption> {
        TableName::parse(&self.projection_table).map_err(InvalidOption::of("projection-table"))
    }

    /// Returns the setting that uses this name for a table that does not hold states.
    pub(crate) fn other_use_of(&self, name: &TableName) -> Option<&'static str> {
        let tables = self.tables();
        let mut others = tables.iter().filter(|(key, _)| *key != "state-table");
        let same = others.find(|(_, other)| other.eq_ignore_ascii_case(name.as_str()));
        same.map(|(key, _)| *key)
    }

    fn tables(&self) -> [(&'static str, &str); 6] {
        [
            ("event-table", &self.event_table),
            ("tag-table", &self.tag_table),
            ("metadata-table", &self.metadata_table),
            ("snapshot-table", &self.snapshot_table),
            ("state-table", &self.state_table),
            ("projection-table", &self.projection_table),
        ]
    }
}

/// Shows the options. Written by hand, so that a new field is shown only if it is added here, and so can be no secret
/// by mistake.
impl fmt::Debug for StoreOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreOptions")
            .field("auto_initialize", &self.auto_initialize)
            .field("tables", &self.tables().map(|(_, name)| name))
            .field("max_event_bytes", &self.max_event_bytes)
            .field("max_snapshot_bytes", &self.max_snapshot_bytes)
            .field("max_state_bytes", &self.max_state_bytes)
            .field("assert_single_writer", &self.assert_single_writer)
            .field("handler_timeout", &self.handler_timeout)
            .field("max_group_events", &self.max_group_events)
            .field("max_group_bytes", &self.max_group_bytes)
            .field("max_page_events", &self.max_page_events)
            .field("max_page_bytes", &self.max_page_bytes)
            .field("delete_chunk_events", &self.delete_chunk_events)
            .finish()
    }
}

/// Reads a number of things.
pub fn read_count(
    reader: &mut SectionReader<'_>,
    key: &str,
    default: usize,
    range: RangeInclusive<u64>,
) -> usize {
    saturated(reader.integer_or(key, default as u64, range))
}

/// Reads a number of bytes.
pub fn read_bytes(reader: &mut SectionReader<'_>, key: &str, default: usize) -> usize {
    saturated(reader.bytes_or(key, default as u64))
}

/// Checks a setting: fails with the message unless `holds`.
///
/// # Errors
/// The message, if it does not hold.
pub fn within(holds: bool, message: &str) -> Result<(), String> {
    holds.then_some(()).ok_or_else(|| message.to_owned())
}

fn saturated(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
