//! Changes to the file system that are still there after a power cut.
//!
//! Syncing a file saves its bytes but not its name: that is an entry of its directory, which is synced separately.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::Path;

use crate::SyncMode;

/// Creates a directory and those above it that are missing.
pub(crate) fn create_directory(path: &Path, sync: SyncMode) -> io::Result<()> {
    let Some(parent) = path.parent() else {
        return Ok(());
    };
    if !path.is_dir() {
        create_directory(parent, sync)?;
        match fs::create_dir(path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists && path.is_dir() => {}
            result => result?,
        }
    }
    // Even if it was there: the process that created it may have been killed before it was durable.
    sync_directory(parent, sync)
}

// ANCHOR: write_temporary_and_rename
/// Puts the bytes at `path`, all of them or none, in place of what is there.
///
/// They are collected at `temporary`, on the same file system; a file that a crash left there is overwritten.
/// On an error nothing has changed.
pub(crate) fn write_temporary_and_rename(
    bytes: &[u8],
    temporary: &Path,
    path: &Path,
    sync: SyncMode,
) -> io::Result<()> {
    let mut file = File::create(temporary)?;
    file.write_all(bytes)?;
    // Before the rename: otherwise a power cut may keep the name and lose the bytes.
    sync_file(&file, sync)?;
    fs::rename(temporary, path)
}
// ANCHOR_END: write_temporary_and_rename

/// Waits until the bytes of a file, and its length, are on the disk.
pub(crate) fn sync_file(file: &File, sync: SyncMode) -> io::Result<()> {
    match sync {
        SyncMode::Always => file.sync_all(),
        SyncMode::Never => Ok(()),
    }
}

/// Waits until names that were created, renamed or removed in a directory are on the disk.
pub(crate) fn sync_directory(path: &Path, sync: SyncMode) -> io::Result<()> {
    // Elsewhere directories cannot be opened, and the file system sees to their entries.
    if sync == SyncMode::Never || !cfg!(unix) {
        return Ok(());
    }
    let here = path.as_os_str().is_empty();
    File::open(if here { Path::new(".") } else { path })?.sync_all()
}
