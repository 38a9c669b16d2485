//! Files that are there while a package is installed.

use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::Context;

use crate::progress;

/// Set for the package manager alone.
pub(super) const VARIABLE: &str = "ACTIX_PERSISTENCE_INSTALLS";

/// The settings that keep packages from making a database of their own, and from starting it.
const FILES: [Settings; 2] = [
    // Read by the maintainer scripts of Debian's PostgreSQL.
    Settings {
        path: "/etc/postgresql-common/createcluster.d/actix-persistence-tests.conf",
        text: "create_main_cluster = false\n",
        mode: 0o644,
    },
    // Asked by the maintainer scripts of every package before they start a server; 101 says that they must not. Left
    // by one of us that was killed, it forbids nothing to anybody.
    Settings {
        path: "/usr/sbin/policy-rc.d",
        text: "#!/bin/sh\n# For `cargo xtask test` of actix-persistence, while it installs a package.\n\
               [ -z \"$ACTIX_PERSISTENCE_INSTALLS\" ] || exit 101\n",
        mode: 0o755,
    },
];

/// A file for the package manager.
struct Settings {
    path: &'static str,
    text: &'static str,
    mode: u32,
}

/// Files that we put there; dropped, they are gone.
pub(super) struct Placed {
    files: Vec<(&'static Settings, File)>,
}

impl Placed {
    /// Puts them all, but for those that somebody else has put there, who may know better.
    pub(super) fn all() -> anyhow::Result<Self> {
        let mut placed = Self { files: Vec::new() };
        for settings in &FILES {
            let file = settings
                .put()
                .with_context(|| format!("could not write {}", settings.path))?;
            placed.files.extend(file.map(|file| (settings, file)));
        }
        Ok(placed)
    }
}

impl Drop for Placed {
    fn drop(&mut self) {
        for (settings, _) in &self.files {
            settings.remove();
        }
    }
}

/// Removes what we left when we were killed.
pub(super) fn remove_left() {
    for settings in &FILES {
        if settings.is_ours() && settings.is_left() {
            settings.remove();
        }
    }
}

impl Settings {
    fn put(&self) -> io::Result<Option<File>> {
        let path = Path::new(self.path);
        if path.exists() {
            return Ok(None);
        }
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut file = File::create_new(path)?;
        file.write_all(self.text.as_bytes())?;
        file.set_permissions(Permissions::from_mode(self.mode))?;
        // A program that somebody may still write to is not run.
        drop(file);
        let file = File::open(path)?;
        // Locked as long as we live.
        file.lock()?;
        Ok(Some(file))
    }

    fn is_ours(&self) -> bool {
        fs::read_to_string(self.path).is_ok_and(|text| text == self.text)
    }

    fn is_left(&self) -> bool {
        File::open(self.path).is_ok_and(|file| file.try_lock().is_ok())
    }

    fn remove(&self) {
        if let Err(error) = fs::remove_file(self.path) {
            progress::note(format_args!(
                "WARNING: could not remove {}, do it by hand: {error}",
                self.path
            ));
        }
    }
}
