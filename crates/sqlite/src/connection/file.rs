//! The database file itself: made with narrow permissions, recognised again.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};

use actix_persistence_storage_api::StorageErrorKind;

use crate::options::{Location, Mode};
use actix_persistence_sql::Fault;

/// Tells one file from another under the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileId {
    #[cfg(unix)]
    device_and_inode: (u64, u64),
}

impl FileId {
    pub(super) fn of(location: &Location) -> Result<Self, Fault> {
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
/// gives the files beside it the same permissions.
pub(super) fn prepare(location: &Location, auto_initialize: bool) -> Result<(), Fault> {
    let path = &location.path;
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => {
            return Err(Fault::refused(
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
        return Err(Fault::refused(
            StorageErrorKind::AccessDenied,
            format!(
                "the directory {} does not exist; make it, or change 'url'",
                directory.display()
            ),
        ));
    }
    if !auto_initialize || location.mode != Mode::Create {
        return Err(Fault::refused(
            StorageErrorKind::SchemaMismatch,
            format!(
                "there is no database {}; set 'auto-initialize = true' without another 'mode' than 'rwc' in 'url', \
                 or make it yourself",
                path.display()
            ),
        ));
    }
    match create(location) {
        Ok(_) => Ok(()),
        // Somebody else initialises the same database.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => {
            let advice = "cannot be made; allow writing to its directory, or change 'url'";
            Err(refused(
                StorageErrorKind::AccessDenied,
                location,
                advice,
                error,
            ))
        }
    }
}

fn create(location: &Location) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(&location.path)
}

fn refused(kind: StorageErrorKind, location: &Location, advice: &str, error: io::Error) -> Fault {
    Fault::Refused {
        kind,
        message: format!("{} {advice}", location.path.display()),
        source: Some(Box::new(error)),
    }
}
