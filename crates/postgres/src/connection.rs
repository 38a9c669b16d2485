//! Opens connections, and decides which of them may be used again.

mod listening;
mod opening;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use actix_persistence_sql::{
    ConnectionOf, Connector, Role, ServerEndpoint, ServerSource, SqlError, Tls, TlsMode,
};
use actix_persistence_storage_api::StorageErrorKind;
use sqlx::postgres::{PgConnectOptions, PgSslMode};
use sqlx::{ConnectOptions, Connection, PgConnection};
use tokio::time::timeout;

use crate::options::KIND;
use crate::{InvalidOption, Postgres, PostgresOptions};

use opening::SessionId;

/// A connection that waited for longer is asked whether the server is still there.
const FRESH: Duration = Duration::from_secs(1);

/// Opens connections to one database.
#[derive(Clone, Debug)]
pub struct PostgresConnector {
    source: ServerSource<sqlx::Postgres>,
    options: PostgresOptions,
    /// True if it was logged that the server does not wait for its disk.
    warned: Arc<AtomicBool>,
}

/// A connection, and which session of the server it is.
#[derive(Debug)]
pub struct OpenSession {
    connection: PgConnection,
    id: SessionId,
}

impl PostgresConnector {
    pub(crate) fn new(options: &PostgresOptions) -> Result<Self, InvalidOption> {
        Ok(Self {
            source: ServerSource::new(options.pool(), &options.server, &KIND)?,
            options: options.clone(),
            warned: Arc::default(),
        })
    }

    async fn connect_options(&self) -> Result<PgConnectOptions, SqlError> {
        let options = match &self.source {
            ServerSource::Options(endpoint) => server_options(endpoint).await?,
            ServerSource::Pool(pool) => PgConnectOptions::clone(&pool.connect_options()),
        };
        Ok(options.disable_statement_logging())
    }

    async fn connect(&self, role: Role) -> Result<OpenSession, SqlError> {
        let options = self.connect_options().await?;
        let mut connection = PgConnection::connect_with(&options)
            .await
            .map_err(SqlError::of_connecting)?;
        let id = opening::set_up(&mut connection, self, role).await?;
        Ok(OpenSession { connection, id })
    }
}

impl Connector for PostgresConnector {
    const ACQUIRE_TIMEOUT_KEY: &'static str = "acquire-timeout";
    const WRITERS_LOOK_FIRST: bool = true;

    type Dialect = Postgres;
    type Open = OpenSession;

    async fn open(&self, role: Role) -> Result<OpenSession, SqlError> {
        let limit = self.options.server.connect_timeout;
        timeout(limit, self.connect(role)).await.unwrap_or_else(|_| {
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

    fn connection(open: &mut OpenSession) -> &mut ConnectionOf<Postgres> {
        &mut open.connection
    }

    async fn is_usable(&self, open: &mut OpenSession, idle: Duration) -> Result<bool, SqlError> {
        if idle < FRESH {
            return Ok(true);
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

    async fn prepare(&self, _connection: &mut PgConnection) -> Result<(), SqlError> {
        Ok(())
    }

    fn max_connections(&self, role: Role) -> usize {
        self.options.server.max_connections(role)
    }

    fn max_application_connections(&self) -> usize {
        self.options.server.max_connections(Role::Writer)
    }

    fn commit_after_application(&self) -> &'static str {
        self.options.synchronous_commit.commit()
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

    fn acquire_timeout(&self) -> (Duration, &'static str) {
        (
            self.options.server.acquire_timeout,
            "see what keeps the server busy, or raise 'writers', 'read-connections' or 'acquire-timeout'",
        )
    }

    fn limit_lock_waits(&self, limit: Duration) -> String {
        let limit = limit.min(self.options.server.lock_timeout);
        format!("; SET LOCAL lock_timeout = {}", limit.as_millis().max(1))
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

    /// The search path of a connection is the schema of its stores, in which statements of the application find their tables.
    fn shared_as(&self) -> String {
        format!("{}, schema {}", self.endpoint(), self.options.schema)
    }

    fn conflicting_option(&self, other: &Self) -> Option<&'static str> {
        let differs = self.options.synchronous_commit != other.options.synchronous_commit;
        self.source
            .conflicting_option(&other.source)
            .or_else(|| {
                self.options
                    .server
                    .conflicting_option(&other.options.server)
            })
            .or_else(|| differs.then_some("synchronous-commit"))
    }
}

/// Returns the options of the driver; sets everything that it would else take from the environment.
async fn server_options(endpoint: &ServerEndpoint) -> Result<PgConnectOptions, SqlError> {
    let password = endpoint.password.read().await?;
    let options = PgConnectOptions::new_without_pgpass()
        .host(&endpoint.host)
        .port(endpoint.port)
        .database(&endpoint.database)
        .username(&endpoint.user)
        .password(password.expose())
        .application_name("actix-persistence");
    let options = match &endpoint.socket {
        Some(socket) => options.socket(socket),
        None => options,
    };
    with_tls(options, &endpoint.tls).await
}

async fn with_tls(options: PgConnectOptions, tls: &Tls) -> Result<PgConnectOptions, SqlError> {
    let mode = match tls.mode {
        TlsMode::Disable => return Ok(options.ssl_mode(PgSslMode::Disable)),
        TlsMode::Require => PgSslMode::Require,
        TlsMode::VerifyCa => PgSslMode::VerifyCa,
        _ => PgSslMode::VerifyFull,
    };
    let options = options.ssl_mode(mode);
    let files = tls.read().await?;
    let options = options.ssl_root_cert_from_pem(files.root_certificate.unwrap_or_default());
    if let Some((certificate, key)) = files.client {
        return Ok(options
            .ssl_client_cert_from_pem(certificate)
            .ssl_client_key_from_pem(key));
    }
    // These two can be set but not unset.
    let variables = ["PGSSLCERT", "PGSSLKEY"];
    match variables
        .iter()
        .find(|name| std::env::var_os(name).is_some())
    {
        None => Ok(options),
        Some(variable) => Err(SqlError::refused(
            StorageErrorKind::AccessDenied,
            format!(
                "the driver would log in with the certificate of the variable {variable}; unset it, or set \
                 'tls-client-certificate' and 'tls-client-key'"
            ),
        )),
    }
}
