//! The directory of the stores, which belongs to one process.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, Weak};

use actix_persistence_storage_api::{Operation, StorageError, StorageErrorKind};
use tokio::sync::{OwnedMutexGuard, RwLock};

use crate::blocking::blocking;
use crate::durable_fs::create_directory;
use crate::failure::Failure;
use crate::log::Log;
use crate::{FileOptions, SyncMode};

/// An open directory: within a process there is one for each, shared by all stores; other processes are locked out.
///
/// Two processes with an index each would not see what the other writes, and use one number twice.
pub(crate) struct Directory {
    path: PathBuf,
    lock: File,
    log: Mutex<Option<Log>>,
    log_turn: Arc<tokio::sync::Mutex<()>>,
    /// Held to read while snapshots are loaded, and to write while they are saved or deleted.
    pub(crate) snapshots: Arc<RwLock<()>>,
    state_turn: Arc<tokio::sync::Mutex<()>>,
}

/// The open directories of this process. An entry goes when its directory has given up the lock.
static OPEN: Mutex<BTreeMap<PathBuf, Weak<Directory>>> = Mutex::new(BTreeMap::new());
/// Notified when an entry goes.
static CLOSED: Condvar = Condvar::new();

impl Directory {
    // ANCHOR: open
    /// Opens a directory, which is created if there is none.
    pub(crate) fn open(path: &Path, sync: SyncMode) -> Result<Arc<Self>, Failure> {
        let unusable = |error| Failure::io(format!("{} cannot be used", path.display()), error);
        create_directory(path, sync).map_err(unusable)?;
        let path = fs::canonicalize(path).map_err(unusable)?;
        let mut open = open_directories();
        while let Some(known) = open.get(&path) {
            if let Some(directory) = known.upgrade() {
                return Ok(directory);
            }
            // Its last user has just gone, and it is about to release the lock.
            open = CLOSED
                .wait(open)
                .expect("nothing panics while it holds the lock");
        }
        let directory = Arc::new(Self {
            lock: lock(&path)?,
            log: Mutex::default(),
            log_turn: Arc::default(),
            snapshots: Arc::default(),
            state_turn: Arc::default(),
            path: path.clone(),
        });
        open.insert(path, Arc::downgrade(&directory));
        Ok(directory)
    }
    // ANCHOR_END: open

    /// Opens the directory of a store; called again, it is the same one.
    pub(crate) async fn initialize(
        directory: &OnceLock<Arc<Self>>,
        options: &FileOptions,
    ) -> Result<(), StorageError> {
        let options = options.clone();
        let opened = blocking(Operation::Initialize, move || {
            Self::open(&options.directory, options.sync)
        })
        .await?;
        directory.get_or_init(|| opened);
        Ok(())
    }

    /// The directory that a store has opened.
    pub(crate) fn opened(directory: &OnceLock<Arc<Self>>) -> Result<Arc<Self>, Failure> {
        directory.get().cloned().ok_or_else(|| {
            let message = "the store is not open, call initialize before anything else";
            Failure::new(StorageErrorKind::Unavailable, message)
        })
    }

    /// Returns the path of the folder.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the journal's log, if it is not open yet.
    pub(crate) fn open_log(&self, sync: SyncMode) -> Result<(), Failure> {
        let mut log = self.lock_log();
        if log.is_none() {
            *log = Some(Log::open(&self.path, sync)?);
        }
        Ok(())
    }

    /// Waits for the turn to work on the journal's log; turns come in the order of asking.
    pub(crate) async fn log_turn(&self) -> OwnedMutexGuard<()> {
        Arc::clone(&self.log_turn).lock_owned().await
    }

    /// Waits for the turn to work on the states; turns come in the order of asking.
    pub(crate) async fn state_turn(&self) -> OwnedMutexGuard<()> {
        Arc::clone(&self.state_turn).lock_owned().await
    }

    /// Works on the journal's log; calls follow one another.
    pub(crate) fn with_log<T>(
        &self,
        work: impl FnOnce(&mut Log) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let mut log = self.lock_log();
        work(log.as_mut().expect("initialising has opened it"))
    }

    /// Locks the log. After a panic the file and the index cannot be trusted: then every call fails.
    fn lock_log(&self) -> MutexGuard<'_, Option<Log>> {
        self.log
            .lock()
            .expect("no earlier call on the journal's log has panicked")
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let mut open = open_directories();
        // Not left to the closing of the file, which comes after the entry has gone. If it fails the lock goes then.
        let _ = self.lock.unlock();
        open.remove(&self.path);
        CLOSED.notify_all();
    }
}

fn open_directories() -> MutexGuard<'static, BTreeMap<PathBuf, Weak<Directory>>> {
    OPEN.lock().expect("nothing panics while it holds the lock")
}

/// Takes the lock that keeps other processes out; the system releases it when this one ends, however it ends.
fn lock(directory: &Path) -> Result<File, Failure> {
    let path = directory.join("lock");
    let unusable = |error| Failure::io(format!("{} cannot be locked", path.display()), error);
    let mut options = File::options();
    let mut file = options
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .map_err(unusable)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(in_use(directory, &path)),
        Err(TryLockError::Error(error)) => return Err(unusable(error)),
    }
    // For people only: who holds the lock is known to the system, whatever the file says.
    let _ = file
        .set_len(0)
        .and_then(|()| writeln!(file, "{}", std::process::id()));
    Ok(file)
}

/// Waiting may help, so that a process can take over when the one before it ends.
fn in_use(directory: &Path, lock: &Path) -> Failure {
    let holder = fs::read_to_string(lock).unwrap_or_default();
    let holder = match holder.trim() {
        "" => "another process".to_owned(),
        id => format!("process {id}"),
    };
    let directory = directory.display();
    Failure::new(
        StorageErrorKind::Unavailable,
        format!("{directory} is in use by {holder}, end that one or choose another directory"),
    )
}
