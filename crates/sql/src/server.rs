//! The settings that stores on a database server have, beside those of every store.

mod address;
mod endpoint;
mod password;
mod percent;
mod tls;

use std::fmt;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use actix_persistence_storage_api::SectionReader;

pub use address::ServerKind;
pub use endpoint::ServerEndpoint;
pub use password::{Password, Secret};
pub use percent::percent_decoded;
pub use tls::{Tls, TlsFiles, TlsMode};

use crate::options::{read_count, within};
use crate::{InvalidOption, Role};

const SHORTEST: Duration = Duration::from_millis(10);
const LONGEST: Duration = Duration::from_secs(3_600);
/// The time by which the client stops waiting later than the server, so that it is the server that ends a statement.
const GRACE: Duration = Duration::from_secs(1);
const CONNECTIONS: RangeInclusive<u64> = 1..=64;

/// The address, the account and the time limits of a database server: keys that the plugins of database servers share.
///
/// Every field is a key of the config section, spelt with `-`. The endpoint is given as a `url` or as its parts, never
/// both; a password may stand in either, but is better kept out of config files, by `password-env` or `password-file`.
/// No variable of the environment and no file is looked at that is not named here.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerOptions {
    /// `url`: user, host, port and database, as `postgres://user@host:5432/database`.
    ///
    /// `%40` and the like are decoded. An error about anything else names what may follow `?`.
    pub url: Option<String>,
    /// `host`: the name or the address of the server. Default `localhost`.
    pub host: Option<String>,
    /// `port`: its port. Default is that of the database.
    pub port: Option<u16>,
    /// `socket`: what to use instead of host and port on the same machine: the folder of the socket for PostgreSQL,
    /// the socket itself for MySQL.
    pub socket: Option<PathBuf>,
    /// `database`: the name of the database; it must exist.
    pub database: Option<String>,
    /// `user`: who logs in.
    pub user: Option<String>,
    /// `password`: the password itself.
    pub password: Option<Secret>,
    /// `password-env`: the variable of the environment that holds the password, read for each new connection.
    pub password_env: Option<String>,
    /// `password-file`: a file that holds nothing but the password, read for each new connection; a line break at its
    /// end does not count.
    pub password_file: Option<PathBuf>,
    /// `tls`: whether connections are encrypted and what of the server's certificate is checked.
    ///
    /// Default [`TlsMode::VerifyFull`], but [`TlsMode::Disable`] for this machine: a socket, `localhost` or an address
    /// of the loopback.
    pub tls: Option<TlsMode>,
    /// `tls-root-certificate`: a file in PEM with the authorities to trust, beside those that browsers trust.
    pub tls_root_certificate: Option<PathBuf>,
    /// `tls-client-certificate`: a file in PEM with the certificate to log in with.
    pub tls_client_certificate: Option<PathBuf>,
    /// `tls-client-key`: the key of that certificate.
    pub tls_client_key: Option<PathBuf>,
    /// `writers`: the number of calls that write at the same time, each on a connection of its own; 1 to 64. Default 2.
    ///
    /// Change handlers and transactions of the application have the same number of connections besides, opened when
    /// they are needed, so that they are never in the way of what the stores themselves write.
    pub writers: usize,
    /// `read-connections`: the number of reads that run at the same time, beside the writers; 1 to 64. Default 4.
    pub read_connections: usize,
    /// `acquire-timeout`: the time for which a call waits for a free connection. Default 2 s.
    pub acquire_timeout: Duration,
    /// `connect-timeout`: the longest time that opening a connection may take. Default 2 s.
    pub connect_timeout: Duration,
    /// `statement-timeout`: the longest time that a statement may take; a second later the connection is given up.
    ///
    /// Keep the sum of these three below the circuit breaker's call time-out: a call may wait for each of them, and then
    /// for the end of its transaction. One that is cut off is of unknown outcome. Default 4 s.
    pub statement_timeout: Duration,
    /// `lock-timeout`: the time for which a statement waits for the lock of another; less than `statement-timeout`.
    /// Default 2 s.
    pub lock_timeout: Duration,
}

/// The most changes of states that are committed together on a server where some are statements of their own.
///
/// Each costs a wait for the server's answer, on a connection that the journal may wait for. With what begins, numbers and
/// commits them that is at most 64 + 18 waits: 1.7 s at 20 ms each, less than the default of `acquire-timeout`, and than that
/// of `statement-timeout` even if one of them waits for `lock-timeout`. With an event for each change it is some 150, which is
/// as long at 11 ms.
pub const MOST_CHANGES: usize = 64;

/// The most changes of states that are committed together on a server where all of them share statements.
///
/// If the database refuses one of them they are made once more, each by a statement of its own, to find out which: then they
/// cost as many waits as there are changes, 2.6 s at 10 ms each.
pub const MOST_CHANGES_TOGETHER: usize = 256;

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            url: None,
            host: None,
            port: None,
            socket: None,
            database: None,
            user: None,
            password: None,
            password_env: None,
            password_file: None,
            tls: None,
            tls_root_certificate: None,
            tls_client_certificate: None,
            tls_client_key: None,
            writers: 2,
            read_connections: 4,
            acquire_timeout: Duration::from_secs(2),
            connect_timeout: Duration::from_secs(2),
            statement_timeout: Duration::from_secs(4),
            lock_timeout: Duration::from_secs(2),
        }
    }
}

impl ServerOptions {
    /// Returns the default options for the database of this URL.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: Some(url.into()),
            ..Self::default()
        }
    }

    /// Reads the keys of a section; mistakes stay with the reader.
    pub fn read(reader: &mut SectionReader<'_>) -> Self {
        let default = Self::default();
        let port = read_count(reader, "port", 0, 1..=u64::from(u16::MAX));
        Self {
            url: reader.string("url"),
            host: reader.string("host"),
            port: u16::try_from(port).ok().filter(|&port| port > 0),
            socket: path(reader, "socket"),
            database: reader.string("database"),
            user: reader.string("user"),
            password: reader.string("password").map(Secret::new),
            password_env: reader.string("password-env"),
            password_file: path(reader, "password-file"),
            tls: TlsMode::read(reader),
            tls_root_certificate: path(reader, "tls-root-certificate"),
            tls_client_certificate: path(reader, "tls-client-certificate"),
            tls_client_key: path(reader, "tls-client-key"),
            writers: read_count(reader, "writers", default.writers, CONNECTIONS),
            read_connections: read_count(
                reader,
                "read-connections",
                default.read_connections,
                CONNECTIONS,
            ),
            acquire_timeout: reader.duration_or("acquire-timeout", default.acquire_timeout),
            connect_timeout: reader.duration_or("connect-timeout", default.connect_timeout),
            statement_timeout: reader.duration_or("statement-timeout", default.statement_timeout),
            lock_timeout: reader.duration_or("lock-timeout", default.lock_timeout),
        }
    }

    /// Returns every setting that cannot be used.
    pub fn mistakes(&self, kind: &ServerKind) -> Vec<InvalidOption> {
        let mut mistakes = self.mistakes_but_endpoint();
        mistakes.extend(self.endpoint(kind).err());
        mistakes
    }

    /// Returns every setting that cannot be used, but for where the server is: for connections that know that already.
    pub fn mistakes_but_endpoint(&self) -> Vec<InvalidOption> {
        let mut mistakes = Vec::new();
        let mut check = |key, result: Result<(), String>| {
            if let Err(message) = result {
                mistakes.push(InvalidOption::new(key, message));
            }
        };
        for (key, number) in [
            ("writers", self.writers),
            ("read-connections", self.read_connections),
        ] {
            let fits = CONNECTIONS.contains(&(number as u64));
            check(key, within(fits, "must be from 1 to 64"));
        }
        for (key, time) in [
            ("acquire-timeout", self.acquire_timeout),
            ("connect-timeout", self.connect_timeout),
            ("statement-timeout", self.statement_timeout),
            ("lock-timeout", self.lock_timeout),
        ] {
            let fits = (SHORTEST..=LONGEST).contains(&time);
            check(key, within(fits, "must be from 10ms to 1h"));
        }
        let shorter = self.lock_timeout < self.statement_timeout;
        check(
            "lock-timeout",
            within(shorter, "must be less than 'statement-timeout'"),
        );
        mistakes
    }

    /// Returns whether anything is said about where the server is or how one logs in there.
    pub fn names_an_endpoint(&self) -> bool {
        [
            self.url.is_some(),
            self.host.is_some(),
            self.port.is_some(),
            self.socket.is_some(),
            self.database.is_some(),
            self.user.is_some(),
            self.password.is_some(),
            self.password_env.is_some(),
            self.password_file.is_some(),
            self.tls.is_some(),
            self.tls_root_certificate.is_some(),
            self.tls_client_certificate.is_some(),
            self.tls_client_key.is_some(),
        ]
        .contains(&true)
    }

    /// Returns the address of the server and the account.
    ///
    /// # Errors
    /// If no setting says where the server is, or two settings do.
    pub fn endpoint(&self, kind: &ServerKind) -> Result<ServerEndpoint, InvalidOption> {
        endpoint::endpoint(self, kind)
    }

    /// Returns the number of connections of a role.
    pub fn max_connections(&self, role: Role) -> usize {
        match role {
            Role::SetUp { .. } => 1,
            Role::Writer => self.writers,
            Role::Reader => self.read_connections,
        }
    }

    /// Returns the time for which the client waits for the end of a statement: a server that hangs does not check its
    /// own limit.
    pub fn client_timeout(&self) -> Duration {
        self.statement_timeout + GRACE
    }

    /// Returns the `handler-timeout` to use if none is set: others may wait for a handler, so it is less than the time
    /// that they have.
    pub fn default_handler_timeout(&self) -> Duration {
        self.acquire_timeout * 3 / 4
    }

    /// Returns the first of the numbers and times in which two stores on one database differ, if they do.
    ///
    /// See [`ServerEndpoint::conflicting_option`] for the rest.
    pub fn conflicting_option(&self, other: &Self) -> Option<&'static str> {
        let differences = [
            ("writers", self.writers != other.writers),
            (
                "read-connections",
                self.read_connections != other.read_connections,
            ),
            (
                "acquire-timeout",
                self.acquire_timeout != other.acquire_timeout,
            ),
            (
                "connect-timeout",
                self.connect_timeout != other.connect_timeout,
            ),
            (
                "statement-timeout",
                self.statement_timeout != other.statement_timeout,
            ),
            ("lock-timeout", self.lock_timeout != other.lock_timeout),
        ];
        let differing = differences.into_iter().find(|(_, differs)| *differs);
        differing.map(|(key, _)| key)
    }
}

/// Shows the options. Written by hand: a URL may hold a password, and a new field is shown only after a decision
/// about that.
impl fmt::Debug for ServerOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerOptions")
            .field("url", &self.url.as_deref().map(address::without_password))
            .field("host", &self.host)
            .field("port", &self.port)
            .field("socket", &self.socket)
            .field("database", &self.database)
            .field("user", &self.user)
            .field("password", &self.password)
            .field("password_env", &self.password_env)
            .field("password_file", &self.password_file)
            .field("tls", &self.tls)
            .field("tls_root_certificate", &self.tls_root_certificate)
            .field("tls_client_certificate", &self.tls_client_certificate)
            .field("tls_client_key", &self.tls_client_key)
            .field("writers", &self.writers)
            .field("read_connections", &self.read_connections)
            .field("acquire_timeout", &self.acquire_timeout)
            .field("connect_timeout", &self.connect_timeout)
            .field("statement_timeout", &self.statement_timeout)
            .field("lock_timeout", &self.lock_timeout)
            .finish()
    }
}

fn path(reader: &mut SectionReader<'_>, key: &str) -> Option<PathBuf> {
    reader.string(key).map(PathBuf::from)
}

#[cfg(test)]
mod tests;
