//! The folder of one server, and the lock file that stands for it.

use std::fs::{self, DirBuilder, File, TryLockError};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::account::Account;
use crate::error::ServerError;
use crate::residents;
use crate::watcher::Watcher;

/// The prefix of the names of our folders; nothing else is ever removed.
const PREFIX: &str = "actix-persistence-";
/// The suffix of the names of our lock files.
const SUFFIX: &str = ".server";
/// Held while lock files are made or taken over.
const GATE: &str = "servers.lock";
/// The longest name of the base folder, so that a socket in the folder has a name that fits, with 108 bytes for all of
/// it.
const LONGEST_BASE: usize = 48;

/// The homes of this process.
static CLAIMED: Mutex<Vec<Traces>> = Mutex::new(Vec::new());

/// A folder of its own; gone with everyone in it when dropped.
pub(crate) struct Home {
    traces: Traces,
    /// Locked as long as we live, whatever we die of.
    lock: File,
    /// The watcher; it exists as soon as there is a folder.
    watcher: Option<Watcher>,
}

/// The files and processes that are to be removed.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Traces {
    folder: PathBuf,
    lock: PathBuf,
}

impl Home {
    /// Removes what dead processes left, then makes a folder that this user can use: in `parent`, or in `/tmp` if the
    /// user cannot enter that or its name is too long.
    pub(crate) fn claim(
        locks: &Path,
        parent: &Path,
        name: &str,
        account: Account,
    ) -> Result<Self, ServerError> {
        let action = || format!("keep a lock file in {}", locks.display());
        fs::create_dir_all(locks).map_err(ServerError::io(action()))?;
        let gate = File::create(locks.join(GATE)).map_err(ServerError::io(action()))?;
        gate.lock().map_err(ServerError::io(action()))?;
        sweep(locks).map_err(ServerError::io("remove what a dead process left"))?;

        let base = base(parent, account);
        let prefix = format!("{name}-");
        let (lock, path) = tempfile::Builder::new()
            .prefix(&prefix)
            .suffix(SUFFIX)
            .rand_bytes(8)
            .tempfile_in(locks)
            .and_then(|file| file.keep().map_err(io::Error::from))
            .map_err(ServerError::io(action()))?;
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let mut home = Self {
            traces: Traces {
                folder: base.join(format!("{PREFIX}{stem}")),
                lock: path,
            },
            lock,
            watcher: None,
        };
        // From here on dropping it, or the next owner, removes what there is.
        claimed().push(home.traces.clone());
        home.make(account)?;
        let watcher = Watcher::start(home.folder());
        home.watcher = Some(watcher.map_err(ServerError::io("run a shell that watches over us"))?);
        Ok(home)
    }

    /// Returns the path of the folder.
    pub(crate) fn folder(&self) -> &Path {
        &self.traces.folder
    }

    fn make(&self, account: Account) -> Result<(), ServerError> {
        let folder = &self.traces.folder;
        let action = || format!("make the folder {}", folder.display());
        let mut lock = &self.lock;
        // Written first: a folder that no lock file names would stay for ever.
        lock.lock()
            .and_then(|()| lock.write_all(folder.as_os_str().as_bytes()))
            .and_then(|()| DirBuilder::new().mode(0o700).create(folder))
            .map_err(ServerError::io(action()))?;
        account.own(folder)
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let mut claimed = claimed();
        // Another thread may have removed them all.
        if let Some(at) = claimed.iter().position(|traces| *traces == self.traces) {
            let traces = claimed.swap_remove(at);
            // The next start tries again.
            let _ = traces.remove();
        }
    }
}

impl Traces {
    /// Removes everything, the lock file last: as long as there is something left, it is reported.
    fn remove(&self) -> io::Result<()> {
        residents::kill(&self.folder)?;
        match fs::remove_dir_all(&self.folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        // One that was just being born.
        residents::kill(&self.folder)?;
        fs::remove_file(&self.lock)
    }
}

/// Kills every server that this process has started and removes its data.
///
/// For a program that is about to exit without dropping them, at an interrupt for example.
pub fn remove_all() {
    let mut claimed = claimed();
    for traces in claimed.drain(..) {
        // The next start of a server in the same folder tries again.
        let _ = traces.remove();
    }
}

fn claimed() -> MutexGuard<'static, Vec<Traces>> {
    CLAIMED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes the homes whose owners are dead.
fn sweep(locks: &Path) -> io::Result<()> {
    for entry in fs::read_dir(locks)? {
        let path = entry?.path();
        let is_ours = path
            .file_name()
            .is_some_and(|name| name.as_bytes().ends_with(SUFFIX.as_bytes()));
        if !is_ours {
            continue;
        }
        // One that another user made is theirs to remove.
        let Ok(lock) = File::open(&path) else {
            continue;
        };
        match lock.try_lock() {
            Ok(()) => remove_left_by_dead(path)?,
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Ok(())
}

fn remove_left_by_dead(lock: PathBuf) -> io::Result<()> {
    let folder = PathBuf::from(fs::read_to_string(&lock)?);
    let name = folder.file_name().unwrap_or_default();
    if folder.is_absolute() && name.as_bytes().starts_with(PREFIX.as_bytes()) {
        Traces { folder, lock }.remove()
    } else {
        // Its owner died before it wrote the name.
        fs::remove_file(lock)
    }
}

fn base(parent: &Path, account: Account) -> &Path {
    let fits = parent.is_absolute() && parent.as_os_str().len() <= LONGEST_BASE;
    if fits && account.reaches(parent) {
        parent
    } else {
        Path::new("/tmp")
    }
}

#[cfg(test)]
mod tests {
    use std::env;
    use std::process::Command;

    use super::*;

    fn claim(locks: &Path) -> Result<Home, ServerError> {
        Home::claim(locks, &env::temp_dir(), "postgres", Account::Ours)
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_home_is_told_of_while_it_is_used_and_gone_after() {
        let locks = tempfile::tempdir().unwrap();
        let home = claim(locks.path()).unwrap();
        let folder = home.folder().to_path_buf();
        assert!(folder.is_dir());
        assert_eq!(
            fs::read_to_string(&home.traces.lock).unwrap(),
            folder.to_str().unwrap()
        );
        drop(home);
        assert!(!folder.exists());
        assert_eq!(names(locks.path()), [GATE]);
    }

    #[test]
    fn the_home_of_a_living_owner_is_left_alone() {
        let locks = tempfile::tempdir().unwrap();
        let first = claim(locks.path()).unwrap();
        let second = claim(locks.path()).unwrap();
        assert!(first.folder().is_dir());
        assert_ne!(first.folder(), second.folder());
    }

    #[test]
    fn what_a_dead_owner_left_is_killed_and_removed_with_the_next_claim() {
        let locks = tempfile::tempdir().unwrap();
        let temp = tempfile::tempdir().unwrap();
        let folder = temp.path().join("actix-persistence-dead");
        fs::create_dir(&folder).unwrap();
        let mut command = Command::new("sleep");
        let mut left = command.arg("1000").current_dir(&folder).spawn().unwrap();
        fs::write(locks.path().join("dead.server"), folder.to_str().unwrap()).unwrap();

        drop(claim(locks.path()).unwrap());

        assert!(!left.wait().unwrap().success());
        assert!(!folder.exists());
        assert_eq!(names(locks.path()), [GATE]);
    }

    #[test]
    fn a_lock_file_that_names_no_home_removes_nothing_but_itself() {
        let locks = tempfile::tempdir().unwrap();
        let precious = tempfile::tempdir().unwrap();
        let text = precious.path().to_str().unwrap();
        fs::write(locks.path().join("a.server"), text).unwrap();
        fs::write(locks.path().join("b.server"), "").unwrap();
        drop(claim(locks.path()).unwrap());
        assert!(precious.path().is_dir());
        assert_eq!(names(locks.path()), [GATE]);
    }
}
