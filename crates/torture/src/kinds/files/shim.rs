//! The library that records and fails the file operations of a process and moves its clock, and the log that it writes.

use std::path::{Path, PathBuf};

use anyhow::Context;

/// The variables that it reads.
const FOLDER: &str = "ACTIX_PERSISTENCE_SHIM_FOLDER";
const LOG: &str = "ACTIX_PERSISTENCE_SHIM_LOG";
pub(crate) const CLOCK: &str = "ACTIX_PERSISTENCE_SHIM_CLOCK";
/// The name of the file in a folder that takes commands for the library.
pub(crate) const CONTROL: &str = "control";
/// The name of its file; Cargo may put a hash before the end.
const LIBRARY: &str = "libactix_persistence_torture_shim";
/// The kind, the descriptor, a number and the length of the bytes.
const HEADER_BYTES: usize = 1 + 4 + 8 + 4;

/// Returns the variables that make a process record its operations on a folder, and let them be made to fail.
///
/// # Errors
/// If the library is not where Cargo puts it.
pub(crate) fn environment(
    folder: &Path,
    log: Option<&Path>,
) -> anyhow::Result<Vec<(&'static str, PathBuf)>> {
    let mut variables = vec![("LD_PRELOAD", library()?), (FOLDER, folder.to_owned())];
    variables.extend(log.map(|log| (LOG, log.to_owned())));
    Ok(variables)
}

/// Returns the variables that move the wall clock of a process by the nanoseconds that a file says.
///
/// # Errors
/// If the library is not where Cargo puts it.
pub(crate) fn clock(file: &Path) -> anyhow::Result<Vec<(&'static str, PathBuf)>> {
    Ok(vec![("LD_PRELOAD", library()?), (CLOCK, file.to_owned())])
}

/// Built with this crate, which depends on it.
fn library() -> anyhow::Result<PathBuf> {
    let program = std::env::current_exe()?;
    let folder = program.parent().context("the program is in no folder")?;
    // A test is one below the program that it starts.
    let folders = [folder.to_owned(), folder.join("deps")];
    let mut found = Vec::new();
    for file in folders
        .iter()
        .filter_map(|folder| folder.read_dir().ok())
        .flatten()
    {
        let file = file?;
        let name = file.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(LIBRARY) && name.ends_with(".so") {
            found.push((file.metadata()?.modified()?, file.path()));
        }
    }
    let newest = found.into_iter().max();
    newest
        .map(|(_, path)| path)
        .with_context(|| format!("no {LIBRARY}.so beside {}", program.display()))
}

/// An operation that has happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Happened {
    Opened {
        fd: i32,
        flags: u64,
        path: PathBuf,
    },
    Closed {
        fd: i32,
    },
    Written {
        fd: i32,
        offset: u64,
        bytes: Vec<u8>,
    },
    Truncated {
        fd: i32,
        length: u64,
    },
    Synced {
        fd: i32,
    },
    Unlinked {
        path: PathBuf,
    },
    Renamed {
        from: PathBuf,
        to: PathBuf,
    },
}

/// Takes a log apart. What a process wrote last before it was killed may be cut.
pub(crate) fn read_log(log: &[u8]) -> anyhow::Result<Vec<Happened>> {
    let path = |bytes: &[u8]| PathBuf::from(String::from_utf8_lossy(bytes).into_owned());
    let mut happened = Vec::new();
    let mut rest = log;
    while let Some((header, after)) = rest.split_at_checked(HEADER_BYTES) {
        let number_at = |at: usize, count: usize| {
            let bytes = &header[at..at + count];
            bytes
                .iter()
                .rev()
                .fold(0, |sum, byte| sum << 8 | u64::from(*byte))
        };
        let fd = number_at(1, 4) as u32 as i32;
        let number = number_at(5, 8);
        let Some((bytes, after)) = after.split_at_checked(number_at(13, 4) as usize) else {
            break;
        };
        happened.push(match header[0] {
            1 => Happened::Opened {
                fd,
                flags: number,
                path: path(bytes),
            },
            2 => Happened::Closed { fd },
            3 => Happened::Written {
                fd,
                offset: number,
                bytes: bytes.to_vec(),
            },
            4 => Happened::Truncated { fd, length: number },
            5 => Happened::Synced { fd },
            6 => Happened::Unlinked { path: path(bytes) },
            7 => {
                let (from, to) = bytes
                    .split_at_checked(number as usize)
                    .context("a path is cut")?;
                Happened::Renamed {
                    from: path(from),
                    to: path(to),
                }
            }
            other => anyhow::bail!("the log has a record of kind {other}"),
        });
        rest = after;
    }
    Ok(happened)
}
