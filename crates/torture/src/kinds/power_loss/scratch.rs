//! Folders for disks that are made up, in memory where there is such a place.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

static NEXT: AtomicU32 = AtomicU32::new(0);

/// The place of the file system in memory on Linux.
const MEMORY: &str = "/dev/shm";

/// Folders that are removed in the end.
pub(crate) struct Scratch {
    folder: PathBuf,
    states: PathBuf,
    opened: PathBuf,
}

impl Scratch {
    /// Makes folders in memory, or in this folder.
    pub(crate) fn new(otherwise: &Path) -> anyhow::Result<Self> {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("actix-persistence-{}-{number}", std::process::id());
        let folder = [Path::new(MEMORY), otherwise]
            .iter()
            .map(|parent| parent.join(&name))
            .find(|folder| fs::create_dir(folder).is_ok());
        let Some(folder) = folder else {
            anyhow::bail!("there is no folder to be made in {}", otherwise.display());
        };
        let folder = folder.canonicalize()?;
        let scratch = Self {
            states: folder.join("states"),
            opened: folder.join("opened"),
            folder,
        };
        fs::create_dir(&scratch.states)?;
        fs::create_dir(&scratch.opened)?;
        Ok(scratch)
    }

    /// An empty folder of this name.
    pub(crate) fn fresh(&self, name: &str) -> std::io::Result<PathBuf> {
        let folder = self.folder.join(name);
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir(&folder)?;
        Ok(folder)
    }

    /// Returns the path of one of its files.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Returns the folder for states that are read by SQL.
    pub(crate) fn states(&self) -> &Path {
        &self.states
    }

    /// Returns the folder for states that the product opens.
    pub(crate) fn opened(&self) -> &Path {
        &self.opened
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = fs::remove_dir_all(&self.folder);
    }
}
