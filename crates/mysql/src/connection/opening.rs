//! Opening a session, and checking that the server is what durability needs.

use std::sync::atomic::Ordering;
use std::time::Duration;

use actix_persistence_sql::{
    Connector, Role, ServerEndpoint, ServerSource, SqlError, SqlNames, Tls, TlsMode, get_integer,
    get_text,
};
use actix_persistence_storage_api::StorageErrorKind;
use sqlx::mysql::{MySqlConnectOptions, MySqlRow, MySqlSslMode};
use sqlx::{ConnectOptions, Executor, MySqlConnection};

use crate::options::Durability;
use crate::queries::{
    END_SESSION, FIND_SESSION, LIMIT_MARIADB, LIMIT_MYSQL, RESTORE_SESSION, SERVER, SET_SESSION,
};
use crate::{Mysql, MysqlOptions};

use super::MysqlConnector;

/// The time without a word from the client after which the server ends the connection, and frees its locks.
pub(super) const IDLE: Duration = Duration::from_secs(120);

/// The longest time of a migration: making tables larger or other takes as long as it takes.
const MIGRATION: Duration = Duration::from_secs(3_600);

/// The number of statements that a connection keeps: nine sizes of a handful, and the others, so that none is prepared
/// twice.
const STATEMENTS: usize = 256;

/// The most that a packet holds beside a payload.
const PACKET_BESIDE: usize = 8 * 1024;
/// The smallest packet that is accepted, less than any server has by default; small groups are sent in one packet of up
/// to half of that.
const LEAST_PACKET: i64 = 1024 * 1024;

/// A session, as its server distinguishes it from all others.
#[derive(Debug)]
pub(super) struct SessionId {
    number: i64,
    /// A server that was started anew counts from the beginning.
    client: String,
}

impl SessionId {
    fn of(row: &MySqlRow) -> Result<Self, SqlError> {
        Ok(Self {
            number: get_integer::<Mysql>(row, 7)?,
            client: get_text::<Mysql>(row, 8)?,
        })
    }
}

pub(super) async fn open(
    connector: &MysqlConnector,
    role: Role,
) -> Result<(MySqlConnection, SessionId), SqlError> {
    let options = &connector.options;
    let login = with_our_texts(match &connector.source {
        ServerSource::Options(endpoint) => login(endpoint).await?,
        ServerSource::Pool(pool) => MySqlConnectOptions::clone(&pool.connect_options()),
    });
    let mut connection = login.connect().await.map_err(unreachable)?;
    let (server, id) = check(&mut connection, connector, role).await?;
    let limits = limits(options, role);
    let sql = limits.fill(SET_SESSION);
    connection.execute(sqlx::raw_sql(sql)).await?;
    let sql = limits.fill(match server.is_mariadb {
        true => LIMIT_MARIADB,
        false => LIMIT_MYSQL,
    });
    connection.execute(sqlx::raw_sql(sql)).await?;
    Ok((connection, id))
}

/// Fails if the server is not what durability needs.
pub(super) async fn check(
    connection: &mut MySqlConnection,
    connector: &MysqlConnector,
    role: Role,
) -> Result<(Server, SessionId), SqlError> {
    // As text: nothing answers the end of a prepared statement, and the system holds back what is sent next until the server's
    // system says that it has that, some 40 ms later.
    let row = connection.fetch_one(sqlx::raw_sql(SERVER)).await?;
    let server = Server::of(&row)?;
    let id = SessionId::of(&row)?;
    server.check_version()?;
    if role != Role::Reader {
        server.check_writing(&connector.options)?;
        // Once for all stores of a database, and not again when connections are lost.
        if let Some(cause) = server.shows_commits_early()
            && !connector.warned.swap(true, Ordering::Relaxed)
        {
            tracing::warn!(
                endpoint = connector.endpoint(),
                "the server shows commits before they are on its disk, because {cause}: queries may read changes that a crash \
                 of the server takes back"
            );
        }
    }
    Ok((server, id))
}

/// Ends another session of the same user.
pub(super) async fn end(
    connection: &mut MySqlConnection,
    other: &SessionId,
) -> Result<(), SqlError> {
    let found = sqlx::query(FIND_SESSION)
        .bind(other.number)
        .bind(&other.client)
        .fetch_optional(&mut *connection)
        .await?;
    if found.is_some() {
        let sql = SqlNames::new('`', None).text("session", &other.number.to_string());
        connection
            .execute(sqlx::raw_sql(sql.fill(END_SESSION)))
            .await?;
    }
    Ok(())
}

/// Sets again what functions of the server may have set in the session of a writer, and lets go of their locks.
pub(super) async fn restore(
    connection: &mut MySqlConnection,
    options: &MysqlOptions,
) -> Result<(), SqlError> {
    let limits = limits(options, Role::Writer);
    for sql in [SET_SESSION, RESTORE_SESSION] {
        connection.execute(sqlx::raw_sql(limits.fill(sql))).await?;
    }
    Ok(())
}

/// The answers of a server about itself.
#[derive(Debug)]
pub(super) struct Server {
    is_mariadb: bool,
    version: (u64, u64, u64),
    text: String,
    max_allowed_packet: i64,
    flush_log_at_commit: i64,
    has_binary_log: bool,
    sync_binary_log: i64,
    is_read_only: bool,
    logs_statements: bool,
}

impl Server {
    fn of(row: &MySqlRow) -> Result<Self, SqlError> {
        let text = get_text::<Mysql>(row, 0)?;
        Ok(Self {
            is_mariadb: text.to_ascii_lowercase().contains("mariadb"),
            version: version_of(&text),
            text,
            max_allowed_packet: get_integer::<Mysql>(row, 1)?,
            flush_log_at_commit: get_integer::<Mysql>(row, 2)?,
            has_binary_log: get_integer::<Mysql>(row, 3)? != 0,
            sync_binary_log: get_integer::<Mysql>(row, 4)?,
            is_read_only: is_read_only(&get_text::<Mysql>(row, 5)?),
            logs_statements: get_text::<Mysql>(row, 6)? == "STATEMENT",
        })
    }

    fn check_version(&self) -> Result<(), SqlError> {
        let (name, oldest) = match self.is_mariadb {
            true => ("MariaDB", (10, 6, 0)),
            false => ("MySQL", (8, 0, 16)),
        };
        if self.version >= oldest {
            return Ok(());
        }
        let (major, minor, patch) = oldest;
        Err(unsupported(format!(
            "the server is {name} {}; use {major}.{minor}.{patch} or newer",
            self.text
        )))
    }

    fn check_writing(&self, options: &MysqlOptions) -> Result<(), SqlError> {
        if self.is_read_only {
            return Err(SqlError::refused(
                StorageErrorKind::AccessDenied,
                "the server is read-only (read_only is on); name the primary, or switch that off",
            ));
        }
        if self.has_binary_log && self.logs_statements {
            return Err(unsupported(
                "the binary log takes statements instead of rows; set the server's binlog_format to ROW or MIXED",
            ));
        }
        if options.durability == Durability::Disk {
            self.check_durability()?;
        }
        self.check_packet(options)
    }

    fn check_durability(&self) -> Result<(), SqlError> {
        // 3 is one of MariaDB, and flushes even more often.
        if ![1, 3].contains(&self.flush_log_at_commit) {
            return Err(unsupported(format!(
                "the server confirms commits that a crash may take back (innodb_flush_log_at_trx_commit is {}); set it \
                 to 1, or 'durability' to \"server\" if that is wanted",
                self.flush_log_at_commit
            )));
        }
        if self.has_binary_log && self.sync_binary_log != 1 {
            return Err(unsupported(format!(
                "the server confirms commits that a crash may take back (sync_binlog is {}, and there is a binary \
                 log); set it to 1, or 'durability' to \"server\" if that is wanted",
                self.sync_binary_log
            )));
        }
        Ok(())
    }

    /// Returns the reason why others may read what a crash may take back, if there is one. Such data is never reported
    /// as stored.
    ///
    /// With a binary log the engine commits after that was written; without one it shows what is committed, and then writes
    /// its own log.
    fn shows_commits_early(&self) -> Option<&'static str> {
        if !self.has_binary_log {
            Some("it has no binary log")
        } else if self.sync_binary_log != 1 {
            Some("its sync_binlog is not 1")
        } else {
            None
        }
    }

    fn check_packet(&self, options: &MysqlOptions) -> Result<(), SqlError> {
        let limit = self.max_allowed_packet;
        if limit < LEAST_PACKET {
            return Err(unsupported(format!(
                "the server takes {limit} bytes at once (max_allowed_packet); raise that to {LEAST_PACKET} or more"
            )));
        }
        let store = &options.store;
        for (key, bytes) in [
            ("max-event-bytes", store.max_event_bytes),
            ("max-snapshot-bytes", store.max_snapshot_bytes),
            ("max-state-bytes", store.max_state_bytes),
        ] {
            let needed = bytes.saturating_add(PACKET_BESIDE);
            if !i64::try_from(needed).is_ok_and(|needed| needed <= limit) {
                return Err(unsupported(format!(
                    "the server takes {limit} bytes at once (max_allowed_packet), and '{key}' is {bytes}; lower \
                     '{key}', or raise max_allowed_packet to {needed} or more"
                )));
            }
        }
        Ok(())
    }
}

/// Returns the options of a connection to a server. Nothing is left to the driver's defaults.
async fn login(endpoint: &ServerEndpoint) -> Result<MySqlConnectOptions, SqlError> {
    let password = endpoint.password.read().await?;
    let options = MySqlConnectOptions::new()
        .host(&endpoint.host)
        .port(endpoint.port)
        .database(&endpoint.database)
        .username(&endpoint.user)
        .password(password.expose());
    let options = match &endpoint.socket {
        Some(socket) => options.socket(socket),
        None => options,
    };
    with_tls(options, &endpoint.tls).await
}

/// Returns the options with what the statements of the store need, whatever a pool of the application says: texts are
/// exchanged in UTF-8, and the driver leaves the settings of the session to the store.
fn with_our_texts(options: MySqlConnectOptions) -> MySqlConnectOptions {
    let options = match options.get_collation() {
        // It may be one of another encoding, and cannot be taken away.
        Some(_) => options.collation("utf8mb4_bin"),
        None => options,
    };
    options
        .charset("utf8mb4")
        .set_names(true)
        .pipes_as_concat(false)
        .no_engine_substitution(false)
        .timezone(None)
        .statement_cache_capacity(STATEMENTS)
        .disable_statement_logging()
}

async fn with_tls(
    options: MySqlConnectOptions,
    tls: &Tls,
) -> Result<MySqlConnectOptions, SqlError> {
    let mode = match tls.mode {
        TlsMode::Disable => return Ok(options.ssl_mode(MySqlSslMode::Disabled)),
        TlsMode::Require => MySqlSslMode::Required,
        TlsMode::VerifyCa => MySqlSslMode::VerifyCa,
        _ => MySqlSslMode::VerifyIdentity,
    };
    let options = options.ssl_mode(mode);
    let files = tls.read().await?;
    let options = match files.root_certificate {
        Some(pem) => options.ssl_ca_from_pem(pem),
        None => options,
    };
    Ok(match files.client {
        Some((certificate, key)) => options
            .ssl_client_cert_from_pem(certificate)
            .ssl_client_key_from_pem(key),
        None => options,
    })
}

/// Returns the time limits of a session as the server counts them: whole seconds, at least one.
fn limits(options: &MysqlOptions, role: Role) -> SqlNames {
    let statement = match role {
        Role::SetUp { .. } => MIGRATION,
        Role::Writer | Role::Reader => options.server.statement_timeout,
    };
    let seconds = |time: Duration| time.as_secs_f64().ceil().max(1.0) as u64;
    // Between two statements there is only this crate; its task may have been suspended.
    let transaction = options.server.client_timeout();
    SqlNames::new('`', None)
        .text(
            "lock_seconds",
            &seconds(options.server.lock_timeout).to_string(),
        )
        .text("idle_seconds", &IDLE.as_secs().to_string())
        .text("statement_seconds", &statement.as_secs_f64().to_string())
        .text("statement_milliseconds", &statement.as_millis().to_string())
        .text("transaction_seconds", &seconds(transaction).to_string())
}

/// Returns whether clients cannot write, by the value of `read_only`: a flag, or the name of a level (MDEV-36425), such
/// as `NO_LOCK`.
fn is_read_only(value: &str) -> bool {
    !matches!(value, "" | "0" | "OFF")
}

/// Returns the numbers of a version such as `10.11.6-MariaDB-log` or `8.0.36`; some servers of MariaDB put `5.5.5-`
/// before it.
fn version_of(text: &str) -> (u64, u64, u64) {
    let text = text.strip_prefix("5.5.5-").unwrap_or(text);
    let numbers = text.split('-').next().unwrap_or_default();
    let mut numbers = numbers.split('.').map(|part| part.parse().unwrap_or(0));
    let mut next = || numbers.next().unwrap_or(0);
    (next(), next(), next())
}

/// Returns the error of a failed connection; no connection was lost, because there was none.
fn unreachable(error: sqlx::Error) -> SqlError {
    match error {
        // A password that the server wants encrypted by the driver itself.
        sqlx::Error::Configuration(_) => SqlError::refused(
            StorageErrorKind::AccessDenied,
            "the server takes the password over encrypted connections only; set 'tls', or give the user the plugin \
             mysql_native_password",
        ),
        error => SqlError::of_connecting(error),
    }
}

fn unsupported(message: impl Into<String>) -> SqlError {
    SqlError::refused(StorageErrorKind::Unsupported, message)
}

#[cfg(test)]
mod tests;
