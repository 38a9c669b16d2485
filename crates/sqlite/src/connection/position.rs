//! The position of a database, noted beside it, so that a lost end of its log is found when it is opened.
//!
//! SQLite takes a log up to the first frame that is damaged or missing, and drops the rest without a word. So each
//! transaction raises a number in the database, and after its commit the number is noted in a small file beside it. The
//! number alone is not enough: an unfinished checkpoint may have copied its page, and not yet others of the same
//! transaction. So the note has the end of the log, too, which must be there as long as the log is not begun anew.
//!
//! The file is synced before a checkpoint, and never is ahead of a log that was synced before; a commit by itself does not
//! wait for it.

mod note;

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use actix_persistence_sql::SqlError;
use actix_persistence_storage_api::StorageErrorKind;
use sqlx::{Row, SqliteConnection};

use super::SqliteConnector;
use super::frames::{Header, LogFile};
use super::log::{self, Copied};
use super::unfinished_copy::UnfinishedCopy;
use crate::options::{Location, Synchronous};
use crate::queries;

use note::{LogEnd, Note};

/// The number of frames at which a log is copied to the database, as SQLite does by itself.
const CHECKPOINT_AT: u32 = 1000;
/// The number of further frames after which the copy is tried again, where a reader keeps the log from being begun
/// anew.
const CHECKPOINT_AGAIN: u32 = 100;

/// The note beside a database, kept by the one connection of this process that writes.
#[derive(Debug)]
pub(super) struct Position {
    /// The file of the note; `None` if it cannot be written.
    file: Option<Arc<File>>,
    path: PathBuf,
    note: Note,
    /// The file of the log; `None` if it cannot be read.
    log: Option<LogFile>,
    /// The end of the log up to which no later transaction has a frame.
    before: LogEnd,
    checkpoint_at: u32,
    unfinished_copy: UnfinishedCopy,
}

/// The result of a comparison of a log with its note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LogCheck {
    /// The log holds everything that was noted, as far as can be known.
    Passed,
    /// A process has ended before a copy of the log to the database was whole, and that log is gone. Another program may have
    /// finished the copy; or else the database has a part of it.
    CopyUnfinished,
}

/// Compares the log with what was noted of it.
///
/// To be asked before a connection is opened: the last one that closes copies what is left to the database and removes the
/// log.
///
/// # Errors
/// If the log that was noted is there, and ends too early.
pub(super) async fn check_log(location: &Location) -> Result<LogCheck, SqlError> {
    let location = location.clone();
    blocking(move || check_log_now(&location)).await
}

fn check_log_now(location: &Location) -> Result<LogCheck, SqlError> {
    let path = note::path_of(location);
    // Before the look at the log, which others may write to meanwhile.
    let Some(noted) = note::read(&path).filter(|noted| noted.log.frames > 0) else {
        return Ok(LogCheck::Passed);
    };
    match frames_of_noted(&noted, location) {
        Ok(Some(found)) if found < noted.log.frames && noted.is_durable => {
            Err(noted.lacks_frames(found, &path))
        }
        Ok(Some(_)) => Ok(LogCheck::Passed),
        // A process that has removed the log after copying it notes that afterwards.
        Ok(None) if noted.is_copied && note::read(&path).as_ref() == Some(&noted) => {
            Ok(LogCheck::CopyUnfinished)
        }
        Ok(None) => Ok(LogCheck::Passed),
        // SQLite cannot read it either, and has more to say.
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Ok(LogCheck::Passed),
        Err(error) => Err(unreadable(error)),
    }
}

/// Returns the number of frames of the log that was noted, at most the number that was noted; `None` if that log is
/// gone.
fn frames_of_noted(noted: &Note, location: &Location) -> io::Result<Option<u32>> {
    let look = || -> io::Result<Option<(LogFile, Header)>> {
        let Some(log) = LogFile::open(location)? else {
            return Ok(None);
        };
        let header = log.header()?;
        let header = header.filter(|header| header.salts == noted.log.salts);
        Ok(header.map(|header| (log, header)))
    };
    let Some((log, header)) = look()? else {
        return Ok(None);
    };
    let found = log.committed(&header, noted.log.frames)?;
    // Meanwhile another process may have emptied it or begun it anew, after a checkpoint.
    Ok(look()?.map(|_| found))
}

impl Position {
    /// Compares what was noted with the database, and goes on from there.
    ///
    /// # Errors
    /// If the database has fewer transactions than were confirmed.
    pub(super) async fn open(
        connection: &mut SqliteConnection,
        connector: &SqliteConnector,
    ) -> Result<Self, SqlError> {
        let location = &connector.location;
        let path = note::path_of(location);
        // Before the look at the database, which others may write to meanwhile.
        let noted = note::read(&path);
        let is_durable = connector.synchronous == Synchronous::Full;
        let found = match find(connection, is_durable).await? {
            Some(found) => {
                if let Some(noted) = &noted {
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
        let mut position = Self::of(found, noted.as_ref(), path, connection, connector).await?;
        position.write();
        Ok(position)
    }

    async fn of(
        mut found: Note,
        noted: Option<&Note>,
        path: PathBuf,
        connection: &mut SqliteConnection,
        connector: &SqliteConnector,
    ) -> Result<Self, SqlError> {
        let log = LogFile::open(&connector.location).map_err(unreadable)?;
        if let Some(log) = &log {
            found.log = end_of(log, connection, found.is_durable).await?;
        }
        let unfinished_copy = connector.unfinished_copy.clone();
        if let Some(noted) = noted.filter(|noted| noted.is_copied && noted.log.frames > 0) {
            unfinished_copy.found(noted.log.salts);
        }
        let file = note::create(&path).inspect_err(|error| cannot_note(&path, error));
        Ok(Self {
            file: file.ok().map(Arc::new),
            path,
            before: found.log,
            note: found,
            log,
            checkpoint_at: CHECKPOINT_AT,
            unfinished_copy,
        })
    }

    /// Notes one more transaction, and returns whether the log is to be copied to the database. The transactions of other
    /// processes are counted when the database is opened: a note may lag the database, but is never ahead of it.
    pub(super) async fn committed(&mut self, connection: &mut SqliteConnection) -> bool {
        self.note.commits += 1;
        if let Err(error) = self.follow(connection).await {
            tracing::debug!(?error, "the end of the write-ahead log is not noted");
            self.before = LogEnd::default();
            self.note.log = LogEnd::default();
        }
        self.write();
        let is_due = self.before.frames >= self.checkpoint_at;
        if is_due {
            self.checkpoint_at = self.before.frames + CHECKPOINT_AGAIN;
        }
        is_due
    }

    /// Finds the end of the transaction that was just committed, or an earlier one if others write, too.
    async fn follow(&mut self, connection: &mut SqliteConnection) -> Result<(), SqlError> {
        self.note.log = LogEnd::default();
        let Some(log) = &self.log else {
            return Ok(());
        };
        let Some(header) = log.header().map_err(unreadable)? else {
            return Ok(());
        };
        if self.before.salts != header.salts {
            self.checkpoint_at = CHECKPOINT_AT;
            // Another process may have begun it, and have written there what it has neither made safe nor published.
            self.before = end_of(log, connection, self.note.is_durable).await?;
            self.note.log = self.before;
            return Ok(());
        }
        let end = log.next_commit(&header, self.before.frames);
        let Some(end) = end.map_err(unreadable)? else {
            return Ok(());
        };
        self.before.frames = end;
        self.note.log = self.before;
        // What others have published is before our next transaction, whose commit makes it safe.
        if log.has_frame(&header, end + 1).map_err(unreadable)? {
            self.before.frames = end.max(log::frames(connection).await?);
        }
        Ok(())
    }

    /// Copies the log to the database by `copy`, which is noted before, and made safe: what is written from then on looks like
    /// complete transactions. A copy that fails, or is of a part, goes on being noted.
    pub(super) async fn copy(
        &mut self,
        copy: impl Future<Output = Result<Copied, SqlError>>,
    ) -> Result<Copied, SqlError> {
        let unfinished_copy = self.unfinished_copy.clone();
        let _turn = unfinished_copy.turn().await;
        self.copy_in_turn(copy).await
    }

    /// Does the same if no other connection of this process is copying the log; otherwise does nothing and returns `None`.
    pub(super) async fn copy_unless_another_does(
        &mut self,
        copy: impl Future<Output = Result<Copied, SqlError>>,
    ) -> Result<Option<Copied>, SqlError> {
        let unfinished_copy = self.unfinished_copy.clone();
        let Some(_turn) = unfinished_copy.turn_if_free() else {
            return Ok(None);
        };
        self.copy_in_turn(copy).await.map(Some)
    }

    async fn copy_in_turn(
        &mut self,
        copy: impl Future<Output = Result<Copied, SqlError>>,
    ) -> Result<Copied, SqlError> {
        self.unfinished_copy.begin();
        let noted = self.write_of_copy();
        let is_to_be_safe = self.note.is_durable || noted.is_durable;
        // Without an end of the log it says nothing of a copy.
        let is_to_be_safe = is_to_be_safe && noted.log.frames > 0;
        let file = self.file.clone().filter(|_| is_to_be_safe);
        let synced =
            tokio::task::spawn_blocking(move || file.map_or(Ok(()), |file| file.sync_data()));
        if let Err(error) = synced.await.unwrap_or_else(|error| Err(error.into())) {
            cannot_note(&self.path, &error);
        }
        let copied = copy.await?;
        if copied.is_whole {
            self.unfinished_copy.is_whole();
        } else {
            let salts = self.salts().filter(|salts| *salts == noted.log.salts);
            self.unfinished_copy.is_in_part(salts);
        }
        self.write_of_copy();
        Ok(copied)
    }

    /// Returns the salts of the log as it is now.
    fn salts(&self) -> Option<u64> {
        let header = self.log.as_ref()?.header().ok()??;
        Some(header.salts)
    }

    /// Writes the note; a failure does not affect what was committed.
    fn write(&mut self) {
        let known = self.unfinished_copy.known();
        self.note.is_copied = known.is_of(self.note.log.salts);
        write(&mut self.file, &self.path, &self.note);
    }

    /// Writes and returns the note of a copy. Another connection may have noted more of the log, or of the database; then all
    /// but the copy stays as it was noted.
    fn write_of_copy(&mut self) -> Note {
        let known = self.unfinished_copy.known();
        let log = self.salts();
        let is_of_log = |note: &Note| log == Some(note.log.salts) && note.log.frames > 0;
        let says_more = |noted: &Note| match (is_of_log(noted), is_of_log(&self.note)) {
            (true, true) => {
                let end = |note: &Note| (note.is_durable, note.log.frames);
                end(noted) > end(&self.note)
            }
            (false, false) => noted.commits >= self.note.commits,
            (is_of_log, _) => is_of_log,
        };
        let noted = self.noted();
        let more = noted.as_ref().filter(|noted| says_more(noted));
        let mut note = more.unwrap_or(&self.note).clone();
        for other in noted.iter().chain([&self.note]) {
            // A number that a crash may take back is none of commits that are safe.
            if other.is_durable == note.is_durable {
                note.commits = note.commits.max(other.commits);
            }
        }
        // A copy that is under way is none of a log that is gone.
        let is_gone = self.log.as_ref().is_some_and(LogFile::is_empty);
        let may_be_copied = note.is_copied || !is_gone;
        note.is_copied = may_be_copied && known.is_of(note.log.salts);
        // Another process may have noted more meanwhile.
        if noted.as_ref() != Some(&note) {
            write(&mut self.file, &self.path, &note);
        }
        note
    }

    /// Returns what is noted of this database.
    fn noted(&self) -> Option<Note> {
        note::read(&self.path).filter(|noted| noted.database == self.note.database)
    }
}

/// Writes a note to its file, which is not written to again after an error.
fn write(file: &mut Option<Arc<File>>, path: &Path, note: &Note) {
    if let Some(open) = file
        && let Err(error) = note::write(open, note)
    {
        cannot_note(path, &error);
        *file = None;
    }
}

/// Notes that what was copied of a log that is gone is whole.
pub(super) async fn note_whole(connector: &SqliteConnector) {
    let location = connector.location.clone();
    // Another process may have gone on from there, and may be copying its own log.
    let is_so = move || matches!(check_log_now(&location), Ok(LogCheck::CopyUnfinished));
    note_copy(connector, false, is_so).await;
}

/// Copies a log by `copy`, for a connection that has no position: says so in the note that others have written.
pub(super) async fn copy_without(
    connector: &SqliteConnector,
    copy: impl Future<Output = Result<Copied, SqlError>>,
) -> Result<Copied, SqlError> {
    let unfinished_copy = &connector.unfinished_copy;
    let _turn = unfinished_copy.turn().await;
    unfinished_copy.begin();
    note_copy(connector, true, || true).await;
    let copied = copy.await?;
    if copied.is_whole {
        unfinished_copy.is_whole();
        note_copy(connector, false, || true).await;
    }
    Ok(copied)
}

/// Changes what the note says of a copy, safely if it is unfinished, unless it `is_so` no longer.
async fn note_copy(
    connector: &SqliteConnector,
    is_copied: bool,
    is_so: impl FnOnce() -> bool + Send + 'static,
) {
    let path = note::path_of(&connector.location);
    let unfinished_copy = connector.unfinished_copy.clone();
    let noted = tokio::task::spawn_blocking(move || {
        let _known = unfinished_copy.known();
        if !is_so() {
            return;
        }
        let Some(mut noted) = note::read(&path) else {
            return;
        };
        noted.is_copied = is_copied;
        let written = note::create(&path).and_then(|file| {
            note::write(&file, &noted)?;
            match is_copied && noted.is_durable {
                true => file.sync_data(),
                false => Ok(()),
            }
        });
        if let Err(error) = written {
            cannot_note(&path, &error);
        }
    });
    if let Err(error) = noted.await {
        tracing::warn!(
            error = &error as &dyn std::error::Error,
            "a note was not written"
        );
    }
}

/// Notes the end of a log to which tables were added, before it is copied to the database. Such transactions are not counted.
///
/// Returns None if there is nothing to be copied.
pub(super) async fn of_set_up(
    connection: &mut SqliteConnection,
    connector: &SqliteConnector,
) -> Result<Option<Position>, SqlError> {
    let path = note::path_of(&connector.location);
    let noted = note::read(&path);
    let is_durable = connector.synchronous == Synchronous::Full;
    let Some(found) = find(connection, is_durable).await? else {
        return Ok(None);
    };
    // What does not fit stays for the one that compares them.
    let fits = |noted: &Note| noted.database == found.database && noted.commits <= found.commits;
    if !noted.as_ref().is_none_or(fits) {
        return Ok(None);
    }
    let position = Position::of(found, noted.as_ref(), path, connection, connector).await?;
    Ok((position.note.log.frames > 0).then_some(position))
}

/// Returns the end of what is committed, safe if it has to be.
async fn end_of(
    log: &LogFile,
    connection: &mut SqliteConnection,
    is_durable: bool,
) -> Result<LogEnd, SqlError> {
    let header = || log.header().map_err(unreadable);
    // Somebody may begin it anew between the looks.
    for _ in 0..3 {
        let Some(before) = header()? else {
            break;
        };
        let frames = log::frames(connection).await?;
        if header()? != Some(before) {
            continue;
        }
        if is_durable && frames > 0 {
            let log = log.clone();
            blocking(move || log.sync().map_err(unreadable)).await?;
        }
        return Ok(LogEnd {
            salts: before.salts,
            frames,
        });
    }
    Ok(LogEnd::default())
}

/// Returns the position of the database; `None` if the database does not count its transactions.
async fn find(
    connection: &mut SqliteConnection,
    is_durable: bool,
) -> Result<Option<Note>, SqlError> {
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
        log: LogEnd::default(),
        is_copied: false,
    }))
}

/// Begins to count transactions; leaves a count that another process begins meanwhile as it is.
async fn count_anew(connection: &mut SqliteConnection, is_durable: bool) -> Result<Note, SqlError> {
    sqlx::raw_sql(queries::COUNT_ANEW)
        .execute(&mut *connection)
        .await?;
    let found = find(connection, is_durable).await?;
    found.ok_or_else(|| {
        SqlError::corrupt("the table 'actix_persistence_commits' does not count transactions; see what else writes to it")
    })
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, SqlError> + Send + 'static,
) -> Result<T, SqlError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(unreadable(error.into())))
}

fn unreadable(error: io::Error) -> SqlError {
    SqlError::Refused {
        kind: StorageErrorKind::Unavailable,
        message: "the write-ahead log cannot be read; see the system log".to_owned(),
        source: Some(Box::new(error)),
    }
}

fn cannot_note(path: &Path, error: &io::Error) {
    tracing::warn!(
        note = %path.display(),
        error = error as &dyn std::error::Error,
        "it cannot be noted how far the database has come; a lost end of its log would not be found"
    );
}

#[cfg(all(test, unix))]
mod tests;
