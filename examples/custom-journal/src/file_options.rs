//! The options of the stores.

use std::path::{Path, PathBuf};

/// The largest event, and the largest snapshot, that the stores take: bytes of payload.
pub(crate) const MAX_PAYLOAD_BYTES: usize = 16 * 1024 * 1024;

/// The place of the files, and the care with which they are written.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileOptions {
    /// The directory of the files; a journal and a snapshot store may share one.
    pub directory: PathBuf,
    /// The time at which files are synced.
    pub sync: SyncMode,
}

/// Says whether a call returns before what it changed is on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum SyncMode {
    /// Every call that changes something waits for the disk: what it stored survives a power cut.
    #[default]
    Always,
    /// Writes do not wait for the disk, as tests and caches may prefer.
    ///
    /// Everything still survives the end of the process, by `kill -9` too.
    /// A power cut or a crash of the operating system loses what it had not written by itself, often the last 30
    /// seconds; and because it writes in any order, the journal may then be damaged in the middle and be refused.
    Never,
}

impl FileOptions {
    /// Files below this directory, synced always. It is created when a store is initialised.
    pub fn new(directory: impl AsRef<Path>) -> Self {
        Self {
            directory: directory.as_ref().to_owned(),
            sync: SyncMode::default(),
        }
    }

    /// The same, synced otherwise.
    #[must_use]
    pub fn with_sync(mut self, sync: SyncMode) -> Self {
        self.sync = sync;
        self
    }
}
