//! The settings of a store on MySQL or MariaDB.

use actix_persistence_sql::{
    InvalidOption, NamedPool, Partitions, Pools, SchemaDialect, ServerKind, ServerOptions,
    Settings, SqlNames, StoreOptions, TableName, refuses_no_json,
};
use actix_persistence_storage_api::{Partition, SectionReader};

use crate::Mysql;

/// The form of the URLs.
pub(crate) const KIND: ServerKind = ServerKind {
    schemes: &["mysql", "mariadb"],
    port: 3306,
};

/// The options of [`MysqlJournal`](crate::MysqlJournal), [`MysqlSnapshotStore`](crate::MysqlSnapshotStore) and
/// [`MysqlStateStore`](crate::MysqlStateStore).
///
/// Every field is a key of the config section, spelt with `-`; those of [`ServerOptions`] and [`StoreOptions`] stand in
/// the same section.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MysqlOptions {
    /// The address of the server, and the time limits.
    pub server: ServerOptions,
    /// The names of the tables, and the limits of what is stored.
    pub store: StoreOptions,
    /// `durability`: what a commit must have reached. Default [`Durability::Disk`].
    pub durability: Durability,
    /// `payload-column`: how the tables keep events, snapshots and states; fixed when they are made.
    /// Default [`PayloadColumn::Bytes`].
    pub payload_column: PayloadColumn,
    /// `counter-partitions`: the number of parts of the slices, each with a counter of its own, by which events and states
    /// are numbered: a power of two, at most 64. It is fixed when the tables are made, and 8 where none is given. Default
    /// `None`, which takes what the tables have; a store whose tables have another number is refused.
    ///
    /// Transactions that write to the same part come one after the other, and a reader of some slices asks the parts that
    /// these are of.
    pub counter_partitions: Option<u16>,
    /// `pool`: the name of a pool of the application, instead of `url` and the like.
    pool: Option<NamedPool<sqlx::MySql>>,
}

/// The place that a commit must have reached before it is confirmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Durability {
    /// `disk`: the disk of the server, even if its machine crashes. A server that is set up to confirm earlier is
    /// refused at the start: one whose
    /// [`innodb_flush_log_at_trx_commit`](https://dev.mysql.com/doc/refman/8.4/en/innodb-parameters.html#sysvar_innodb_flush_log_at_trx_commit)
    /// is 0 or 2, or whose binary log is on with a
    /// [`sync_binlog`](https://dev.mysql.com/doc/refman/8.4/en/replication-options-binary-log.html#sysvar_sync_binlog)
    /// other than 1.
    #[default]
    Disk,
    /// `server`: whatever the server is set up for. What was confirmed may be gone after a crash, and actors would go
    /// on with events that are gone, and use their numbers again. For throw-away data, and for servers that keep what
    /// they confirm by other means, such as replicas.
    ///
    /// The durability of such a store is not known. A snapshot store with it is warned of beside a journal that is durable.
    Server,
}

impl Durability {
    const WORDS: [(&'static str, Durability); 2] =
        [("disk", Durability::Disk), ("server", Durability::Server)];
}

/// The type of the columns in which tables keep payloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum PayloadColumn {
    /// `bytes`: as they are.
    #[default]
    Bytes,
    /// `json`: as text that the table checks to be JSON, for people and tools that query it.
    ///
    /// The bytes come back as they were written, which the type `JSON` of MySQL would not promise. Events, snapshots
    /// and states that are no JSON are rejected, so the application must use a serializer that writes it.
    Json,
}

impl PayloadColumn {
    const WORDS: [(&'static str, PayloadColumn); 2] = [
        ("bytes", PayloadColumn::Bytes),
        ("json", PayloadColumn::Json),
    ];

    /// Returns the reason why bytes cannot be stored, if there is one.
    pub(crate) fn refuses(self, bytes: &[u8]) -> Option<String> {
        match self {
            PayloadColumn::Bytes => None,
            PayloadColumn::Json => refuses_no_json(bytes),
        }
    }

    /// The column without its name, where there is always a payload, and where there may be none.
    pub(crate) fn add_to(self, names: SqlNames) -> SqlNames {
        let [always, or_null] = match self {
            PayloadColumn::Bytes => ["LONGBLOB NOT NULL", "LONGBLOB"],
            PayloadColumn::Json => [
                "LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL CHECK (JSON_VALID(payload))",
                "LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin CHECK (JSON_VALID(payload))",
            ],
        };
        names
            .text("payload_type", always)
            .text("payload_type_or_null", or_null)
    }
}

impl MysqlOptions {
    /// Returns the defaults, for one database.
    pub fn new(url: impl Into<String>) -> Self {
        Self::of(ServerOptions::new(url), None)
    }

    /// Returns the defaults, with how to connect taken from a pool of the application; see [`Pools`].
    #[cfg(feature = "sqlx-0_9")]
    pub fn with_pool(name: impl Into<String>, pool: sqlx::MySqlPool) -> Self {
        Self::of(ServerOptions::default(), Some(NamedPool::new(name, pool)))
    }

    fn of(server: ServerOptions, pool: Option<NamedPool<sqlx::MySql>>) -> Self {
        Self {
            server,
            store: StoreOptions::for_server(),
            durability: Durability::default(),
            payload_column: PayloadColumn::default(),
            counter_partitions: None,
            pool,
        }
    }

    /// Changes where the server is, or the times for which a call waits.
    #[must_use]
    pub fn with_server(mut self, change: impl FnOnce(ServerOptions) -> ServerOptions) -> Self {
        self.server = change(self.server);
        self
    }

    /// Changes the names of tables, and the limits.
    #[must_use]
    pub fn with_store(mut self, change: impl FnOnce(StoreOptions) -> StoreOptions) -> Self {
        self.store = change(self.store);
        self
    }

    /// Sets what a commit must have reached.
    #[must_use]
    pub fn with_durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Sets how the tables keep payloads.
    #[must_use]
    pub fn with_payload_column(mut self, payload_column: PayloadColumn) -> Self {
        self.payload_column = payload_column;
        self
    }

    /// Sets the number of parts of the slices that have counters of their own.
    #[must_use]
    pub fn with_counter_partitions(mut self, counter_partitions: u16) -> Self {
        self.counter_partitions = Some(counter_partitions);
        self
    }

    /// Returns the partitions of tables that nobody has looked at yet.
    pub(crate) fn partitions(&self) -> Result<Partitions, InvalidOption> {
        Partitions::new(COUNTER_PARTITIONS, self.counter_partitions)
    }

    /// Returns the application's pool, if connections are made as it makes them.
    pub(crate) fn pool(&self) -> Option<&NamedPool<sqlx::MySql>> {
        self.pool.as_ref()
    }

    /// Returns what is wrong with a pool of the application.
    fn mistakes_of(&self, pool: &NamedPool<sqlx::MySql>) -> Vec<InvalidOption> {
        let mut mistakes = pool.mistakes(&self.server);
        if pool.connect_options().get_database().is_none() {
            mistakes.push(InvalidOption::new(
                "pool",
                "must be one whose options name a database, in which the tables are",
            ));
        }
        mistakes
    }

    /// Returns the table of the events, checked.
    pub(crate) fn event_table(&self) -> Result<TableName, InvalidOption> {
        TableName::parse(&self.store.event_table).map_err(InvalidOption::of("event-table"))
    }

    /// Returns the table that numbers events.
    pub(crate) fn ordering_table(&self) -> Result<TableName, InvalidOption> {
        Ok(self.event_table()?.index(Mysql::MORE_JOURNAL_TABLES[0]))
    }

    /// Returns the first key whose table is the one that numbers events.
    fn twin_of_ordering(&self) -> Option<InvalidOption> {
        let ordering = self.ordering_table().ok()?;
        let store = &self.store;
        let tables = [
            ("tag-table", &store.tag_table),
            ("metadata-table", &store.metadata_table),
            ("snapshot-table", &store.snapshot_table),
            ("state-table", &store.state_table),
        ];
        let twin = tables
            .into_iter()
            .find(|(_, name)| name.eq_ignore_ascii_case(ordering.as_str()));
        twin.map(|(key, _)| {
            InvalidOption::new(
                key,
                "must not be that of 'event-table' with '_ordering', which numbers events",
            )
        })
    }
}

const COUNTER_PARTITIONS: &str = "counter-partitions";

fn read_partitions(reader: &mut SectionReader<'_>) -> Option<u16> {
    let wanted = reader.integer_or(COUNTER_PARTITIONS, 0, 1..=u64::from(Partition::MOST));
    u16::try_from(wanted).ok().filter(|wanted| *wanted > 0)
}

impl Settings for MysqlOptions {
    type Resources = Pools<sqlx::MySql>;

    fn read(reader: &mut SectionReader<'_>, pools: &Self::Resources) -> Self {
        let pool = pools.read(reader);
        let server = ServerOptions::read(reader);
        Self {
            store: StoreOptions::read(
                reader,
                &StoreOptions::for_server().with_handler_timeout(server.default_handler_timeout()),
            ),
            server,
            durability: reader.choice_or("durability", &Durability::WORDS, Durability::default()),
            payload_column: reader.choice_or(
                "payload-column",
                &PayloadColumn::WORDS,
                PayloadColumn::default(),
            ),
            counter_partitions: read_partitions(reader),
            pool,
        }
    }

    fn mistakes(&self) -> Vec<InvalidOption> {
        let mut mistakes = match &self.pool {
            Some(pool) => self.mistakes_of(pool),
            None => self.server.mistakes(&KIND),
        };
        mistakes.extend(self.store.mistakes());
        mistakes.extend(self.twin_of_ordering());
        mistakes.extend(self.partitions().err());
        mistakes
    }

    fn store(&self) -> &StoreOptions {
        &self.store
    }
}

#[cfg(test)]
mod tests;
