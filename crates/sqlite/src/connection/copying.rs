//! Copying the whole database to another file while it is in use.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use actix_persistence_sql::{Connector, Role, SqlError};
use actix_persistence_storage_api::StorageErrorKind;
use tokio::task::spawn_blocking;

use super::{SqliteConnector, file};
use crate::queries;

impl SqliteConnector {
    /// Copies the database as of one moment to a file that is not there yet, and returns the size of the copy.
    pub(crate) async fn copy_to(&self, to: &Path) -> Result<u64, SqlError> {
        let to = std::path::absolute(to).map_err(|error| cannot_be_made(to, error))?;
        let place = to.clone();
        let part = on_disk(move || Part::of(&place)).await?;
        self.copy_into(&part).await?;
        on_disk(move || part.finish(&to)).await
    }

    async fn copy_into(&self, part: &Part) -> Result<(), SqlError> {
        let Some(name) = part.path.to_str() else {
            let message = format!(
                "{} is not in UTF-8; choose another name",
                part.path.display()
            );
            return Err(SqlError::refused(StorageErrorKind::Unsupported, message));
        };
        // A connection of its own: those of the stores would be missed for as long as it takes.
        let mut open = self.open(Role::Reader).await?;
        let copied = copy(&mut open.connection, name).await;
        self.close(open, Role::Reader).await;
        copied
    }
}

async fn copy(connection: &mut sqlx::SqliteConnection, name: &str) -> Result<(), SqlError> {
    // Of the copy: this connection is used for nothing else.
    let allow = sqlx::query(queries::ALLOW_WRITING);
    allow.execute(&mut *connection).await?;
    let copy = sqlx::query(queries::COPY_INTO).bind(name);
    copy.execute(&mut *connection).await?;
    Ok(())
}

/// A copy that is not whole yet; dropped, it is removed.
struct Part {
    path: PathBuf,
}

impl Part {
    /// Makes the file, empty, beside that with the name of the copy.
    fn of(to: &Path) -> Result<Self, SqlError> {
        expect_none(to)?;
        let mut path = OsString::from(to);
        path.push(format!(".{:016x}.part", fastrand::u64(..)));
        let path = PathBuf::from(path);
        match file::create(&path) {
            Ok(_) => Ok(Self { path }),
            Err(error) => Err(cannot_be_made(&path, error)),
        }
    }

    /// Brings the copy to the disk, gives it its name, and returns its size.
    fn finish(self, to: &Path) -> Result<u64, SqlError> {
        let finished = || {
            let file = File::open(&self.path)?;
            file.sync_all()?;
            let bytes = file.metadata()?.len();
            std::fs::rename(&self.path, to)?;
            sync_directory(to)?;
            Ok(bytes)
        };
        expect_none(to)?;
        finished().map_err(|error| cannot_be_made(to, error))
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // It has another name if it is whole.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Makes the new name durable.
#[cfg(unix)]
fn sync_directory(of: &Path) -> io::Result<()> {
    match of.parent() {
        Some(directory) => File::open(directory)?.sync_all(),
        None => Ok(()),
    }
}

/// Does nothing: other systems cannot sync a directory.
#[cfg(not(unix))]
fn sync_directory(_: &Path) -> io::Result<()> {
    Ok(())
}

fn expect_none(to: &Path) -> Result<(), SqlError> {
    match to.symlink_metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(cannot_be_made(to, error)),
        Ok(_) => {
            let message = format!("there is a file {}; choose another name", to.display());
            Err(SqlError::refused(StorageErrorKind::Unsupported, message))
        }
    }
}

fn cannot_be_made(to: &Path, error: io::Error) -> SqlError {
    let kind = match file::cannot_be_made(error.kind()).0 {
        // Of another disk than the store's.
        StorageErrorKind::Unavailable => StorageErrorKind::Backend,
        kind => kind,
    };
    SqlError::Refused {
        kind,
        message: format!("the copy {} cannot be made", to.display()),
        source: Some(error.into()),
    }
}

/// Runs work that waits for the disk.
async fn on_disk<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, SqlError> + Send + 'static,
) -> Result<T, SqlError> {
    match spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => Err(SqlError::Refused {
            kind: StorageErrorKind::Unavailable,
            message: "the runtime of the stores has ended".to_owned(),
            source: Some(error.into()),
        }),
    }
}
