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

/// Copies of one moment.
pub(super) struct Copied {
    pub(super) journal: StoreCopy,
    pub(super) snapshots: StoreCopy,
}

/// A copy of one store.
pub(super) struct StoreCopy {
    /// The statements that put it in place on a server.
    script: String,
    /// The file of the copy, and the number of transactions noted then.
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
            let commits = noted(place)?.map(|note| note.0);
            let file = Some((copy, commits));
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
