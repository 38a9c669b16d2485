//! The functions of the C library that are replaced.
//!
//! Each does the work by a system call of its own, and so does not need the function it stands for. Those with a variable
//! number of arguments are declared with the one that there may be: on Linux it comes in the same register.

use std::ffi::CStr;

use libc::{c_char, c_int, c_long, c_void, mode_t, off_t, size_t, ssize_t};

use crate::fault::{Class, Kind};
use crate::log::Happened;
use crate::watched::{Sort, Watched, watched};

/// Fails as a function of the C library does.
fn fail(errno: c_int) -> c_int {
    // SAFETY: the location is that of this thread.
    unsafe { *libc::__errno_location() = errno };
    -1
}

/// # Safety
/// `path` ends with a zero byte.
unsafe fn open_at(folder: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    // SAFETY: as the caller says.
    let name = unsafe { CStr::from_ptr(path) };
    let mut watched = watched();
    let is_ours = watched.covers(name);
    if is_ours && let Some(Kind::Errno(errno)) = watched.meet(Class::Open, Some(Sort::of(name))) {
        return fail(errno);
    }
    // SAFETY: as the caller says.
    let fd = unsafe { libc::syscall(libc::SYS_openat, folder, path, flags, mode) } as c_int;
    if is_ours && fd >= 0 {
        watched.opened(fd, flags, name);
    }
    fd
}

#[unsafe(no_mangle)]
unsafe extern "C" fn open(path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    // SAFETY: as the caller says.
    unsafe { open_at(libc::AT_FDCWD, path, flags, mode) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn open64(path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    // SAFETY: as the caller says.
    unsafe { open_at(libc::AT_FDCWD, path, flags | libc::O_LARGEFILE, mode) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn openat(
    folder: c_int,
    path: *const c_char,
    flags: c_int,
    mode: mode_t,
) -> c_int {
    // SAFETY: as the caller says.
    unsafe { open_at(folder, path, flags, mode) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn openat64(
    folder: c_int,
    path: *const c_char,
    flags: c_int,
    mode: mode_t,
) -> c_int {
    // SAFETY: as the caller says.
    unsafe { open_at(folder, path, flags | libc::O_LARGEFILE, mode) }
}

#[unsafe(no_mangle)]
extern "C" fn close(fd: c_int) -> c_int {
    let mut watched = watched();
    watched.closed(fd);
    // SAFETY: the caller has the descriptor, and lets go of it.
    unsafe { libc::syscall(libc::SYS_close, fd) as c_int }
}

/// Returns the number of bytes that are let through, or the error.
fn let_through(
    watched: &mut Watched,
    class: Class,
    fd: c_int,
    bytes: size_t,
) -> Result<size_t, c_int> {
    let sort = watched.sort(fd);
    match watched.meet(class, sort) {
        Some(Kind::Errno(errno)) => Err(errno),
        Some(Kind::Short) if bytes > 1 => Ok(bytes / 2),
        Some(Kind::Short) | None => Ok(bytes),
    }
}

/// # Safety
/// At least `count` bytes can be read at `bytes`.
unsafe fn write_at(fd: c_int, bytes: *const c_void, count: size_t, at: Option<off_t>) -> ssize_t {
    let mut watched = watched();
    // SAFETY: as the caller says.
    let whole = unsafe { std::slice::from_raw_parts(bytes.cast::<u8>(), count) };
    match watched.command(fd, whole) {
        Some(Ok(obeyed)) => return obeyed as ssize_t,
        Some(Err(errno)) => return fail(errno) as ssize_t,
        None => {}
    }
    let is_ours = watched.sort(fd).is_some();
    let mut allowed = count;
    if is_ours {
        match let_through(&mut watched, Class::Write, fd, count) {
            Ok(bytes) => allowed = bytes,
            Err(errno) => return fail(errno) as ssize_t,
        }
    }
    let offset = match at {
        Some(at) => at as c_long,
        // SAFETY: needs nothing.
        None if is_ours => unsafe { libc::syscall(libc::SYS_lseek, fd, 0, libc::SEEK_CUR) },
        None => 0,
    };
    // SAFETY: as the caller says.
    let written = unsafe {
        match at {
            Some(at) => libc::syscall(libc::SYS_pwrite64, fd, bytes, allowed, at),
            None => libc::syscall(libc::SYS_write, fd, bytes, allowed),
        }
    };
    if is_ours && written > 0 {
        let whole = &whole[..written as usize];
        watched.add(Happened::Written, fd, offset as u64, whole);
    }
    written as ssize_t
}

#[unsafe(no_mangle)]
unsafe extern "C" fn write(fd: c_int, bytes: *const c_void, count: size_t) -> ssize_t {
    // A pipe may keep a writer waiting: not with the lock held.
    if watched().sort(fd).is_none() {
        // SAFETY: as the caller says.
        return unsafe { libc::syscall(libc::SYS_write, fd, bytes, count) as ssize_t };
    }
    // SAFETY: as the caller says.
    unsafe { write_at(fd, bytes, count, None) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pwrite(fd: c_int, bytes: *const c_void, count: size_t, at: off_t) -> ssize_t {
    // SAFETY: as the caller says.
    unsafe { write_at(fd, bytes, count, Some(at)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pwrite64(
    fd: c_int,
    bytes: *const c_void,
    count: size_t,
    at: off_t,
) -> ssize_t {
    // SAFETY: as the caller says.
    unsafe { write_at(fd, bytes, count, Some(at)) }
}

/// # Safety
/// At least `count` bytes can be written at `bytes`.
unsafe fn read_at(fd: c_int, bytes: *mut c_void, count: size_t, at: off_t) -> ssize_t {
    let allowed = match let_through(&mut watched(), Class::Read, fd, count) {
        Ok(bytes) => bytes,
        Err(errno) => return fail(errno) as ssize_t,
    };
    // SAFETY: as the caller says.
    unsafe { libc::syscall(libc::SYS_pread64, fd, bytes, allowed, at) as ssize_t }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pread(fd: c_int, bytes: *mut c_void, count: size_t, at: off_t) -> ssize_t {
    // SAFETY: as the caller says.
    unsafe { read_at(fd, bytes, count, at) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pread64(fd: c_int, bytes: *mut c_void, count: size_t, at: off_t) -> ssize_t {
    // SAFETY: as the caller says.
    unsafe { read_at(fd, bytes, count, at) }
}

fn sync(fd: c_int, call: c_long) -> c_int {
    let mut watched = watched();
    let sort = watched.sort(fd);
    if let Some(Kind::Errno(errno)) = watched.meet(Class::Sync, sort) {
        return fail(errno);
    }
    // SAFETY: needs nothing.
    let synced = unsafe { libc::syscall(call, fd) } as c_int;
    if sort.is_some() && synced == 0 {
        watched.add(Happened::Synced, fd, 0, &[]);
    }
    synced
}

#[unsafe(no_mangle)]
extern "C" fn fsync(fd: c_int) -> c_int {
    sync(fd, libc::SYS_fsync)
}

#[unsafe(no_mangle)]
extern "C" fn fdatasync(fd: c_int) -> c_int {
    sync(fd, libc::SYS_fdatasync)
}

fn truncate(fd: c_int, length: off_t) -> c_int {
    let mut watched = watched();
    let sort = watched.sort(fd);
    if let Some(Kind::Errno(errno)) = watched.meet(Class::Truncate, sort) {
        return fail(errno);
    }
    // SAFETY: needs nothing.
    let truncated = unsafe { libc::syscall(libc::SYS_ftruncate, fd, length) } as c_int;
    if sort.is_some() && truncated == 0 {
        watched.add(Happened::Truncated, fd, length as u64, &[]);
    }
    truncated
}

#[unsafe(no_mangle)]
extern "C" fn ftruncate(fd: c_int, length: off_t) -> c_int {
    truncate(fd, length)
}

#[unsafe(no_mangle)]
extern "C" fn ftruncate64(fd: c_int, length: off_t) -> c_int {
    truncate(fd, length)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn unlink(path: *const c_char) -> c_int {
    // SAFETY: as the caller says.
    let name = unsafe { CStr::from_ptr(path) };
    let mut watched = watched();
    let is_ours = watched.covers(name);
    if is_ours && let Some(Kind::Errno(errno)) = watched.meet(Class::Unlink, Some(Sort::of(name))) {
        return fail(errno);
    }
    // SAFETY: as the caller says.
    let unlinked = unsafe { libc::syscall(libc::SYS_unlinkat, libc::AT_FDCWD, path, 0) } as c_int;
    if is_ours && unlinked == 0 {
        watched.add(Happened::Unlinked, 0, 0, name.to_bytes());
    }
    unlinked
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rename(from: *const c_char, to: *const c_char) -> c_int {
    // SAFETY: as the caller says.
    let (old, new) = unsafe { (CStr::from_ptr(from), CStr::from_ptr(to)) };
    let watched = watched();
    // SAFETY: as the caller says.
    let renamed = unsafe {
        libc::syscall(
            libc::SYS_renameat2,
            libc::AT_FDCWD,
            from,
            libc::AT_FDCWD,
            to,
            0,
        )
    } as c_int;
    if renamed == 0 && (watched.covers(old) || watched.covers(new)) {
        let (old, new) = (old.to_bytes(), new.to_bytes());
        watched.add(Happened::Renamed, 0, old.len() as u64, &[old, new].concat());
    }
    renamed
}
