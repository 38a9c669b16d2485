//! The address of a server, put together from what was given.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;

use super::address::Address;
use super::{Password, Secret, ServerKind, ServerOptions, Tls, TlsMode};
use crate::InvalidOption;

/// The address of a server and the account; shown without the password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerEndpoint {
    /// The name or the address of the server; `localhost` with a socket.
    pub host: String,
    /// The port of the server; with a socket, a part of the socket's name for PostgreSQL.
    pub port: u16,
    /// The socket or its folder, instead of the host.
    pub socket: Option<PathBuf>,
    /// The name of the database.
    pub database: String,
    /// The user that logs in.
    pub user: String,
    /// The password of the user.
    pub password: Password,
    /// The encryption of connections.
    pub tls: Tls,
}

impl ServerEndpoint {
    /// Returns the key of what differs in how one logs in at the same endpoint, if something does.
    pub fn conflicting_option(&self, other: &Self) -> Option<&'static str> {
        if self.password != other.password {
            Some("password")
        } else if self.tls != other.tls {
            Some("tls")
        } else {
            None
        }
    }
}

/// Shows the database and the user: the same for stores that can share connections.
impl fmt::Display for ServerEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@", self.user)?;
        match &self.socket {
            Some(socket) => write!(f, "{}:{}", socket.display(), self.port)?,
            None if self.host.contains(':') => write!(f, "[{}]:{}", self.host, self.port)?,
            None => write!(f, "{}:{}", self.host, self.port)?,
        }
        write!(f, "/{}", self.database)
    }
}

const URL_OR_PARTS: &str = "is also said by 'url'; leave one of the two out";

pub(super) fn endpoint(
    options: &ServerOptions,
    kind: &ServerKind,
) -> Result<ServerEndpoint, InvalidOption> {
    let address = address(options, kind)?;
    let has_endpoint = address.host.is_some() || address.socket.is_some();
    if options.url.is_none() && !has_endpoint && address.database.is_none() {
        return Err(InvalidOption::new(
            "url",
            "is missing; name the database here, or by 'host', 'database' and 'user'",
        ));
    }
    if address.host.is_some() && address.socket.is_some() {
        return Err(InvalidOption::new(
            "socket",
            "is given beside a host; leave one of the two out",
        ));
    }
    let host = address
        .host
        .clone()
        .unwrap_or_else(|| "localhost".to_owned());
    Ok(ServerEndpoint {
        port: address.port.unwrap_or(kind.port),
        database: required(options, "database", &address.database)?,
        user: required(options, "user", &address.user)?,
        password: password(options, address.password.clone())?,
        tls: tls(&address, &host)?,
        host,
        socket: address.socket,
    })
}

/// Returns the address that the URL and the keys say together.
fn address(options: &ServerOptions, kind: &ServerKind) -> Result<Address, InvalidOption> {
    let mut address = match &options.url {
        Some(url) => {
            let parts = [
                ("host", options.host.is_some()),
                ("port", options.port.is_some()),
                ("socket", options.socket.is_some()),
                ("database", options.database.is_some()),
                ("user", options.user.is_some()),
            ];
            if let Some((key, _)) = parts.iter().find(|(_, is_given)| *is_given) {
                return Err(InvalidOption::new(key, URL_OR_PARTS));
            }
            Address::parse(url, kind).map_err(InvalidOption::of("url"))?
        }
        None => Address {
            host: options.host.clone(),
            port: options.port,
            socket: options.socket.clone(),
            database: options.database.clone(),
            user: options.user.clone(),
            ..Address::default()
        },
    };
    merge("tls", &mut address.tls, options.tls.as_ref())?;
    for (key, mine, given) in [
        (
            "tls-root-certificate",
            &mut address.root_certificate,
            &options.tls_root_certificate,
        ),
        (
            "tls-client-certificate",
            &mut address.client_certificate,
            &options.tls_client_certificate,
        ),
        (
            "tls-client-key",
            &mut address.client_key,
            &options.tls_client_key,
        ),
    ] {
        merge(key, mine, given.as_ref())?;
    }
    Ok(address)
}

fn merge<T: Clone>(
    key: &'static str,
    of_url: &mut Option<T>,
    given: Option<&T>,
) -> Result<(), InvalidOption> {
    match given {
        Some(_) if of_url.is_some() => Err(InvalidOption::new(key, URL_OR_PARTS)),
        Some(given) => {
            *of_url = Some(given.clone());
            Ok(())
        }
        None => Ok(()),
    }
}

/// Returns a part of the endpoint, or fails if it is not set. No default stands in for it, such as the name of the user of
/// the operating system.
fn required(
    options: &ServerOptions,
    key: &'static str,
    part: &Option<String>,
) -> Result<String, InvalidOption> {
    match part {
        Some(name) if !name.is_empty() && !name.contains('\0') => Ok(name.clone()),
        _ if options.url.is_some() => Err(InvalidOption::new(
            "url",
            format!("must name a {key}, as in scheme://user@host/database"),
        )),
        _ => Err(InvalidOption::new(key, "must be given, without NUL")),
    }
}

fn password(options: &ServerOptions, of_url: Option<Secret>) -> Result<Password, InvalidOption> {
    let sources = [
        ("url", of_url.map(Password::Given)),
        ("password", options.password.clone().map(Password::Given)),
        (
            "password-env",
            options.password_env.clone().map(Password::Environment),
        ),
        (
            "password-file",
            options.password_file.clone().map(Password::File),
        ),
    ];
    let mut given = sources
        .into_iter()
        .filter_map(|(key, source)| Some((key, source?)));
    match (given.next(), given.next()) {
        (None, _) => Ok(Password::None),
        (Some((_, password)), None) => Ok(password),
        (Some((first, _)), Some((second, _))) => {
            let message = format!(
                "gives the password a second time, after '{first}'; leave one of the two out"
            );
            Err(InvalidOption::new(second, message))
        }
    }
}

fn tls(address: &Address, host: &str) -> Result<Tls, InvalidOption> {
    let is_here = address.socket.is_some() || is_loopback(host);
    let mode = address.tls.unwrap_or(if is_here {
        TlsMode::Disable
    } else {
        TlsMode::VerifyFull
    });
    if address.socket.is_some() && mode != TlsMode::Disable {
        return Err(InvalidOption::new(
            "tls",
            "must be \"disable\" for a socket, which is not encrypted",
        ));
    }
    let client = match (&address.client_certificate, &address.client_key) {
        (Some(certificate), Some(key)) => Some((certificate.clone(), key.clone())),
        (None, None) => None,
        (Some(_), None) => {
            return Err(InvalidOption::new(
                "tls-client-key",
                "must be given together with 'tls-client-certificate'",
            ));
        }
        (None, Some(_)) => {
            return Err(InvalidOption::new(
                "tls-client-certificate",
                "must be given together with 'tls-client-key'",
            ));
        }
    };
    Ok(Tls {
        mode,
        root_certificate: address.root_certificate.clone(),
        client,
    })
}

fn is_loopback(host: &str) -> bool {
    let is_address = host
        .parse()
        .is_ok_and(|address: IpAddr| address.is_loopback());
    is_address || host.eq_ignore_ascii_case("localhost")
}
