//! The settings of a store on PostgreSQL.

use actix_persistence_sql::{
    InvalidOption, NamedPool, Pools, ServerKind, ServerOptions, Settings, SqlNames, StoreOptions,
    TableName, refuses_no_json,
};
use actix_persistence_storage_api::SectionReader;

/// The form of the URLs.
pub(crate) const KIND: ServerKind = ServerKind {
    schemes: &["postgres", "postgresql"],
    port: 5432,
};

/// The options of [`PostgresJournal`](crate::PostgresJournal), [`PostgresSnapshotStore`](crate::PostgresSnapshotStore)
/// and [`PostgresStateStore`](crate::PostgresStateStore).
///
/// Every field is a key of the config section, spelt with `-`; those of [`ServerOptions`] and [`StoreOptions`] stand in
/// the same section.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PostgresOptions {
    /// The address of the server, and the time limits.
    pub server: ServerOptions,
    /// The names of the tables, and the limits of what is stored.
    pub store: StoreOptions,
    /// `schema`: where the tables are. Created by `auto-initialize` if it is missing. Default `public`.
    pub schema: String,
    /// `synchronous-commit`: what a commit waits for. Default [`SynchronousCommit::Server`].
    pub synchronous_commit: SynchronousCommit,
    /// `payload-column`: how the tables keep events, snapshots and states; fixed when they are made.
    /// Default [`PayloadColumn::Bytes`].
    pub payload_column: PayloadColumn,
    /// `push`: whether a journal tells those of other processes when it has stored events, with `NOTIFY`, and listens for what
    /// they say, on a connection of its own, while live queries wait: these look at once then, and not after their
    /// `refresh-interval`. Set it for the journal in every process. Default `false`.
    pub push: bool,
    /// `pool`: the name of a pool of the application, instead of `url` and the like.
    pool: Option<NamedPool<sqlx::Postgres>>,
}

/// The event that a commit waits for, see
/// [`synchronous_commit`](https://www.postgresql.org/docs/current/runtime-config-wal.html#GUC-SYNCHRONOUS-COMMIT).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum SynchronousCommit {
    /// `server`: what the server, the database or the role is set to, unless that is `off`: then the start fails.
    #[default]
    Server,
    /// `off`: nothing. What was confirmed may be gone after a crash of the server, and actors would go on with events
    /// that are gone, and use their numbers again. For throw-away data.
    Off,
    /// `local`: the disk of the server, but no standby.
    Local,
    /// `remote-write`: the disk of the server, and the memory of synchronous standbys.
    RemoteWrite,
    /// `on`: the disk of the server, and the disks of synchronous standbys.
    On,
    /// `remote-apply`: as `on`, and synchronous standbys show the commit to queries.
    RemoteApply,
}

impl SynchronousCommit {
    const WORDS: [(&'static str, SynchronousCommit); 6] = [
        ("server", SynchronousCommit::Server),
        ("off", SynchronousCommit::Off),
        ("local", SynchronousCommit::Local),
        ("remote-write", SynchronousCommit::RemoteWrite),
        ("on", SynchronousCommit::On),
        ("remote-apply", SynchronousCommit::RemoteApply),
    ];

    /// Returns the server's name for it, unless it is left to the server.
    pub(crate) fn setting(self) -> Option<&'static str> {
        match self {
            SynchronousCommit::Server => None,
            SynchronousCommit::Off => Some("off"),
            SynchronousCommit::Local => Some("local"),
            SynchronousCommit::RemoteWrite => Some("remote_write"),
            SynchronousCommit::On => Some("on"),
            SynchronousCommit::RemoteApply => Some("remote_apply"),
        }
    }

    /// Commits with this, whatever code of the application has set in the transaction.
    pub(crate) fn commit(self) -> &'static str {
        match self {
            SynchronousCommit::Server => "SET LOCAL synchronous_commit TO DEFAULT; COMMIT",
            SynchronousCommit::Off => "SET LOCAL synchronous_commit TO off; COMMIT",
            SynchronousCommit::Local => "SET LOCAL synchronous_commit TO local; COMMIT",
            SynchronousCommit::RemoteWrite => {
                "SET LOCAL synchronous_commit TO remote_write; COMMIT"
            }
            SynchronousCommit::On => "SET LOCAL synchronous_commit TO on; COMMIT",
            SynchronousCommit::RemoteApply => {
                "SET LOCAL synchronous_commit TO remote_apply; COMMIT"
            }
        }
    }
}

/// The type of the columns in which tables keep payloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum PayloadColumn {
    /// `bytes`: as they are.
    #[default]
    Bytes,
    /// `json`: as text of the type `json`, for people and tools that query it.
    ///
    /// The bytes come back as they were written. Events, snapshots and states that are no JSON are rejected, so the
    /// application must use a serializer that writes it.
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

    /// The type of the column, how it is written and read, and the number of bytes that it counts.
    pub(crate) fn add_to(self, names: SqlNames) -> SqlNames {
        let [kind, written, read, size] = match self {
            PayloadColumn::Bytes => ["bytea", "n.payload", "e.payload", "octet_length(e.payload)"],
            PayloadColumn::Json => [
                "json",
                "convert_from(n.payload, 'UTF8')::json",
                "convert_to(e.payload::text, 'UTF8')",
                "octet_length(e.payload::text)",
            ],
        };
        names
            .text("payload_type", kind)
            .text("payload_written", written)
            .text("payload_read", read)
            .text("payload_size", size)
    }
}

impl PostgresOptions {
    /// Returns the defaults, for one database.
    pub fn new(url: impl Into<String>) -> Self {
        Self::of(ServerOptions::new(url), None)
    }

    /// Returns the defaults, with how to connect taken from a pool of the application; see [`Pools`].
    #[cfg(feature = "sqlx-0_9")]
    pub fn with_pool(name: impl Into<String>, pool: sqlx::PgPool) -> Self {
        Self::of(ServerOptions::default(), Some(NamedPool::new(name, pool)))
    }

    fn of(server: ServerOptions, pool: Option<NamedPool<sqlx::Postgres>>) -> Self {
        Self {
            server,
            store: StoreOptions::for_server(),
            schema: "public".to_owned(),
            synchronous_commit: SynchronousCommit::default(),
            payload_column: PayloadColumn::default(),
            push: false,
            pool,
        }
    }

    /// Sets where the tables are.
    #[must_use]
    pub fn with_schema(mut self, schema: &str) -> Self {
        self.schema = schema.to_owned();
        self
    }

    /// Changes the names of tables, and the limits.
    #[must_use]
    pub fn with_store(mut self, change: impl FnOnce(StoreOptions) -> StoreOptions) -> Self {
        self.store = change(self.store);
        self
    }

    /// Changes where the server is, and the times for which a call waits.
    #[must_use]
    pub fn with_server(mut self, change: impl FnOnce(ServerOptions) -> ServerOptions) -> Self {
        self.server = change(self.server);
        self
    }

    /// Sets what a commit waits for.
    #[must_use]
    pub fn with_synchronous_commit(mut self, synchronous_commit: SynchronousCommit) -> Self {
        self.synchronous_commit = synchronous_commit;
        self
    }

    /// Sets how the tables keep payloads.
    #[must_use]
    pub fn with_payload_column(mut self, payload_column: PayloadColumn) -> Self {
        self.payload_column = payload_column;
        self
    }

    /// Sets whether appends tell the journals of other processes, and this one listens for that.
    #[must_use]
    pub fn with_push(mut self, push: bool) -> Self {
        self.push = push;
        self
    }

    /// Returns the application's pool, if connections are made as it makes them.
    pub(crate) fn pool(&self) -> Option<&NamedPool<sqlx::Postgres>> {
        self.pool.as_ref()
    }

    /// Returns the channel on which journals on the same tables tell each other of events.
    pub(crate) fn channel(&self) -> String {
        crate::queries::channel_of(&self.schema, &self.store.event_table)
    }

    /// Returns the schema, checked.
    pub(crate) fn schema_name(&self) -> Result<TableName, InvalidOption> {
        TableName::parse(&self.schema).map_err(InvalidOption::of("schema"))
    }
}

impl Settings for PostgresOptions {
    type Resources = Pools<sqlx::Postgres>;

    fn read(reader: &mut SectionReader<'_>, pools: &Self::Resources) -> Self {
        let pool = pools.read(reader);
        let server = ServerOptions::read(reader);
        Self {
            store: StoreOptions::read(
                reader,
                &StoreOptions::for_server().with_handler_timeout(server.default_handler_timeout()),
            ),
            server,
            schema: reader.string_or("schema", "public"),
            synchronous_commit: reader.choice_or(
                "synchronous-commit",
                &SynchronousCommit::WORDS,
                SynchronousCommit::default(),
            ),
            payload_column: reader.choice_or(
                "payload-column",
                &PayloadColumn::WORDS,
                PayloadColumn::default(),
            ),
            push: reader.boolean_or("push", false),
            pool,
        }
    }

    fn mistakes(&self) -> Vec<InvalidOption> {
        let mut mistakes = match &self.pool {
            Some(pool) => pool.mistakes(&self.server),
            None => self.server.mistakes(&KIND),
        };
        mistakes.extend(self.store.mistakes());
        mistakes.extend(self.schema_name().err());
        mistakes
    }

    fn store(&self) -> &StoreOptions {
        &self.store
    }
}

#[cfg(test)]
mod tests;
