//! Copying the whole database to another file while it is in use.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use actix_persistence_sql::{Connector, Role, SqlError};
use actix_persistence_storage_api::StorageErrorKind;
use tokio::task::spawn_blocking;

use super::{SqliteConnector, file};
use crate::{error, queries};

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
        copied.map_err(|error| of_copy(&part.path, error))
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
        let failed = |error| cannot_be_made(to, error);
        let synced = || {
            let file = File::open(&self.path)?;
            file.sync_all()?;
            Ok((file.metadata()?.len(), Directory::of(to)?))
        };
        let (bytes, directory) = synced().map_err(failed)?;
        self.name(to)?;
        directory.sync().map_err(|error| {
            // Nobody else has it: it was not there before.
            let _ = std::fs::remove_file(to);
            failed(error)
        })?;
        Ok(bytes)
    }

    /// Gives the copy its name; fails if there is a file of that name.
    fn name(&self, to: &Path) -> Result<(), SqlError> {
        match std::fs::hard_link(&self.path, to) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(there_is(to)),
            // Not every file system has links. A file that is made just now is replaced there.
            Err(_) => {
                expect_none(to)?;
                std::fs::rename(&self.path, to).map_err(|error| cannot_be_made(to, error))
            }
        }
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // It has another name, too, if it is whole.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// The directory of a file, opened before the file has its name; `None` on systems that cannot sync a directory.
struct Directory(Option<File>);

impl Directory {
    fn of(file: &Path) -> io::Result<Self> {
        let directory = file.parent().filter(|_| cfg!(unix));
        Ok(Self(directory.map(File::open).transpose()?))
    }

    /// Makes the names in it durable.
    fn sync(&self) -> io::Result<()> {
        self.0.as_ref().map_or(Ok(()), File::sync_all)
    }
}

fn expect_none(to: &Path) -> Result<(), SqlError> {
    match to.symlink_metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(cannot_be_made(to, error)),
        Ok(_) => Err(there_is(to)),
    }
}

fn there_is(to: &Path) -> SqlError {
    let message = format!("there is a file {}; choose another name", to.display());
    SqlError::refused(StorageErrorKind::Unsupported, message)
}

/// Returns the error of a copy whose disk is full, or that cannot be opened, as that of the copy: the journal works.
fn of_copy(part: &Path, error: SqlError) -> SqlError {
    let kind = match error::kind_of_place(&error) {
        Some(StorageErrorKind::Unavailable) => StorageErrorKind::Backend,
        Some(kind) => kind,
        None => return error,
    };
    SqlError::Refused {
        kind,
        message: format!("the copy {} cannot be made", part.display()),
        source: error.into_source(),
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

#[cfg(test)]
mod tests {
    use sqlx::Connection;

    use super::*;

    #[test]
    fn a_file_that_appears_while_a_copy_is_made_is_not_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let to = directory.path().join("copy.db");
        let part = Part::of(&to).unwrap();
        std::fs::write(&to, "of somebody else").unwrap();
        let error = part.name(&to).unwrap_err();
        assert!(
            format!("{error:?}").contains("there is a file"),
            "{error:?}"
        );
        drop(part);
        assert_eq!(std::fs::read(&to).unwrap(), b"of somebody else");
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[tokio::test]
    async fn a_full_disk_of_the_copy_is_no_outage_of_the_journal() {
        let mut connection = sqlx::SqliteConnection::connect(":memory:").await.unwrap();
        let full = "PRAGMA max_page_count = 2; CREATE TABLE t (a); CREATE TABLE u (a)";
        let full = sqlx::raw_sql(full).execute(&mut connection).await;
        let error = of_copy(Path::new("/backups/copy.db.part"), full.unwrap_err().into());
        let SqlError::Refused { kind, message, .. } = error else {
            panic!("{error:?}");
        };
        assert_eq!(kind, StorageErrorKind::Backend);
        assert!(message.contains("/backups/copy.db.part"), "{message}");
    }
}
