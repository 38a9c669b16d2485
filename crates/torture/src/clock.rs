//! The clock that all processes of this machine share.

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds since some moment, the same one in every process; never goes backwards.
pub(crate) fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
