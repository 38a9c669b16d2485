//! A server's URL, taken apart.
//!
//! `url` would do the smaller part of it. The rest is to refuse unknown parameters, which the driver would log with their
//! values, and to show no part that may be a secret.

use std::path::PathBuf;

use super::percent::percent_decoded;
use super::{Secret, TlsMode};

/// The peculiarities of the URLs of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerKind {
    /// The schemes that may precede `://`.
    pub schemes: &'static [&'static str],
    /// The port if none is given.
    pub port: u16,
}

/// The contents of a URL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Address {
    /// The host; none for a socket.
    pub host: Option<String>,
    /// The port, if the address names one.
    pub port: Option<u16>,
    /// The socket, or its folder.
    pub socket: Option<PathBuf>,
    /// The name of the database.
    pub database: Option<String>,
    /// The user, if the address names one.
    pub user: Option<String>,
    /// The password, if the address holds one.
    pub password: Option<Secret>,
    /// The encryption of connections.
    pub tls: Option<TlsMode>,
    /// A file with authorities to trust.
    pub root_certificate: Option<PathBuf>,
    /// A file with a certificate to log in with.
    pub client_certificate: Option<PathBuf>,
    /// A file with its key.
    pub client_key: Option<PathBuf>,
}

/// The parameters that may follow `?`.
///
/// Everything else is refused: the driver would write what it does not know to the log, with its value.
const PARAMETERS: &str = "sslmode, sslrootcert, sslcert, sslkey (also spelt ssl-mode, ssl-ca, ssl-cert, ssl-key), \
     and host or socket for the socket";

impl Address {
    /// Takes a URL apart.
    ///
    /// # Errors
    /// If it is no such URL; the text continues the key's name and never holds a part of it that may be a secret.
    pub(super) fn parse(url: &str, kind: &ServerKind) -> Result<Self, String> {
        let schemes = kind.schemes.join("://' or '");
        let scheme = url.split_once("://");
        let Some((_, rest)) = scheme.filter(|(scheme, _)| kind.schemes.contains(scheme)) else {
            return Err(format!("must begin with '{schemes}://'"));
        };
        let (rest, parameters) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        if [authority, path, parameters]
            .iter()
            .any(|part| part.contains('#'))
        {
            return Err("must not contain '#'; write it as %23".to_owned());
        }
        let mut address = Address::default();
        if path.contains('/') {
            return Err(
                "must have one name after the host, that of the database; a '/' within a name or a \
                 password is written as %2F"
                    .to_owned(),
            );
        }
        address.database = name(path)?;
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (user, host),
            None => ("", authority),
        };
        let (user, password) = match user.split_once(':') {
            Some((user, password)) => (user, Some(password)),
            None => (user, None),
        };
        if user.contains('@') || password.is_some_and(|text| text.contains(['@', ':'])) {
            return Err(
                "must have '@' and ':' within a password written as %40 and %3A".to_owned(),
            );
        }
        address.user = name(user)?;
        address.password = password.map(text).transpose()?.map(Secret::new);
        address.take_host(host)?;
        for parameter in parameters.split('&').filter(|text| !text.is_empty()) {
            address.take_parameter(parameter)?;
        }
        Ok(address)
    }

    fn take_host(&mut self, host: &str) -> Result<(), String> {
        let (host, port) = match host.strip_prefix('[') {
            // An address of IPv6 is full of colons itself.
            Some(rest) => {
                let (host, port) = rest
                    .split_once(']')
                    .ok_or("must have the address of IPv6 between '[' and ']'")?;
                if !port.is_empty() && !port.starts_with(':') {
                    return Err("must have ':' between host and port".to_owned());
                }
                (host, port.strip_prefix(':'))
            }
            None => match host.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (host, None),
            },
        };
        if let Some(port) = port {
            let number = port.parse().ok().filter(|&port: &u16| port > 0);
            self.port = Some(number.ok_or(
                "must have a port from 1 to 65535; within a password '?' is written as %3F and ':' as %3A",
            )?);
        }
        match name(host)? {
            Some(host) if host.starts_with('/') => self.socket = Some(PathBuf::from(host)),
            host => self.host = host,
        }
        Ok(())
    }

    fn take_parameter(&mut self, parameter: &str) -> Result<(), String> {
        let (key, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        let value = text(value)?;
        let path = || Some(PathBuf::from(&value));
        match key {
            "sslmode" | "ssl-mode" => {
                let mode = TlsMode::of_word(&value).map_err(|message| format!("'{key}' {message}"));
                self.tls = Some(mode.map_err(|message| format!("is wrong: {message}"))?);
            }
            "sslrootcert" | "ssl-ca" => self.root_certificate = path(),
            "sslcert" | "ssl-cert" => self.client_certificate = path(),
            "sslkey" | "ssl-key" => self.client_key = path(),
            "host" | "socket" if value.starts_with('/') => {
                self.host = None;
                self.socket = path();
            }
            // The key may be a part of a password that was not escaped.
            _ => return Err(format!("must have no parameters but {PARAMETERS}")),
        }
        Ok(())
    }
}

/// Returns a URL without what may be a password in it, for people.
pub(super) fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return "***".to_owned();
    };
    // From the last '@' on: a password that should have been escaped may hold one.
    let place = match rest.rsplit_once('@') {
        Some((_, place)) => format!("***@{place}"),
        None => rest.to_owned(),
    };
    let place = place.split('?').next().unwrap_or_default();
    format!("{scheme}://{place}")
}

fn name(part: &str) -> Result<Option<String>, String> {
    Ok(Some(text(part)?).filter(|name| !name.is_empty()))
}

fn text(part: &str) -> Result<String, String> {
    percent_decoded(part)
        .filter(|text| !text.contains('\0'))
        .ok_or_else(|| "must have '%' itself written as %25, and no NUL".to_owned())
}
