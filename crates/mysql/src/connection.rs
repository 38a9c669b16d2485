//! Opens connections, and decides which of them may be used again.

mod opening;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use actix_persistence_sql::{Connector, InvalidOption, Role, ServerSource, SqlError};
use actix_persistence_storage_api::StorageErrorKind;
use sqlx::{Connection, MySqlConnection};
use tokio::time::timeout;

use crate::options::KIND;
use crate::{Mysql, MysqlOptions};

use opening::SessionId;

/// A connection that waited for longer is asked whether the server is still there.
const FRESH: Duration = Duration::from_secs(1);
/// A connection that waited for longer is not used again: the server ends a session at [`opening::IDLE`].
const STALE: Duration = Duration::from_secs(60);

/// Opens connections to one database.
#[derive(Clone, Debug)]
pub struct MysqlConnector {
    source: ServerSource<sqlx::MySql>,
    options: MysqlOptions,
    /// True if it was logged that the server shows commits early.
    warned: Arc<AtomicBool>,
}

impl MysqlConnector {
    pub(crate) fn new(options: &MysqlOptions) -> Result<Self, InvalidOption> {
        Ok(Self {
            source: ServerSource::new(options.pool(), &options.server, &KIND)?,
            options: options.clone(),
            warned: Arc::default(),
        })
    }

    async fn connect(&self, role: Role) -> Result<OpenSession, SqlError> {
        let (connection, id) = opening::open(self, role).await?;
        Ok(OpenSession { connection, id })
    }
}

/// A connection, and which session of the server it is.
#[derive(Debug)]
pub struct OpenSession {
    connection: MySqlConnection,
    id: SessionId,
}

impl Connector for MysqlConnector {
    const ACQUIRE_TIMEOUT_KEY: &'static str = "acquire-timeout";
    const WRITERS_LOOK_FIRST: bool = true;

    type Dialect = Mysql;
    type Open = OpenSession;

    async fn open(&self, role: Role) -> Result<OpenSession, SqlError> {
        let limit = self.options.server.connect_timeout;
        let opened = timeout(limit, self.connect(role)).await;
        opened.unwrap_or_else(|_| {
            Err(SqlError::refused(
                StorageErrorKind::Unavailable,
                "the server does not answer in time; see whether it is overloaded or hangs, or raise 'connect-timeout'",
            ))
        })
    }

    async fn check(&self, open: &mut OpenSession) -> Result<(), SqlError> {
        opening::check(&mut open.connection, self, Role::Writer).await?;
        Ok(())
    }

    fn connection(open: &mut OpenSession) -> &mut MySqlConnection {
        &mut open.connection
    }

    async fn is_usable(&self, open: &mut OpenSession, idle: Duration) -> Result<bool, SqlError> {
        if idle < FRESH {
            return Ok(true);
        }
        if idle > STALE {
            return Ok(false);
        }
        let answer = timeout(self.options.server.connect_timeout, open.connection.ping()).await;
        Ok(matches!(answer, Ok(Ok(()))))
    }

    async fn check_committed(&self, _: &mut OpenSession) -> Result<(), SqlError> {
        Ok(())
    }

    async fn close(&self, open: OpenSession, _: Role) {
        // The server notices without a farewell, too.
        let _ = timeout(self.options.server.connect_timeout, open.connection.close()).await;
    }

    async fn prepare(&self, _: &mut MySqlConnection) -> Result<(), SqlError> {
        Ok(())
    }

    async fn restore(&self, open: &mut OpenSession) -> Result<(), SqlError> {
        let limit = self.options.server.connect_timeout;
        let restoring = opening::restore(&mut open.connection, &self.options);
        let restored = timeout(limit, restoring).await;
        restored.unwrap_or(Err(SqlError::Silent))
    }

    /// The server would notice that the client is gone when the statement has ended.
    async fn abandon(&self, open: OpenSession) -> bool {
        let OpenSession { connection, id } = open;
        let ended = async {
            let mut other = self.connect(Role::Writer).await?;
            opening::end(&mut other.connection, &id).await
        };
        let ended = timeout(self.options.server.connect_timeout, ended).await;
        drop(connection);
        matches!(ended, Ok(Ok(())))
    }

    fn max_connections(&self, role: Role) -> usize {
        self.options.server.max_connections(role)
    }

    fn max_application_connections(&self) -> usize {
        self.options.server.max_connections(Role::Writer)
    }

    fn acquire_timeout(&self) -> (Duration, &'static str) {
        (
            self.options.server.acquire_timeout,
            "see what keeps the server busy, or raise 'writers', 'read-connections' or 'acquire-timeout'",
        )
    }

    /// The server counts in seconds.
    fn limit_lock_waits(&self, limit: Duration) -> String {
        let seconds = limit.min(self.options.server.lock_timeout).as_secs().max(1);
        format!(
            "; SET SESSION innodb_lock_wait_timeout = {seconds}, SESSION lock_wait_timeout = {seconds}"
        )
    }

    fn time_limit(&self) -> Option<Duration> {
        Some(self.options.server.client_timeout())
    }

    fn endpoint(&self) -> String {
        self.source.endpoint(|pool| {
            let database = pool.get_database().unwrap_or_default();
            format!("{}:{}/{database}", pool.get_host(), pool.get_port())
        })
    }

    fn conflicting_option(&self, other: &Self) -> Option<&'static str> {
        let (one, two) = (&self.options, &other.options);
        let limits = |options: &MysqlOptions| {
            let store = &options.store;
            [
                ("max-event-bytes", store.max_event_bytes),
                ("max-snapshot-bytes", store.max_snapshot_bytes),
                ("max-state-bytes", store.max_state_bytes),
            ]
        };
        self.source
            .conflicting_option(&other.source)
            .or_else(|| one.server.conflicting_option(&two.server))
            .or_else(|| (one.durability != two.durability).then_some("durability"))
            .or_else(|| {
                let mut limits = limits(one).into_iter().zip(limits(two));
                let other = limits.find(|(one, two)| one != two);
                other.map(|((key, _), _)| key)
            })
    }
}
