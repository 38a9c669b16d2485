//! The folder that is watched, and the files of it that are open.

use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::os::unix::ffi::OsStringExt;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use libc::c_int;

use crate::fault::{Class, Fault, Kind};
use crate::log::{Happened, Log};

/// The name of the file that takes commands.
const CONTROL: &[u8] = b"control";
/// The name of the file in which the program writes what it does; no fault meets it.
const MARKS: &[u8] = b"marks";

/// The purpose of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sort {
    /// The file that takes commands.
    Control,
    /// The file that is recorded, and never fails.
    Marks,
    /// A file of those under test.
    Tested,
}

impl Sort {
    /// Returns the purpose of a file by its name.
    pub(crate) fn of(path: &CStr) -> Self {
        let names = path.to_bytes().rsplit(|byte| *byte == b'/');
        match names.into_iter().next() {
            Some(CONTROL) => Self::Control,
            Some(MARKS) => Self::Marks,
            _ => Self::Tested,
        }
    }
}

/// The state that this library keeps of the process.
pub(crate) struct Watched {
    folder: Option<Vec<u8>>,
    log: Option<Log>,
    /// The sorts of the open files, by descriptor.
    open: HashMap<c_int, Sort>,
    fault: Option<Fault>,
}

static WATCHED: LazyLock<Mutex<Watched>> = LazyLock::new(|| {
    let variable = |name| std::env::var_os(name).map(OsStringExt::into_vec);
    let folder: Option<Vec<u8>> = variable("ACTIX_PERSISTENCE_SHIM_FOLDER");
    let log = variable("ACTIX_PERSISTENCE_SHIM_LOG").and_then(|path| CString::new(path).ok());
    Mutex::new(Watched {
        folder,
        log: log.and_then(|path| Log::create(&path)),
        open: HashMap::new(),
        fault: None,
    })
});

/// Locks the state of the process. No other operation touches any file while the lock is held, so that the log has the
/// order of what happened.
pub(crate) fn watched() -> MutexGuard<'static, Watched> {
    WATCHED.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Watched {
    /// Returns whether a path is in the folder, or is the folder.
    pub(crate) fn covers(&self, path: &CStr) -> bool {
        let Some(folder) = &self.folder else {
            return false;
        };
        match path.to_bytes().strip_prefix(&folder[..]) {
            Some(rest) => rest.is_empty() || rest[0] == b'/',
            None => false,
        }
    }

    /// Returns the purpose of the file of a descriptor, if it is one of the folder.
    pub(crate) fn sort(&self, fd: c_int) -> Option<Sort> {
        self.open.get(&fd).copied()
    }

    /// Returns the way in which the next operation on such a file fails, if it does.
    pub(crate) fn meet(&mut self, class: Class, sort: Option<Sort>) -> Option<Kind> {
        if sort != Some(Sort::Tested) {
            return None;
        }
        self.fault.as_mut()?.meet(class)
    }

    pub(crate) fn add(&self, what: Happened, fd: c_int, number: u64, bytes: &[u8]) {
        if let Some(log) = &self.log {
            log.add(what, fd, number, bytes);
        }
    }

    pub(crate) fn opened(&mut self, fd: c_int, flags: c_int, path: &CStr) {
        let sort = Sort::of(path);
        self.open.insert(fd, sort);
        if sort != Sort::Control {
            self.add(Happened::Opened, fd, flags as u32 as u64, path.to_bytes());
        }
    }

    pub(crate) fn closed(&mut self, fd: c_int) {
        let sort = self.open.remove(&fd);
        if matches!(sort, Some(Sort::Tested | Sort::Marks)) {
            self.add(Happened::Closed, fd, 0, &[]);
        }
    }

    /// Obeys if the descriptor is the one for commands: the answer to the write, or an error.
    pub(crate) fn command(&mut self, fd: c_int, bytes: &[u8]) -> Option<Result<usize, c_int>> {
        if self.sort(fd) != Some(Sort::Control) {
            return None;
        }
        let text = String::from_utf8_lossy(bytes);
        let text = text.trim();
        if text == "exit" {
            // The lock is held: no other thread is between an operation and its record.
            // SAFETY: ends the process, and runs nothing of it any more.
            unsafe { libc::_exit(0) };
        }
        let obeyed = if text == "calm" {
            match self.fault.take() {
                Some(fault) if fault.has_struck() => Ok(()),
                _ => Err(libc::ENODATA),
            }
        } else {
            let fault = text.strip_prefix("fail ").map(str::parse);
            match fault {
                Some(Ok(fault)) => {
                    self.fault = Some(fault);
                    Ok(())
                }
                _ => Err(libc::EINVAL),
            }
        };
        Some(obeyed.map(|()| bytes.len()))
    }
}
