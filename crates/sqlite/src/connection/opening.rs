//! Opening a connection, and checking that it is what durability needs.

use actix_persistence_storage_api::StorageErrorKind;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteLockingMode, SqliteSynchronous};
use sqlx::{ConnectOptions, SqliteConnection};

use actix_persistence_sql::{Role, SqlError};

use super::SqliteConnector;
use crate::options::{Location, Mode, Synchronous};
use crate::queries;

/// The oldest version; before it, concurrent checkpoints could damage a database:
/// <https://www.sqlite.org/wal.html#walreset>.
const OLDEST_SQLITE: [u32; 3] = [3, 51, 3];

/// The number of rows on their way from the connection's thread: enough that a query of rows with one event each does not
/// wake two threads for each of them. A row of a replay holds many events, and its page has fewer rows.
const ROWS_AHEAD: usize = 32;
/// The same for a connection that writes: each statement of a text has a result, for which none after it must wait.
const RESULTS_AHEAD: usize = 8;

/// The number of statements that a connection keeps, which is what the driver has by default.
const STATEMENTS: usize = 100;

pub(super) async fn open(
    settings: &SqliteConnector,
    role: Role,
) -> Result<SqliteConnection, SqlError> {
    let options = match &settings.pool {
        Some(pool) => fit_to_share(&pool.connect_options()),
        None => SqliteConnectOptions::new(),
    };
    let options = match role {
        // What takes back a statement that fails in its middle is a file otherwise, for each group of events that changes more
        // than 64 KiB: then a full disk of temporary files fails writes. What others sort may be large.
        // https://www.sqlite.org/tempfiles.html#statement_journal_files
        Role::Writer => options.pragma("temp_store", "MEMORY"),
        Role::SetUp { .. } | Role::Reader => options,
    };
    let options = options
        .filename(&settings.location.path)
        // The file is made before, with permissions of our choice: see `file::prepare`.
        .create_if_missing(false)
        .read_only(settings.location.mode == Mode::ReadOnly)
        .busy_timeout(settings.busy_timeout)
        .synchronous(match settings.synchronous {
            Synchronous::Full => SqliteSynchronous::Full,
            Synchronous::Normal => SqliteSynchronous::Normal,
        })
        // The schema may come from another program: it gets no say, and damaged pages are found early.
        // https://www.sqlite.org/security.html
        .pragma("trusted_schema", "OFF")
        .pragma("cell_size_check", "ON")
        // On macOS an ordinary sync leaves data in the disk's cache; covers checkpoints too, so readers set it as well:
        // the last connection that closes makes one. https://www.sqlite.org/pragma.html#pragma_fullfsync
        .pragma("fullfsync", switch(settings.synchronous.flushes_the_disk()))
        .pragma("query_only", switch(role == Role::Reader))
        // The writer copies the log after it has noted the end of what was confirmed: see `position`.
        .pragma("wal_autocheckpoint", "0")
        // Where SQLite begins the log anew by itself, it keeps no more of the old one.
        .pragma("journal_size_limit", settings.max_log_bytes.to_string())
        .row_buffer_size(match role {
            Role::Reader => ROWS_AHEAD,
            Role::SetUp { .. } | Role::Writer => RESULTS_AHEAD,
        })
        .disable_statement_logging();
    Ok(options.connect().await?)
}

/// Returns the options of a pool of the application, as connections can have them that share the file with others and keep a
/// write-ahead log. The pool may set its own connections to anything else.
fn fit_to_share(options: &SqliteConnectOptions) -> SqliteConnectOptions {
    options
        .clone()
        .shared_cache(false)
        .locking_mode(SqliteLockingMode::Normal)
        .journal_mode(SqliteJournalMode::Wal)
        .statement_cache_capacity(STATEMENTS)
        .optimize_on_close(false, None)
}

/// Pages of events are put together from texts and blobs, byte by byte, which another encoding would change.
pub(super) async fn check_encoding(connection: &mut SqliteConnection) -> Result<(), SqlError> {
    let encoding: String = sqlx::query_scalar(queries::ENCODING)
        .fetch_one(connection)
        .await?;
    if encoding == "UTF-8" {
        return Ok(());
    }
    let message =
        format!("the database keeps texts as {encoding}; name a database in UTF-8 in 'url'");
    Err(SqlError::refused(StorageErrorKind::SchemaMismatch, message))
}

/// Fails if the database has only a part of what was copied from a log that is gone.
pub(super) async fn check_pages(
    connection: &mut SqliteConnection,
    location: &Location,
) -> Result<(), SqlError> {
    let database = location.path.display();
    tracing::warn!(
        %database,
        "a program has ended before it had copied the whole write-ahead log to the database, and that log is gone; all pages \
         of the database are checked now, which takes longer the larger it is"
    );
    let found: String = sqlx::query_scalar(queries::CHECK_PAGES)
        .fetch_one(connection)
        .await?;
    if found == "ok" {
        return Ok(());
    }
    Err(SqlError::corrupt(format!(
        "a program has ended before it had copied the whole write-ahead log to the database {database}, and that log is \
         gone; put it back, or restore a backup: {found}"
    )))
}

/// The write-ahead log stays set in the file; readers do not wait for the writer then, nor the writer for them.
pub(super) async fn set_write_ahead_log(connection: &mut SqliteConnection) -> Result<(), SqlError> {
    let mode: String = sqlx::query_scalar(queries::SET_WAL)
        .fetch_one(&mut *connection)
        .await?;
    check_write_ahead_log(&mode)
}

/// Fails if the settings did not take hold: SQLite ignores a pragma it cannot obey.
pub(super) async fn check(
    connection: &mut SqliteConnection,
    settings: &SqliteConnector,
    role: Role,
) -> Result<(), SqlError> {
    let mode: String = sqlx::query_scalar(queries::JOURNAL_MODE)
        .fetch_one(&mut *connection)
        .await?;
    check_write_ahead_log(&mode)?;
    if role != Role::Writer {
        return Ok(());
    }
    for (pragma, expected) in [
        (queries::SYNCHRONOUS, settings.synchronous.level()),
        (
            queries::FULLFSYNC,
            settings.synchronous.flushes_the_disk().into(),
        ),
        (queries::TRUSTED_SCHEMA, 0),
        (queries::CELL_SIZE_CHECK, 1),
    ] {
        let found: i64 = sqlx::query_scalar(pragma)
            .fetch_one(&mut *connection)
            .await?;
        if found != expected {
            let message = format!("{pragma} is {found} although it was set to {expected}");
            return Err(SqlError::refused(StorageErrorKind::Unsupported, message));
        }
    }
    Ok(())
}

/// Fails if the SQLite that was linked is not new enough.
pub(super) async fn check_library(connection: &mut SqliteConnection) -> Result<(), SqlError> {
    let version: String = sqlx::query_scalar(queries::SQLITE_VERSION)
        .fetch_one(connection)
        .await?;
    if is_new_enough(&version) {
        return Ok(());
    }
    let [major, minor, patch] = OLDEST_SQLITE;
    let message = format!(
        "SQLite {version} is linked, which may damage databases with a write-ahead log; \
         use {major}.{minor}.{patch} or newer"
    );
    Err(SqlError::refused(StorageErrorKind::Unsupported, message))
}

/// Lets a connection wait for a lock for a short time only, so that its user asks again every few milliseconds.
pub(super) async fn ask_often(connection: &mut SqliteConnection) -> Result<(), SqlError> {
    sqlx::raw_sql(queries::WAIT_HARDLY)
        .execute(connection)
        .await?;
    Ok(())
}

/// Returns the word that switches a pragma on or off.
fn switch(on: bool) -> &'static str {
    if on { "ON" } else { "OFF" }
}

fn check_write_ahead_log(mode: &str) -> Result<(), SqlError> {
    if mode.eq_ignore_ascii_case("wal") {
        return Ok(());
    }
    // SQLite does not say why: a full disk and one error of a disk look like a file system without shared memory.
    let message = format!(
        "the database is in journal mode '{mode}' and did not get a write-ahead log; see whether the disk is full, and the \
         system log, and if it stays so put the database on a local disk"
    );
    Err(SqlError::refused(StorageErrorKind::Unavailable, message))
}

fn is_new_enough(version: &str) -> bool {
    let mut parts = version.split('.').map(|part| part.parse().unwrap_or(0));
    let parts: [u32; 3] = std::array::from_fn(|_| parts.next().unwrap_or(0));
    parts >= OLDEST_SQLITE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_that_a_full_disk_does_not_take_is_waited_for() {
        let error = check_write_ahead_log("delete").unwrap_err();
        let SqlError::Refused { kind, message, .. } = error else {
            panic!("{error:?}");
        };
        assert_eq!(kind, StorageErrorKind::Unavailable);
        let [full, local] = ["see whether the disk is full", "on a local disk"].map(|advice| {
            let place = message.find(advice);
            place.unwrap_or_else(|| panic!("{advice}: {message}"))
        });
        assert!(full < local, "{message}");
        assert!(check_write_ahead_log("WAL").is_ok());
    }

    #[test]
    fn compares_versions_part_by_part() {
        for good in ["3.51.3", "3.51.10", "3.52.0", "4.0", "3.100.0"] {
            assert!(is_new_enough(good), "{good}");
        }
        for bad in ["3.51.2", "3.46.0", "3.51", "3.9.9", "", "x.y.z"] {
            assert!(!is_new_enough(bad), "{bad}");
        }
    }
}
