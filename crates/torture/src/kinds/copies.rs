//! Copies of stores, and how they are put in place again: a file of SQLite, the tables of a server.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::{Backend, Place, block_on};

/// The tables of a journal, on whichever database they are.
pub(super) const JOURNAL: &[&str] = &["event_journal", "journal_metadata"];
/// The table of a snapshot store.
pub(super) const SNAPSHOTS: &[&str] = &["snapshot"];

/// The table of a state store.
pub(super) const STATES: &[&str] = &["durable_state"];
/// The number of transactions that a database on SQLite has counted.
const COMMITS: &str = "SELECT seq FROM sqlite_sequence WHERE name = 'actix_persistence_commits'";

/// Copies of one moment.
pub(super) struct Copied {
    pub(super) journal: StoreCopy,
    pub(super) snapshots: StoreCopy,
}

/// A copy of one store.
pub(super) struct StoreCopy {
    /// The statements that put it in place on a server.
    script: String,
    /// The file of the copy, and the number of transactions in it; `None` if it does not count them.
    file: Option<(PathBuf, Option<u64>)>,
}

impl Copied {
    pub(super) fn of(journal: &Place, snapshots: &Place) -> anyhow::Result<Self> {
        Ok(Self {
            journal: StoreCopy::of(journal, JOURNAL)?,
            snapshots: StoreCopy::of(snapshots, SNAPSHOTS)?,
        })
    }
}

impl StoreCopy {
    pub(super) fn of(place: &Place, tables: &'static [&'static str]) -> anyhow::Result<Self> {
        if place.backend() == Backend::Sqlite {
            let copy = beside(file_of(place)?, ".copy");
            if copy.exists() {
                fs::remove_file(&copy)?;
            }
            block_on(place.execute(&format!("VACUUM INTO '{}'", copy.display())))?;
            // Not the note beside it, which lags if a process was killed between a commit and its note.
            let commits = block_on(place.number(COMMITS)).ok();
            let file = Some((copy, commits.map(u64::try_from).transpose()?));
            let script = String::new();
            return Ok(Self { script, file });
        }
        let mut script = String::new();
        for table in tables {
            let columns = block_on(place.columns(table))?.join(", ");
            block_on(place.execute(&format!("DROP TABLE IF EXISTS copy_of_{table}")))?;
            block_on(place.execute(&format!(
                "CREATE TABLE copy_of_{table} AS SELECT {columns} FROM {table}"
            )))?;
            script += &format!(
                "DELETE FROM {table}; INSERT INTO {table} ({columns}) SELECT {columns} FROM copy_of_{table}; "
            );
        }
        Ok(Self { script, file: None })
    }

    /// Puts it in place; true if a note was left by which a start has to notice it.
    pub(super) fn restore(&self, place: &Place, leaves_notes: bool) -> anyhow::Result<bool> {
        if let Some((copy, commits)) = &self.file {
            let file = file_of(place)?;
            let note = noted(place)?;
            for end in ["-wal", "-shm"] {
                remove(&beside(file, end))?;
            }
            if !leaves_notes {
                forget_notes(place)?;
            }
            fs::copy(copy, file)?;
            let is_older =
                matches!((note, commits), (Some((now, true)), Some(then)) if *then < now);
            return Ok(leaves_notes && is_older);
        }
        block_on(place.execute(&self.script))?;
        Ok(false)
    }
}

/// Removes the file with the number of transactions that were confirmed.
pub(super) fn forget_notes(place: &Place) -> anyhow::Result<()> {
    match place.backend() {
        Backend::Sqlite => remove(&beside(file_of(place)?, "-position")),
        _ => Ok(()),
    }
}

/// The number of transactions that were confirmed, and whether they were on the disk.
fn noted(place: &Place) -> anyhow::Result<Option<(u64, bool)>> {
    let path = beside(file_of(place)?, "-position");
    if !path.exists() {
        return Ok(None);
    }
    let text = fs::read_to_string(path)?;
    let words: Vec<_> = text.split_whitespace().collect();
    let mut pairs = words.windows(2);
    let Some([commits, durable]) = pairs.find(|pair| ["full", "norm"].contains(&pair[1])) else {
        // A process that was killed may have left it empty.
        anyhow::ensure!(text.is_empty(), "the note has another form: {text:?}");
        return Ok(None);
    };
    Ok(Some((commits.parse()?, *durable == "full")))
}

fn beside(file: &Path, end: &str) -> PathBuf {
    let mut path = file.as_os_str().to_owned();
    path.push(end);
    path.into()
}

fn remove(path: &Path) -> anyhow::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

/// Returns the path of the file of a database on SQLite.
fn file_of(place: &Place) -> anyhow::Result<&Path> {
    let path = place.url().strip_prefix("sqlite://");
    path.map(Path::new).context("no file")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes the note of a process, with so many transactions.
    fn note(place: &Place, commits: u64) {
        let text = format!("actix-persistence position 1 {commits:020} full");
        fs::write(beside(file_of(place).unwrap(), "-position"), text).unwrap();
    }

    #[test]
    fn a_copy_that_is_not_older_is_not_to_be_noticed_even_if_the_note_lagged() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::new(Backend::Sqlite, folder.path()).unwrap();
        let tables = "CREATE TABLE actix_persistence_commits (commits INTEGER PRIMARY KEY AUTOINCREMENT); \
                      INSERT INTO actix_persistence_commits (commits) VALUES (58)";
        block_on(place.execute(tables)).unwrap();
        note(&place, 57);
        let copy = StoreCopy::of(&place, SNAPSHOTS).unwrap();
        note(&place, 58);
        assert!(!copy.restore(&place, true).unwrap());
        note(&place, 59);
        assert!(copy.restore(&place, true).unwrap());
    }
}
