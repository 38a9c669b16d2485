//! The encryption of connections.
//!
//! The parsing of PEM is the driver's and `rustls-pki-types`'; here a file is only searched for the block that its key
//! promises, because the driver takes a file without one for a file with no authority.

use std::io;
use std::path::{Path, PathBuf};

use actix_persistence_storage_api::{SectionReader, StorageErrorKind};

use crate::SqlError;

/// Says whether connections are encrypted, and what of the server's certificate is checked.
///
/// There is no mode that encrypts if the server likes: who can listen can also make the server seem not to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TlsMode {
    /// The connection is not encrypted: `disable`.
    Disable,
    /// `require`: encryption without a check of the server.
    Require,
    /// `verify-ca`: the certificate must come from an authority that is trusted, whosever it is.
    VerifyCa,
    /// `verify-full`: and it must be that of the host that was asked for.
    VerifyFull,
}

impl TlsMode {
    /// The words of the config and of URLs.
    pub(super) const WORDS: [(&'static str, TlsMode); 4] = [
        ("disable", TlsMode::Disable),
        ("require", TlsMode::Require),
        ("verify-ca", TlsMode::VerifyCa),
        ("verify-full", TlsMode::VerifyFull),
    ];

    /// Reads the key `tls`.
    pub(super) fn read(reader: &mut SectionReader<'_>) -> Option<Self> {
        let choices = Self::WORDS.map(|(word, mode)| (word, Some(mode)));
        reader.choice_or("tls", &choices, None)
    }

    /// Returns the mode that a word stands for, even if it is spelt as in MySQL: `VERIFY_CA`, `VERIFY_IDENTITY`.
    pub(super) fn of_word(word: &str) -> Result<Self, String> {
        let word = word.to_ascii_lowercase().replace('_', "-");
        let plain = match word.as_str() {
            "disabled" => "disable",
            "required" => "require",
            "verify-identity" => "verify-full",
            other => other,
        };
        let found = Self::WORDS.iter().find(|(name, _)| *name == plain);
        found.map(|(_, mode)| *mode).ok_or_else(|| {
            "must name one of the modes disable, require, verify-ca and verify-full; others may \
             turn encryption off without a word"
                .to_owned()
        })
    }
}

/// The encryption of connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// Says whether connections are encrypted, and what is checked.
    pub mode: TlsMode,
    /// A file with authorities to trust.
    pub root_certificate: Option<PathBuf>,
    /// Files with a certificate to log in with, and its key.
    pub client: Option<(PathBuf, PathBuf)>,
}

/// The files of [`Tls`], as they are now: they may be renewed while connections are open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// Authorities to trust, in PEM.
    pub root_certificate: Option<Vec<u8>>,
    /// A certificate to log in with and its key, in PEM.
    pub client: Option<(Vec<u8>, Vec<u8>)>,
}

impl Tls {
    /// Reads the files of certificates and of the key.
    ///
    /// # Errors
    /// If one cannot be read, or does not hold what it should.
    pub async fn read(&self) -> Result<TlsFiles, SqlError> {
        let root_certificate = match &self.root_certificate {
            Some(path) => Some(read("tls-root-certificate", path, "CERTIFICATE").await?),
            None => None,
        };
        let client = match &self.client {
            Some((certificate, key)) => Some((
                read("tls-client-certificate", certificate, "CERTIFICATE").await?,
                read("tls-client-key", key, "PRIVATE KEY").await?,
            )),
            None => None,
        };
        Ok(TlsFiles {
            root_certificate,
            client,
        })
    }
}

/// A file without what it should hold would count as one that adds no authority, or would be reported in other words.
async fn read(key: &str, path: &Path, holds: &str) -> Result<Vec<u8>, SqlError> {
    let path_of_task = path.to_owned();
    let read = tokio::task::spawn_blocking(move || std::fs::read(path_of_task));
    let read = read
        .await
        .unwrap_or_else(|error| Err(io::Error::other(error)));
    let path = path.display();
    let bytes = read.map_err(|error| SqlError::Refused {
        kind: StorageErrorKind::AccessDenied,
        message: format!("the file {path} named by '{key}' cannot be read"),
        source: Some(error.into()),
    })?;
    let text = String::from_utf8_lossy(&bytes);
    let begins = |line: &str| line.starts_with("-----BEGIN ") && line.contains(holds);
    if text.lines().any(begins) {
        return Ok(bytes);
    }
    Err(SqlError::refused(
        StorageErrorKind::AccessDenied,
        format!("the file {path} named by '{key}' holds no {holds} in PEM"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn refusal(tls: &Tls) -> String {
        match tls.read().await.unwrap_err() {
            SqlError::Refused { message, .. } => message,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn files_are_read_anew_each_time_and_named_if_they_are_of_no_use() {
        let folder = std::env::temp_dir();
        let file = |name: &str| folder.join(format!("tls-{name}-{}", std::process::id()));
        let (root, key) = (file("root"), file("key"));
        let tls = Tls {
            mode: TlsMode::VerifyFull,
            root_certificate: Some(root.clone()),
            client: Some((root.clone(), key.clone())),
        };
        let missing = refusal(&tls).await;
        assert!(
            missing.contains("'tls-root-certificate' cannot be read"),
            "{missing}"
        );
        std::fs::write(&root, "-----BEGIN CERTIFICATE-----\n").unwrap();
        std::fs::write(&key, "secret").unwrap();
        let wrong = refusal(&tls).await;
        assert!(
            wrong.contains("'tls-client-key' holds no PRIVATE KEY"),
            "{wrong}"
        );
        assert!(!wrong.contains("secret"), "{wrong}");
        std::fs::write(&key, "-----BEGIN EC PRIVATE KEY-----\n").unwrap();
        let files = tls.read().await.unwrap();
        assert_eq!(
            files.root_certificate.as_ref(),
            Some(&std::fs::read(&root).unwrap())
        );
        for file in [root, key] {
            std::fs::remove_file(file).unwrap();
        }
    }
}
