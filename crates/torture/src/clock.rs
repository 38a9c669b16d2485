//! The clock that all processes of this machine share.

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds since 1970 by the clock of the machine, whatever this process is made to believe.
pub(crate) fn of_the_machine() -> i128 {
    let time = clock_gettime(ClockId::Realtime);
    i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec)
}

/// Nanoseconds since some moment, the same one in every process; never goes backwards.
pub(crate) fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
