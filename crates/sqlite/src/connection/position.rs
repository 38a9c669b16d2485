//! The position of a database, noted beside it, so that a lost end of its log is found when it is opened.
//!
//! SQLite takes a log up to the first frame that is damaged or missing, and drops the rest without a word. So each
//! transaction raises a number in the database, and after its commit the number is noted in a small file beside it. The
//! file is not synced: it costs next to nothing, and never is ahead of a log that was synced before.

use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write as _};
use std::path::PathBuf;

use actix_persistence_sql::Fault;
use actix_persistence_storage_api::StorageErrorKind;
use sqlx::{Row, SqliteConnection};

use crate::options::{Location, Synchronous};
use crate::queries;

/// The first line of a note.
const TITLE: &str = "actix-persistence position 1";

/// The note beside a database, kept by the one connection of this process that writes.
#[derive(Debug)]
pub(super) struct Position {
    /// None if it cannot be written.
    file: Option<File>,
    path: PathBuf,
    note: Note,
}

/// The contents of a note.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Note {
    /// The identity of the database, in hexadecimal digits: another one may be put in its place.
    database: String,
    /// The least number of transactions that it had.
    commits: u64,
    /// True if the commits were on the disk when this was noted.
    is_durable: bool,
}

impl Position {
    /// Compares what was noted with the database, and goes on from there.
    ///
    /// # Errors
    /// If the database has fewer transactions than were confirmed.
    pub(super) async fn open(
        connection: &mut SqliteConnection,
        location: &Location,
        synchronous: Synchronous,
    ) -> Result<Self, Fault> {
        let path = path_of(location);
        // Before the look at the database, which others may write to meanwhile.
        let noted = read(&path);
        let is_durable = synchronous == Synchronous::Full;
        let found = match find(connection, is_durable).await? {
            Some(found) => {
                if let Some(noted) = noted {
                    noted.check(&found, &path)?;
                }
                found
            }
            None => {
                tracing::warn!(
                    database = %location.path.display(),
                    "the number of transactions in 'sqlite_sequence' is gone, as if a program had emptied that table or copied \
                     the others without it; if the end of the write-ahead log was lost before now, that cannot be told"
                );
                count_anew(connection, is_durable).await?
            }
        };
        let file = create(&path).inspect_err(|error| cannot_note(&path, error));
        let mut position = Self {
            file: file.ok(),
            path,
            note: found,
        };
        position.write();
        Ok(position)
    }

    /// Notes one more transaction. Those of other processes are counted when the database is opened: a note may be
    /// behind the database, but never ahead of it.
    pub(super) fn committed(&mut self) {
        self.note.commits += 1;
        self.write();
    }

    /// Writes the note; a failure does not affect what was committed.
    fn write(&mut self) {
        let Some(file) = &mut self.file else {
            return;
        };
        let text = self.note.to_text();
        let written = file
            .seek(SeekFrom::Start(0))
            .and_then(|_| file.write_all(text.as_bytes()));
        if let Err(error) = written {
            cannot_note(&self.path, &error);
            self.file = None;
        }
    }
}

impl Note {
    fn check(&self, found: &Self, path: &std::path::Path) -> Result<(), Fault> {
        let path = path.display();
        if self.database != found.database {
            tracing::warn!(note = %path, "the database was replaced by another one since it was used last");
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
        Err(Fault::refused(
            StorageErrorKind::Corrupt,
            format!(
                "the database ends at transaction {}, but {} were confirmed: the end of its write-ahead log is lost or \
                 damaged; restore a backup, or, if this is an older copy on purpose or what is missing may be lost, remove \
                 the file {path}",
                found.commits, self.commits,
            ),
        ))
    }

    /// Always of the same length, so that each note covers the one before.
    fn to_text(&self) -> String {
        let durable = if self.is_durable { "full" } else { "norm" };
        let mut text = format!("{TITLE} {} {:020} {durable} ", self.database, self.commits);
        let sum = checksum(&text);
        writeln!(text, "{sum:016x}").expect("a text takes everything");
        text
    }

    /// None if it is not whole: a crash of the machine may leave anything.
    fn of_text(text: &str) -> Option<Self> {
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
        })
    }
}

/// None if the database does not count its transactions.
async fn find(connection: &mut SqliteConnection, is_durable: bool) -> Result<Option<Note>, Fault> {
    let row = sqlx::query(queries::POSITION)
        .fetch_optional(connection)
        .await?;
    let Some(row) = row else {
        return Ok(None);
    };
    Ok(Some(Note {
        database: row.try_get("database")?,
        commits: u64::try_from(row.try_get::<i64, _>("commits")?).unwrap_or(0),
        is_durable,
    }))
}

/// Nothing that another process counts meanwhile is touched.
async fn count_anew(connection: &mut SqliteConnection, is_durable: bool) -> Result<Note, Fault> {
    sqlx::raw_sql(queries::COUNT_ANEW)
        .execute(&mut *connection)
        .await?;
    let found = find(connection, is_durable).await?;
    found.ok_or_else(|| {
        Fault::corrupt("the table 'actix_persistence_commits' does not count transactions; see what else writes to it")
    })
}

/// FNV-1a: it has to find a note that was written in part, nothing worse.
fn checksum(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

fn path_of(location: &Location) -> PathBuf {
    let mut path = location.path.clone().into_os_string();
    path.push("-position");
    path.into()
}

fn read(path: &std::path::Path) -> Option<Note> {
    let mut text = String::new();
    File::open(path).ok()?.read_to_string(&mut text).ok()?;
    Note::of_text(&text)
}

fn create(path: &std::path::Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn cannot_note(path: &std::path::Path, error: &io::Error) {
    tracing::warn!(
        note = %path.display(),
        error = error as &dyn std::error::Error,
        "it cannot be noted how far the database has come; a lost end of its log would not be found"
    );
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
        };
        let text = note.to_text();
        assert_eq!(Note::of_text(&text), Some(note.clone()));
        let later = Note {
            commits: u64::MAX,
            is_durable: false,
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
