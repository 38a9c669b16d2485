//! The processes that live in a folder: those whose working directory lies in it.
//!
//! A server changes into its data folder, and every process that it starts is born there.
//! Unlike a process number, a folder that was made for one server never comes to mean another.

use std::fs;
use std::io;
use std::path::Path;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

/// The interval of looks whether the killed processes are gone.
const INTERVAL: Duration = Duration::from_millis(5);

/// Kills them all and waits until they are gone; those of another user stay, and are not waited for.
pub(crate) fn kill(folder: &Path) -> io::Result<()> {
    loop {
        let found = list(folder)?;
        if found.is_empty() {
            return Ok(());
        }
        for process in found {
            send(process, Signal::KILL)?;
        }
        thread::sleep(INTERVAL);
    }
}

/// Stops them all, `first` before those that it may start.
pub(crate) fn suspend(folder: &Path, first: Pid) -> io::Result<()> {
    send(first, Signal::STOP)?;
    // A process that was about to start another may have done so while we listed.
    let mut stopped = Vec::new();
    loop {
        let mut found = list(folder)?;
        found.retain(|process| !stopped.contains(process));
        if found.is_empty() {
            return Ok(());
        }
        for process in found {
            send(process, Signal::STOP)?;
            stopped.push(process);
        }
    }
}

/// Lets them all go on.
pub(crate) fn resume(folder: &Path) -> io::Result<()> {
    for process in list(folder)? {
        send(process, Signal::CONT)?;
    }
    Ok(())
}

/// A process that has ended meanwhile is no fault.
pub(crate) fn send(process: Pid, signal: Signal) -> io::Result<()> {
    match kill_process(process, signal) {
        Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// The dead that their parents have not reaped yet are not among them: they have no working directory.
fn list(folder: &Path) -> io::Result<Vec<Pid>> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let entry = entry?;
        let number = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok());
        let Some(process) = number.and_then(Pid::from_raw) else {
            continue;
        };
        // Folders of other users' processes, and of those that have just ended, cannot be read.
        let Ok(place) = fs::read_link(entry.path().join("cwd")) else {
            continue;
        };
        if lies_in(&place, folder) {
            found.push(process);
        }
    }
    Ok(found)
}

/// Returns whether a process runs in the folder, even after the folder has been removed, which the system notes after
/// its name.
fn lies_in(place: &Path, folder: &Path) -> bool {
    let text = place.to_string_lossy();
    let place = text.strip_suffix(" (deleted)").unwrap_or(&text);
    Path::new(place).starts_with(folder)
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};

    use super::*;

    fn sleeper(folder: &Path) -> Child {
        let mut command = Command::new("sleep");
        command.arg("1000").current_dir(folder).spawn().unwrap()
    }

    #[test]
    fn only_processes_in_the_folder_or_below_are_killed() {
        let folder = tempfile::tempdir().unwrap();
        let below = folder.path().join("below");
        fs::create_dir(&below).unwrap();
        let other = tempfile::tempdir().unwrap();
        let mut residents = [sleeper(folder.path()), sleeper(&below)];
        let mut stranger = sleeper(other.path());

        kill(folder.path()).unwrap();

        assert_eq!(list(folder.path()).unwrap(), []);
        for resident in &mut residents {
            assert!(!resident.wait().unwrap().success());
        }
        assert_eq!(stranger.try_wait().unwrap(), None);
        stranger.kill().unwrap();
        stranger.wait().unwrap();
    }

    #[test]
    fn a_removed_folder_is_still_that_folder_and_its_namesake_is_not() {
        let folder = Path::new("/tmp/home");
        assert!(lies_in(Path::new("/tmp/home"), folder));
        assert!(lies_in(Path::new("/tmp/home (deleted)"), folder));
        assert!(lies_in(Path::new("/tmp/home/data"), folder));
        assert!(!lies_in(Path::new("/tmp/home2"), folder));
        assert!(!lies_in(Path::new("/tmp"), folder));
    }
}
