//! Whether and how connections are encrypted.

use std::path::PathBuf;

use actix_persistence_storage_api::SectionReader;

/// Whether connections are encrypted, and what of the server's certificate is checked.
///
/// There is no mode that encrypts if the server likes: who can listen can also make the server seem not to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TlsMode {
    /// `disable`: no encryption.
    Disable,
    /// `require`: encryption with whoever answers.
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

    /// The mode a word stands for, also spelt as MySQL does: `VERIFY_CA`, `VERIFY_IDENTITY`.
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

/// How connections are encrypted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// Whether, and what is checked.
    pub mode: TlsMode,
    /// A file with authorities to trust.
    pub root_certificate: Option<PathBuf>,
    /// Files with a certificate to log in with, and its key.
    pub client: Option<(PathBuf, PathBuf)>,
}
