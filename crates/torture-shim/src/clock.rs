//! The wall clock, moved by the nanoseconds that a file says at the time.
//!
//! Clocks that never jump, such as `CLOCK_MONOTONIC`, are left alone.

use std::ffi::CString;
use std::os::unix::ffi::OsStringExt;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicI64, Ordering};

use libc::{c_int, c_void, clockid_t, time_t, timespec, timeval};

const NANOS: i64 = 1_000_000_000;

/// The first eight bytes of the file, as this machine orders them; none without a file.
static MOVED: LazyLock<Option<&'static AtomicI64>> = LazyLock::new(|| {
    let path = std::env::var_os("ACTIX_PERSISTENCE_SHIM_CLOCK")?;
    let path = CString::new(path.into_vec()).ok()?;
    let flags = libc::O_RDONLY | libc::O_CLOEXEC;
    // SAFETY: the path ends with a zero byte.
    let fd = unsafe { libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags, 0) };
    let (length, shared) = (size_of::<AtomicI64>(), libc::MAP_SHARED);
    // SAFETY: the system chooses the place, and says no to a descriptor that is none.
    let at = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            length,
            libc::PROT_READ,
            shared,
            fd as c_int,
            0,
        )
    };
    // SAFETY: it begins a page, stays mapped until the process ends, and is only read here.
    (at != libc::MAP_FAILED).then(|| unsafe { &*at.cast_const().cast::<AtomicI64>() })
});

fn moved() -> i64 {
    MOVED.map_or(0, |moved| moved.load(Ordering::Relaxed))
}

/// Moves a time of whole seconds and a part of one, of which `parts` are a second.
fn shift(seconds: &mut i64, part: &mut i64, parts: i64) {
    let moved = moved();
    let sum = *part + moved.rem_euclid(NANOS) / (NANOS / parts);
    *seconds += moved.div_euclid(NANOS) + sum.div_euclid(parts);
    *part = sum.rem_euclid(parts);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn clock_gettime(clock: clockid_t, time: *mut timespec) -> c_int {
    // SAFETY: as the caller says.
    let told = unsafe { libc::syscall(libc::SYS_clock_gettime, clock, time) } as c_int;
    if told == 0 && matches!(clock, libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE) {
        // SAFETY: the system has just written there.
        let time = unsafe { &mut *time };
        shift(&mut time.tv_sec, &mut time.tv_nsec, NANOS);
    }
    told
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gettimeofday(time: *mut timeval, zone: *mut c_void) -> c_int {
    // SAFETY: as the caller says.
    let told = unsafe { libc::syscall(libc::SYS_gettimeofday, time, zone) } as c_int;
    if told == 0 && !time.is_null() {
        // SAFETY: the system has just written there.
        let time = unsafe { &mut *time };
        shift(&mut time.tv_sec, &mut time.tv_usec, 1_000_000);
    }
    told
}

#[unsafe(no_mangle)]
unsafe extern "C" fn time(out: *mut time_t) -> time_t {
    let mut now = timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: it is written to and nothing else.
    unsafe { clock_gettime(libc::CLOCK_REALTIME, &raw mut now) };
    if !out.is_null() {
        // SAFETY: as the caller says.
        unsafe { *out = now.tv_sec };
    }
    now.tv_sec
}
