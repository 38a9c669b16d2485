//! The file with the note of a database, written by the connection that writes and by the one that copies the log.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::note::{self, LogEnd, Note};

/// The file of a note; clones write the same one.
#[derive(Clone, Debug)]
pub(in crate::connection) struct NoteFile(Arc<Mutex<Noted>>);

#[derive(Debug)]
struct Noted {
    /// `None` if it cannot be written.
    file: Option<Arc<File>>,
    path: PathBuf,
    note: Note,
}

impl NoteFile {
    /// Makes the file if it is not there, and writes nothing.
    pub(super) fn create(path: PathBuf, note: Note) -> Self {
        let file = note::create(&path).inspect_err(|error| cannot_note(&path, error));
        let file = file.ok().map(Arc::new);
        Self(Arc::new(Mutex::new(Noted { file, path, note })))
    }

    pub(super) fn write(&self) {
        self.lock().write();
    }

    /// Notes one more transaction, and the end of the log.
    pub(super) fn committed(&self, log: LogEnd) {
        let mut noted = self.lock();
        noted.note.commits += 1;
        noted.note.log = log;
        noted.write();
    }

    /// Notes that the log is being copied to the database, and makes the note safe: what is written from now on looks like
    /// complete transactions.
    pub(in crate::connection) async fn copying(&self) {
        let Some(file) = self.begin_copying() else {
            return;
        };
        let synced = tokio::task::spawn_blocking(move || file.sync_data());
        if let Err(error) = synced.await.unwrap_or_else(|error| Err(error.into())) {
            cannot_note(&self.lock().path, &error);
        }
    }

    /// Returns the file, if it has to be made safe.
    fn begin_copying(&self) -> Option<Arc<File>> {
        let mut noted = self.lock();
        if noted.note.log.frames == 0 {
            return None;
        }
        noted.note.is_copied = true;
        noted.write();
        noted.file.clone().filter(|_| noted.note.is_durable)
    }

    /// Notes that what is copied of the log is whole.
    pub(in crate::connection) fn copied(&self) {
        let mut noted = self.lock();
        noted.note.is_copied = false;
        noted.write();
    }

    fn lock(&self) -> MutexGuard<'_, Noted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Noted {
    /// Writes the note; a failure does not affect what was committed.
    fn write(&mut self) {
        let Some(file) = self.file.as_deref() else {
            return;
        };
        if let Err(error) = note::write(file, &self.note) {
            cannot_note(&self.path, &error);
            self.file = None;
        }
    }
}

pub(super) fn cannot_note(path: &Path, error: &io::Error) {
    tracing::warn!(
        note = %path.display(),
        error = error as &dyn std::error::Error,
        "it cannot be noted how far the database has come; a lost end of its log would not be found"
    );
}
