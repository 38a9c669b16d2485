//! The files that the stores of a program under test are in, and how it uses them.

use std::fmt::{self, Display};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use actix_persistence::Config;
use anyhow::Context;

/// The name of the database that has the journal.
pub(crate) const MAIN: &str = "main.db";
/// The name of the one that has the snapshots, where it is another.
pub(crate) const SNAPSHOTS: &str = "snapshots.db";

/// The settings of the stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stores {
    /// True if snapshots are in a file of their own.
    pub(crate) split: bool,
    /// True if commits of journal and states wait for the disk.
    pub(crate) full: bool,
    /// True if commits of snapshots do, in a file of their own.
    pub(crate) snapshots_full: bool,
    /// True if the log is begun anew as often as possible.
    pub(crate) short_log: bool,
}

impl Stores {
    /// The databases there are.
    pub(crate) fn files(self) -> &'static [&'static str] {
        if self.split {
            &[MAIN, SNAPSHOTS]
        } else {
            &[MAIN]
        }
    }

    /// Returns the name of the database that has the snapshots.
    pub(crate) fn snapshot_file(self) -> &'static str {
        if self.split { SNAPSHOTS } else { MAIN }
    }

    /// Returns whether a snapshot that was confirmed must be there after a loss of power.
    pub(crate) fn keeps_snapshots(self) -> bool {
        if self.split {
            self.snapshots_full
        } else {
            self.full
        }
    }

    /// The config of a program that uses files in this folder, and is impatient.
    pub(crate) fn config(self, folder: &Path) -> anyhow::Result<Config> {
        let url = |name: &str| -> anyhow::Result<String> {
            let path: PathBuf = folder.join(name);
            let url = actix_persistence::sqlite::SqliteOptions::url_of(path);
            url.context("the folder is not UTF-8")
        };
        let word = |full| if full { "full" } else { "normal" };
        let log = if self.short_log {
            "max-log-bytes = \"64KiB\"\n"
        } else {
            ""
        };
        let store = |store, file, full| -> anyhow::Result<String> {
            Ok(format!(
                "[persistence.{store}]\nplugin = \"here\"\n[persistence.{store}.here]\nkind = \"sqlite\"\n\
                 url = \"{}\"\nsynchronous = \"{}\"\nread-connections = 1\nbusy-timeout = \"1s\"\n{log}\
                 [persistence.{store}-plugin-fallback.circuit-breaker]\nreset-timeout = \"20ms\"\n",
                url(file)?,
                word(full),
            ))
        };
        let text = [
            store("journal", MAIN, self.full)?,
            store(
                "snapshot-store",
                self.snapshot_file(),
                self.keeps_snapshots(),
            )?,
            store("state", MAIN, self.full)?,
            "[persistence.back-off]\nmin = \"2ms\"\nmax = \"20ms\"\n".to_owned(),
        ];
        Ok(Config::from_toml(&text.concat(), "torture")?)
    }
}

impl Display for Stores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flags = [
            (self.split, 's'),
            (self.full, 'f'),
            (self.snapshots_full, 'n'),
            (self.short_log, 'l'),
        ];
        for (_, letter) in flags.into_iter().filter(|(on, _)| *on) {
            write!(f, "{letter}")?;
        }
        write!(f, ".")
    }
}

impl FromStr for Stores {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self {
            split: text.contains('s'),
            full: text.contains('f'),
            snapshots_full: text.contains('n'),
            short_log: text.contains('l'),
        })
    }
}
