//! The folder for what only tests use, and no machine that goes down has to leave whole: in memory if there is room, for a disk
//! costs servers a fifth of their time, and SQLite a quarter. Servers that are killed keep their data on a disk: MariaDB writes its
//! log in another way where it is in memory.

use std::path::Path;
use std::{env, fs};

use rustix::fs::StatFs;

/// The variable that names the folder for temporary files.
pub(crate) const VARIABLE: &str = "TMPDIR";
/// The folder in memory that every Linux has.
const IN_MEMORY: &str = "/dev/shm";
/// The type of a file system in memory, see statfs(2).
const TMPFS: i128 = 0x0102_1994;
/// The bytes that must be free in the folder: both servers together take up to 1 GiB, and programs
/// that use none less than that.
const ROOM: u128 = 4 << 30;
/// The memory that must be available, in KiB: tests and compilers take the rest.
const MEMORY: u64 = 8 << 20;

/// Returns the folder in memory; `None` if there is not enough room, or the environment names a folder for temporary files.
pub(crate) fn folder() -> Option<&'static Path> {
    let folder = Path::new(IN_MEMORY);
    (env::var_os(VARIABLE).is_none() && is_roomy(folder)).then_some(folder)
}

fn is_roomy(folder: &Path) -> bool {
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let system = rustix::fs::statfs(folder);
    system.is_ok_and(|system| is_in_memory(&system) && free(&system) >= ROOM)
        && available(&memory).is_some_and(|memory| memory >= MEMORY)
}

fn is_in_memory(system: &StatFs) -> bool {
    i128::from(system.f_type) == TMPFS
}

fn free(system: &StatFs) -> u128 {
    u128::from(system.f_bavail) * u128::try_from(system.f_bsize).unwrap_or_default()
}

/// Returns the KiB that a program can use before anything is swapped.
fn available(memory: &str) -> Option<u64> {
    let line = memory
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_is_available_is_read_from_the_list_of_the_kernel() {
        let list = "MemTotal:       24676544 kB\nMemFree: 1 kB\nMemAvailable:   20876544 kB\n";
        assert_eq!(available(list), Some(20_876_544));
        assert_eq!(available("MemTotal: 1 kB\n"), None);
    }

    #[test]
    fn a_folder_that_does_not_exist_has_no_room() {
        assert!(!is_roomy(Path::new("/no/such/folder")));
    }
}
