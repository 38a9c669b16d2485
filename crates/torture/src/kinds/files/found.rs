//! Finds what is in the files after a fault, read by plain SQL.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context;
use sqlx::sqlite::{SqliteConnectOptions, SqliteRow};
use sqlx::{AssertSqlSafe, ConnectOptions, Row, SqliteConnection};

use super::keeper::ENTITY_TYPE;
use super::stores::{MAIN, Stores};

/// Events and snapshots of an id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FoundStream {
    pub(crate) highest: u64,
    pub(crate) deleted_to: u64,
    pub(crate) swept_to: u64,
    /// Every row, in the order of numbers: number and text.
    pub(crate) events: Vec<(u64, String)>,
    /// The snapshots, in the order of numbers.
    pub(crate) snapshots: Vec<(u64, String)>,
}

impl FoundStream {
    /// The number of the last event that there was.
    pub(crate) fn last(&self) -> u64 {
        let last = self.events.last().map_or(0, |(number, _)| *number);
        last.max(self.deleted_to)
    }
}

/// A state that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FoundState {
    pub(crate) revision: u64,
    /// The text of the state; `None` in a tombstone.
    pub(crate) text: Option<String>,
}

/// The whole content that the program under test has stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) streams: BTreeMap<String, FoundStream>,
    pub(crate) states: BTreeMap<String, FoundState>,
    /// The number of transactions that the database of the journal had.
    pub(crate) commits: u64,
}

/// Reads files, one set after the other.
pub(crate) struct Reader {
    connection: SqliteConnection,
    stores: Stores,
}

/// The tables, with what is read of each: which it is, id, three numbers, bytes.
const SELECTS: [(&str, &str); 5] = [
    (
        "main_file.event_journal",
        "SELECT 'e', persistence_id, sequence_nr, 0, 0, payload FROM main_file.event_journal",
    ),
    (
        "main_file.journal_metadata",
        "SELECT 'm', persistence_id, highest, deleted_to, swept_to, NULL FROM main_file.journal_metadata",
    ),
    (
        "main_file.durable_state",
        "SELECT 'd', persistence_id, revision, deleted, 0, payload FROM main_file.durable_state",
    ),
    (
        "main_file.actix_persistence_commits",
        "SELECT 'c', '', seq, 0, 0, NULL FROM main_file.sqlite_sequence WHERE name = 'actix_persistence_commits'",
    ),
    (
        "snapshot_file.snapshot",
        "SELECT 's', persistence_id, sequence_nr, 0, 0, payload FROM snapshot_file.snapshot",
    ),
];

impl Reader {
    pub(crate) async fn new(stores: Stores) -> anyhow::Result<Self> {
        // Not by `in_memory`, which would hold for what is attached, too.
        let options = SqliteConnectOptions::new()
            .filename(":memory:")
            .create_if_missing(true);
        Ok(Self {
            connection: options.connect().await?,
            stores,
        })
    }

    /// Reads what is in a folder, as SQLite recovers it. The files are used up by it.
    ///
    /// # Errors
    /// A sentence if SQLite or its check of the pages finds damage.
    pub(crate) async fn read(&mut self, folder: &Path) -> anyhow::Result<Result<Found, String>> {
        let names = self.stores.files();
        let found = self.attach_and_read(folder).await;
        for at in 0..names.len() {
            let alias = ["main_file", "snapshot_file"][at];
            // It is not attached where reading has failed early.
            let _ = self.run(&format!("DETACH {alias}")).await;
        }
        match found {
            Ok(found) => Ok(Ok(found)),
            Err(error) => match error.downcast_ref::<sqlx::Error>() {
                Some(sqlx::Error::Database(_)) => Ok(Err(format!("{error:#}"))),
                Some(_) => Err(error),
                None => Ok(Err(format!("{error:#}"))),
            },
        }
    }

    async fn attach_and_read(&mut self, folder: &Path) -> anyhow::Result<Found> {
        let mut looks = String::new();
        let mut aliases = Vec::new();
        for (name, alias) in self
            .stores
            .files()
            .iter()
            .zip(["main_file", "snapshot_file"])
        {
            let path = folder.join(name);
            let path = path.to_str().context("the folder is not UTF-8")?;
            looks += &format!(
                "ATTACH '{path}' AS {alias}; PRAGMA {alias}.synchronous = OFF; PRAGMA {alias}.integrity_check;"
            );
            aliases.push(alias);
        }
        for alias in &aliases {
            looks += &format!(
                "SELECT '{alias}.' || name FROM {alias}.sqlite_schema WHERE type = 'table';"
            );
        }
        let mut tables = Vec::new();
        for row in self.run(&looks).await? {
            let said: String = row.try_get(0)?;
            if said == "ok" {
                continue;
            }
            let is_table = ["main_file.", "snapshot_file."]
                .iter()
                .any(|alias| said.starts_with(alias));
            anyhow::ensure!(is_table, "the check of the pages says: {said}");
            tables.push(said);
        }
        let mut selects = Vec::new();
        for (table, select) in SELECTS {
            // Where there is one file, it holds both.
            let alias = |text: &str| match self.stores.split {
                true => text.to_owned(),
                false => text.replace("snapshot_file.", "main_file."),
            };
            if tables.contains(&alias(table)) {
                selects.push(alias(select));
            }
        }
        if selects.is_empty() {
            return Ok(Found::default());
        }
        let select = selects.join(" UNION ALL ");
        let mut found = Found::default();
        for row in self.run(&select).await? {
            found.take(&row)?;
        }
        for stream in found.streams.values_mut() {
            stream.events.sort();
            stream.snapshots.sort();
        }
        Ok(found)
    }

    async fn run(&mut self, sql: &str) -> Result<Vec<SqliteRow>, sqlx::Error> {
        sqlx::raw_sql(AssertSqlSafe(sql))
            .fetch_all(&mut self.connection)
            .await
    }
}

impl Found {
    fn take(&mut self, row: &SqliteRow) -> anyhow::Result<()> {
        let which: &str = row.try_get(0)?;
        let persistence_id: &str = row.try_get(1)?;
        let number =
            |at: usize| -> anyhow::Result<u64> { Ok(u64::try_from(row.try_get::<i64, _>(at)?)?) };
        let numbers = [number(2)?, number(3)?, number(4)?];
        if which == "c" {
            self.commits = numbers[0];
            return Ok(());
        }
        let id = persistence_id
            .strip_prefix(ENTITY_TYPE)
            .and_then(|rest| rest.strip_prefix('|'))
            .with_context(|| format!("a row belongs to {persistence_id:?}"))?;
        let payload: Option<&[u8]> = row.try_get(5)?;
        let text = || {
            let payload = payload.unwrap_or_default();
            text_in(payload, id).with_context(|| format!("a payload of {id} holds {payload:?}"))
        };
        let stream = || FoundStream::default();
        match which {
            "e" => {
                let text = text()?;
                let stream = self.streams.entry(id.to_owned()).or_insert_with(stream);
                stream.events.push((numbers[0], text));
            }
            "s" => {
                let text = text()?;
                let stream = self.streams.entry(id.to_owned()).or_insert_with(stream);
                stream.snapshots.push((numbers[0], text));
            }
            "m" => {
                let stream = self.streams.entry(id.to_owned()).or_insert_with(stream);
                [stream.highest, stream.deleted_to, stream.swept_to] = numbers;
            }
            _ => {
                let state = FoundState {
                    revision: numbers[0],
                    text: if numbers[1] == 0 { Some(text()?) } else { None },
                };
                self.states.insert(id.to_owned(), state);
            }
        }
        Ok(())
    }
}

/// The text of an id in a payload, from `<` to `>`.
fn text_in(payload: &[u8], id: &str) -> Option<String> {
    let begin = format!("<{id}");
    let at = payload
        .windows(begin.len())
        .position(|part| part == begin.as_bytes())?;
    let text = &payload[at..];
    let end = text.iter().position(|byte| *byte == b'>')?;
    String::from_utf8(text[..=end].to_vec()).ok()
}

/// The files of a folder that belong to databases, by name, without those that a crash of the machine empties.
pub(crate) fn files_of(folder: &Path) -> std::io::Result<BTreeMap<String, Vec<u8>>> {
    let mut files = BTreeMap::new();
    for entry in folder.read_dir()? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.ends_with("-shm")
            && (name.starts_with(MAIN) || name.starts_with(super::stores::SNAPSHOTS))
        {
            files.insert(name, std::fs::read(entry.path())?);
        }
    }
    Ok(files)
}

/// Puts files into a folder that has no others.
pub(crate) fn put_files<'a>(
    folder: &Path,
    files: impl IntoIterator<Item = (&'a str, &'a [u8])>,
) -> std::io::Result<PathBuf> {
    for entry in folder.read_dir()? {
        std::fs::remove_file(entry?.path())?;
    }
    for (name, bytes) in files {
        std::fs::write(folder.join(name), bytes)?;
    }
    Ok(folder.to_owned())
}
