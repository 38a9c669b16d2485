//! Removes a folder and everyone who lives in it when we die, whatever we die of.

use std::ffi::OsStr;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Waits for the end of its input, which is ours; takes the folder as its argument.
///
/// Looks again after each kill, for one that was just being born. One that it may not kill stays.
const SCRIPT: &str = r#"
read -r _
folder=$1
found=yes
while [ "$found" ]; do
    found=
    for process in /proc/[0-9]*; do
        place=$(readlink "$process/cwd" 2>/dev/null) || continue
        case ${place% (deleted)} in
            "$folder" | "$folder"/*) kill -KILL "${process#/proc/}" 2>/dev/null && found=yes ;;
        esac
    done
done
rm -rf -- "$folder"
"#;

/// A shell that outlives us, but not for long; dropped, it does nothing any more.
///
/// Nothing else learns of the death of a process that is killed: the system closes what it had open.
pub(crate) struct Watcher {
    shell: Child,
}

impl Watcher {
    /// Watches over a folder, whose name must be absolute.
    pub(crate) fn start(folder: &Path) -> io::Result<Self> {
        let script = [OsStr::new("-c"), OsStr::new(SCRIPT), OsStr::new("watcher")];
        let shell = Command::new("/bin/sh")
            .args(script)
            .arg(folder)
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            // Neither one of those it kills, nor killed with our process group.
            .current_dir("/")
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Self { shell })
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        // One that has ended by itself has nothing left to do either.
        let _ = self.shell.kill();
        let _ = self.shell.wait();
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn sleeper(folder: &Path) -> Child {
        let mut command = Command::new("sleep");
        command.arg("1000").current_dir(folder).spawn().unwrap()
    }

    #[test]
    fn with_our_death_the_folder_goes_and_everyone_in_it() {
        let parent = tempfile::tempdir().unwrap();
        let (folder, namesake) = (parent.path().join("home"), parent.path().join("home2"));
        fs::create_dir_all(folder.join("data")).unwrap();
        fs::create_dir(&namesake).unwrap();
        let mut residents = [sleeper(&folder), sleeper(&folder.join("data"))];
        let mut stranger = sleeper(&namesake);

        let mut watcher = Watcher::start(&folder).unwrap();
        // The system does the same when we die.
        drop(watcher.shell.stdin.take());
        assert!(watcher.shell.wait().unwrap().success());

        for resident in &mut residents {
            assert!(!resident.wait().unwrap().success());
        }
        assert!(!folder.exists());
        assert!(namesake.exists());
        assert_eq!(stranger.try_wait().unwrap(), None);
        stranger.kill().unwrap();
        stranger.wait().unwrap();
    }

    #[test]
    fn a_dropped_watcher_leaves_the_folder_alone() {
        let folder = tempfile::tempdir().unwrap();
        drop(Watcher::start(folder.path()).unwrap());
        assert!(folder.path().exists());
    }
}
