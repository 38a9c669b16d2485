//! A certificate for a server, and the authority that signed it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::account::Account;
use crate::error::ServerError;

const EXTENSIONS: &str = "subjectAltName=DNS:localhost\nbasicConstraints=CA:FALSE\n";

/// The files with which a server encrypts. Its certificate is valid for the name `localhost` and no other.
#[derive(Clone, Debug)]
pub(crate) struct Certificate {
    /// The authority that clients have to trust.
    pub(crate) authority: PathBuf,
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

impl Certificate {
    /// Makes a key and a certificate with the program `openssl`, which Debian installs with its database servers.
    pub(crate) fn make(folder: &Path, account: Account) -> Result<Self, ServerError> {
        let file = |name: &str| folder.join(name);
        let made = Self {
            authority: file("authority.pem"),
            certificate: file("server.pem"),
            key: file("server.key"),
        };
        let (authority_key, request, extensions) =
            (file("authority.key"), file("request"), file("extensions"));
        fs::write(&extensions, EXTENSIONS).map_err(ServerError::io("write a certificate"))?;
        openssl(
            "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=authority -addext basicConstraints=critical,CA:TRUE",
            &[("-keyout", &authority_key), ("-out", &made.authority)],
        )?;
        openssl(
            "req -newkey rsa:2048 -nodes -subj /CN=localhost",
            &[("-keyout", &made.key), ("-out", &request)],
        )?;
        openssl(
            "x509 -req -CAcreateserial -days 2",
            &[
                ("-in", &request),
                ("-CA", &made.authority),
                ("-CAkey", &authority_key),
                ("-extfile", &extensions),
                ("-out", &made.certificate),
            ],
        )?;
        for path in [&made.certificate, &made.key] {
            account.own(path)?;
        }
        Ok(made)
    }
}

fn openssl(arguments: &str, files: &[(&str, &Path)]) -> Result<(), ServerError> {
    let mut command = Command::new("openssl");
    command.args(arguments.split(' '));
    for (name, path) in files {
        command.arg(name).arg(path);
    }
    let status = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .map_err(ServerError::io(
            "run openssl, of Debian's package of that name",
        ))?;
    if status.success() {
        return Ok(());
    }
    let error = std::io::Error::other(format!("openssl {arguments} ended with {status}"));
    Err(ServerError::io("make a certificate")(error))
}
