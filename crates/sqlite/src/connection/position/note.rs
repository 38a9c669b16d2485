//! The note beside a database: a line of text.

use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use actix_persistence_sql::SqlError;
use actix_persistence_storage_api::StorageErrorKind;

use crate::options::Location;

/// The first words of a note.
const TITLE: &str = "actix-persistence position 1";

/// The contents of a note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Note {
    /// The identity of the database, in hexadecimal digits: another one may be put in its place.
    pub(super) database: String,
    /// The least number of transactions that it had.
    pub(super) commits: u64,
    /// True if the commits were on the disk when this was noted.
    pub(super) is_durable: bool,
    pub(super) log: LogEnd,
    /// True while the log is copied to the database.
    pub(super) is_copied: bool,
}

/// A place in a log that its end is not before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LogEnd {
    /// The salts of the log; a log with others is another log, about which this says nothing.
    pub(super) salts: u64,
    /// The least number of frames; 0 if nothing is known.
    pub(super) frames: u32,
}

impl Note {
    /// Fails if the database has fewer transactions than this says.
    pub(super) fn check(&self, found: &Self, path: &Path) -> Result<(), SqlError> {
        if self.database != found.database {
            tracing::warn!(
                note = %path.display(),
                "the database was replaced by another one since it was used last"
            );
            return Ok(());
        }
        if self.commits <= found.commits {
            return Ok(());
        }
        if !self.is_durable {
            tracing::warn!(
                confirmed = self.commits,
                found = found.commits,
                "the last transactions are lost, as 'synchronous = \"normal\"' allows when the machine crashes"
            );
            return Ok(());
        }
        Err(lost(
            &format!(
                "the database ends at transaction {}, but {} were confirmed",
                found.commits, self.commits
            ),
            path,
        ))
    }

    /// Fails, as for a log of which only this many frames are found.
    pub(super) fn lacks_frames(&self, found: u32, path: &Path) -> SqlError {
        lost(
            &format!(
                "the write-ahead log ends at page {found}, but {} were confirmed",
                self.log.frames
            ),
            path,
        )
    }

    /// Returns the text of the note, always of the same length, so that each note covers the one before.
    pub(super) fn to_text(&self) -> String {
        let durable = if self.is_durable { "full" } else { "norm" };
        let LogEnd { salts, frames } = self.log;
        let copied = if self.is_copied { "copy" } else { "rest" };
        let mut text = format!(
            "{TITLE} {} {:020} {durable} {salts:016x} {frames:010} {copied} ",
            self.database, self.commits
        );
        let sum = checksum(&text);
        writeln!(text, "{sum:016x}").expect("a text takes everything");
        text
    }

    /// Returns the note that a text holds; `None` if it is not whole: a crash of the machine may leave anything.
    pub(super) fn of_text(text: &str) -> Option<Self> {
        let text = text.strip_suffix('\n')?;
        let (told, sum) = text.split_at_checked(text.len().checked_sub(16)?)?;
        if u64::from_str_radix(sum, 16).ok()? != checksum(told) {
            return None;
        }
        let mut words = told.strip_prefix(TITLE)?.split_whitespace();
        Some(Self {
            database: words.next()?.to_owned(),
            commits: words.next()?.parse().ok()?,
            is_durable: words.next()? == "full",
            log: LogEnd {
                salts: u64::from_str_radix(words.next()?, 16).ok()?,
                frames: words.next()?.parse().ok()?,
            },
            is_copied: words.next()? == "copy",
        })
    }
}

fn lost(what: &str, path: &Path) -> SqlError {
    SqlError::refused(
        StorageErrorKind::Corrupt,
        format!(
            "{what}: the end of the write-ahead log is lost or damaged; restore a backup, or, if this is an older copy on \
             purpose or what is missing may be lost, remove the file {}, and see what 'PRAGMA integrity_check' finds",
            path.display()
        ),
    )
}

/// Returns the sum FNV-1a of a text: it has to find a note that was written in part, nothing worse.
fn checksum(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

pub(super) fn path_of(location: &Location) -> PathBuf {
    let mut path = location.path.clone().into_os_string();
    path.push("-position");
    path.into()
}

pub(super) fn read(path: &Path) -> Option<Note> {
    let mut text = String::new();
    File::open(path).ok()?.read_to_string(&mut text).ok()?;
    Note::of_text(&text)
}

pub(super) fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

pub(super) fn write(mut file: &File, note: &Note) -> io::Result<()> {
    file.seek(SeekFrom::Start(0))?;
    file.write_all(note.to_text().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_read_back_whole_or_not_at_all() {
        let note = Note {
            database: "0f".repeat(16),
            commits: 58,
            is_durable: true,
            log: LogEnd {
                salts: 0x1234,
                frames: 77,
            },
            is_copied: false,
        };
        let text = note.to_text();
        assert_eq!(Note::of_text(&text), Some(note.clone()));
        let later = Note {
            commits: u64::MAX,
            is_durable: false,
            log: LogEnd {
                salts: u64::MAX,
                frames: u32::MAX,
            },
            is_copied: true,
            ..note
        };
        assert_eq!(later.to_text().len(), text.len());
        assert_eq!(Note::of_text(&later.to_text()), Some(later));
        for end in 0..text.len() {
            assert_eq!(Note::of_text(&text[..end]), None, "{end}");
        }
        assert_eq!(Note::of_text(&text.replace("58", "59")), None);
    }
}
