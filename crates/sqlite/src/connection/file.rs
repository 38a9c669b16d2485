//! The database file itself: made with narrow permissions, recognised again.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use actix_persistence_storage_api::StorageErrorKind;

use crate::error::{self, Doubt};
use crate::options::{Location, Mode};
use actix_persistence_sql::SqlError;

/// Distinguishes one file from another under the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileId {
    #[cfg(unix)]
    device_and_inode: (u64, u64),
}

impl FileId {
    pub(super) fn of(location: &Location) -> Result<Self, SqlError> {
        let metadata = std::fs::metadata(&location.path).map_err(|error| {
            refused(
                StorageErrorKind::AccessDenied,
                location,
                "is gone or out of reach; put it back",
                error,
            )
        })?;
        Ok(Self::from(&metadata))
    }
}

#[cfg(unix)]
impl From<&std::fs::Metadata> for FileId {
    fn from(metadata: &std::fs::Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self {
            device_and_inode: (metadata.dev(), metadata.ino()),
        }
    }
}

/// Elsewhere an open file cannot be replaced.
#[cfg(not(unix))]
impl From<&std::fs::Metadata> for FileId {
    fn from(_: &std::fs::Metadata) -> Self {
        Self {}
    }
}

/// Says what SQLite would only call "unable to open", and makes a missing file readable for its owner alone; SQLite
/// creates the files beside it with the same permissions.
pub(super) fn prepare(location: &Location, auto_initialize: bool) -> Result<(), SqlError> {
    let path = &location.path;
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => {
            return Err(SqlError::refused(
                StorageErrorKind::AccessDenied,
                format!("{} is a directory; name a file in 'url'", path.display()),
            ));
        }
        Ok(_) => return Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => {
            let advice = "cannot be looked at; check 'url' and the permissions of its directories";
            return Err(refused(
                StorageErrorKind::AccessDenied,
                location,
                advice,
                error,
            ));
        }
    }
    if let Some(directory) = path.parent().filter(|directory| !directory.is_dir()) {
        return Err(SqlError::refused(
            StorageErrorKind::AccessDenied,
            format!(
                "the directory {} does not exist; make it, or change 'url'",
                directory.display()
            ),
        ));
    }
    if !auto_initialize || location.mode != Mode::Create {
        return Err(SqlError::refused(
            StorageErrorKind::SchemaMismatch,
            format!(
                "there is no database {}; set 'auto-initialize = true' without another 'mode' than 'rwc' in 'url', \
                 or make it yourself",
                path.display()
            ),
        ));
    }
    match create(path) {
        Ok(_) => Ok(()),
        // Somebody else initialises the same database.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => {
            let (kind, advice) = cannot_be_made(error.kind());
            Err(refused(kind, location, advice, error))
        }
    }
}

/// Returns what is wrong if a file cannot be made or opened. One error of a disk, and a full one, will pass;
/// permissions will not.
pub(super) fn cannot_be_made(error: ErrorKind) -> (StorageErrorKind, &'static str) {
    match error {
        ErrorKind::PermissionDenied
        | ErrorKind::ReadOnlyFilesystem
        | ErrorKind::InvalidFilename
        | ErrorKind::NotFound
        | ErrorKind::NotADirectory
        | ErrorKind::IsADirectory => (
            StorageErrorKind::AccessDenied,
            "cannot be made; allow writing to its directory, or change 'url'",
        ),
        _ => (
            StorageErrorKind::Unavailable,
            "cannot be made; see whether the disk is full, whether too many files are open, and the system log",
        ),
    }
}

/// Returns the error of opening a database, judged by the files themselves: an error for which they show no reason
/// will pass.
pub(super) fn look_again(location: &Location, error: SqlError) -> SqlError {
    let is_lasting = match error::doubt(&error) {
        Some(Doubt::Access) => location.mode == Mode::ReadOnly || !may_be_written(location),
        Some(Doubt::Header) => !begins_like_a_database(location),
        Some(Doubt::Damage) | None => true,
    };
    if is_lasting {
        return error;
    }
    let message = "the database could not be opened, although its file is as it should be; see whether the disk is full, \
         whether too many files are open, and the system log";
    SqlError::Refused {
        kind: StorageErrorKind::Unavailable,
        message: message.to_owned(),
        source: match error {
            SqlError::Driver(error) => Some(error.into()),
            _ => None,
        },
    }
}

/// Returns whether the files that are there can be opened for writing; nothing is known of those that SQLite would have
/// to make.
fn may_be_written(location: &Location) -> bool {
    let may_open = |end: &str| {
        let mut path = location.path.clone().into_os_string();
        path.push(end);
        match may_open_to_write(Path::new(&path)) {
            Ok(()) => true,
            Err(error) if error.kind() == ErrorKind::NotFound => !end.is_empty(),
            // An error of the disk meets us as it met SQLite: it says nothing of permissions.
            Err(error) => cannot_be_made(error.kind()).0 != StorageErrorKind::AccessDenied,
        }
    };
    let directory = location.path.parent().map(std::fs::metadata);
    let is_closed = matches!(directory, Some(Ok(directory)) if directory.permissions().readonly());
    !is_closed && ["", "-wal", "-shm"].into_iter().all(may_open)
}

/// Fails unless this process may read and write the file. Asks the system and does not open the file: a process that
/// closes a file loses all its locks on it, even those of SQLite's connections. See "Posix advisory locks canceled" in
/// <https://www.sqlite.org/howtocorrupt.html>.
#[cfg(unix)]
fn may_open_to_write(path: &Path) -> io::Result<()> {
    use rustix::fs::{Access, AtFlags, CWD, accessat};
    let access = Access::READ_OK | Access::WRITE_OK;
    Ok(accessat(CWD, path, access, AtFlags::EACCESS)?)
}

/// Opens the file and closes it again: on other systems the other handles of it keep their locks.
#[cfg(not(unix))]
fn may_open_to_write(path: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).open(path).map(drop)
}

/// Returns whether the file begins as <https://www.sqlite.org/fileformat2.html#magic_header_string> says; a new file is
/// empty.
fn begins_like_a_database(location: &Location) -> bool {
    const HEADER: &[u8] = b"SQLite format 3\0";
    let begin = first_bytes(&location.path, HEADER.len());
    begin.is_ok_and(|begin| begin.is_empty() || begin == HEADER)
}

/// Reads the beginning of a file, which stays open from then on, once for each file: closing it would take away the locks
/// that other connections of this process have on it.
fn first_bytes(path: &Path, count: usize) -> io::Result<Vec<u8>> {
    static OPEN: Mutex<Vec<(PathBuf, FileId, File)>> = Mutex::new(Vec::new());
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    let id = FileId::from(&std::fs::metadata(path)?);
    let known = |(at, of, _): &(PathBuf, FileId, File)| at == path && *of == id;
    let index = match open.iter().position(known) {
        Some(index) => index,
        None => {
            let file = File::open(path)?;
            open.push((path.to_owned(), id, file));
            open.len() - 1
        }
    };
    let mut file = &open[index].2;
    file.rewind()?;
    let mut begin = Vec::with_capacity(count);
    file.take(count as u64).read_to_end(&mut begin)?;
    Ok(begin)
}

/// Makes a file that is not there yet, readable and writable for its owner alone.
pub(super) fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn refused(
    kind: StorageErrorKind,
    location: &Location,
    advice: &str,
    error: io::Error,
) -> SqlError {
    SqlError::Refused {
        kind,
        message: format!("{} {advice}", location.path.display()),
        source: Some(Box::new(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_a_full_or_failing_disk_does_not_take_is_waited_for() {
        let no_space = io::Error::from(ErrorKind::StorageFull).kind();
        let error_of_disk = io::Error::from_raw_os_error(5).kind();
        for passing in [no_space, error_of_disk, ErrorKind::QuotaExceeded] {
            let (kind, advice) = cannot_be_made(passing);
            assert_eq!(kind, StorageErrorKind::Unavailable, "{passing}");
            assert!(advice.contains("the disk is full"), "{advice}");
        }
        let (kind, _) = cannot_be_made(ErrorKind::PermissionDenied);
        assert_eq!(kind, StorageErrorKind::AccessDenied);
    }
}
