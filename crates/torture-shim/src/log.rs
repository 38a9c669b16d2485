//! The log: one record for each operation that has happened, in the order in which they happened.
//!
//! A record is one byte for its kind, the file descriptor in 4 bytes, a number in 8 and the length of what follows in 4,
//! all little-endian; then paths or bytes. `crates/torture` reads it.

use libc::c_int;

/// The operation that has happened.
#[derive(Clone, Copy)]
#[repr(u8)]
pub(crate) enum Happened {
    /// The number holds the flags, the bytes are the path.
    Opened = 1,
    Closed = 2,
    /// The number is the offset.
    Written = 3,
    /// The number is the length afterwards.
    Truncated = 4,
    Synced = 5,
    /// The bytes are the path.
    Unlinked = 6,
    /// The bytes are the old path and then the new one; the number is the length of the old one.
    Renamed = 7,
}

/// A log that is open.
pub(crate) struct Log(c_int);

impl Log {
    /// Opens or makes the log at a path; `None` if there is none and none can be made.
    pub(crate) fn create(path: &std::ffi::CStr) -> Option<Self> {
        let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_APPEND | libc::O_CLOEXEC;
        // SAFETY: the path ends with a zero byte.
        let fd = unsafe {
            libc::syscall(
                libc::SYS_openat,
                libc::AT_FDCWD,
                path.as_ptr(),
                flags,
                0o600,
            )
        };
        (fd >= 0).then_some(Self(fd as c_int))
    }

    /// Ends the process if the log cannot be written: what it says must be all that has happened.
    pub(crate) fn add(&self, what: Happened, fd: c_int, number: u64, bytes: &[u8]) {
        let mut record = Vec::with_capacity(17 + bytes.len());
        record.push(what as u8);
        record.extend(fd.to_le_bytes());
        record.extend(number.to_le_bytes());
        record.extend((bytes.len() as u32).to_le_bytes());
        record.extend(bytes);
        // SAFETY: the pointer and the length are those of the record.
        let written =
            unsafe { libc::syscall(libc::SYS_write, self.0, record.as_ptr(), record.len()) };
        if written != record.len() as i64 {
            std::process::abort();
        }
    }
}
