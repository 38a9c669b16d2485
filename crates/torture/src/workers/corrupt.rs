//! Damages files that it has made, one after the other, and reads them with the product.
//!
//! `FOLDER KEPT SEED PLANT`: works in one folder, and keeps the files of what it finds in another one.

mod bits;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use actix_persistence::{Persistence, error::ErrorChain};
use anyhow::Context;
use fastrand::Rng;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions};

use crate::kinds::files::found::{files_of, put_files};
use crate::kinds::files::keeper::{Holder, Keeper, Shared};
use crate::kinds::files::program::{Program, Step};
use crate::kinds::files::stores::{MAIN, Stores};
use crate::workers::{count, fault, run_until_told};
use bits::{Bit, bits_of};

/// The time that a reader may take on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// The ids that are read.
const KEEPERS: [&str; 4] = ["a", "b", "r1", "d1"];
const HOLDER: &str = "s0";
/// One damage of something else comes after so many bits of rows.
const OTHERS: u8 = 3;

type Files = BTreeMap<String, Vec<u8>>;

/// The state of each id as the product reads it, as a text, or an error.
type Read = BTreeMap<String, Result<String, String>>;

/// Changes of rows that no reader may take for what was written.
const ROWS: [&str; 12] = [
    // Swapped.
    "UPDATE event_journal SET sequence_nr = CASE sequence_nr WHEN 2 THEN -2 WHEN 3 THEN -3 ELSE sequence_nr END \
     WHERE persistence_id = 'Keeper|a'; \
     UPDATE event_journal SET sequence_nr = CASE sequence_nr WHEN -2 THEN 3 WHEN -3 THEN 2 ELSE sequence_nr END \
     WHERE persistence_id = 'Keeper|a'",
    "UPDATE event_journal SET persistence_id = 'Keeper|c' WHERE persistence_id = 'Keeper|a' AND sequence_nr = 2; \
     UPDATE event_journal SET persistence_id = 'Keeper|a' WHERE persistence_id = 'Keeper|b' AND sequence_nr = 2; \
     UPDATE event_journal SET persistence_id = 'Keeper|b' WHERE persistence_id = 'Keeper|c' AND sequence_nr = 2",
    "UPDATE event_journal SET payload = (SELECT payload FROM event_journal AS o \
     WHERE o.persistence_id = 'Keeper|b' AND o.sequence_nr = 2) WHERE persistence_id = 'Keeper|a' AND sequence_nr = 2",
    "UPDATE snapshot SET payload = CAST(payload || x'00' AS BLOB)",
    "UPDATE snapshot SET sequence_nr = sequence_nr + 1",
    "UPDATE durable_state SET payload = x'91a0' WHERE deleted = 0",
    "UPDATE durable_state SET revision = revision + 1",
    // Missing.
    "DELETE FROM event_journal WHERE persistence_id = 'Keeper|a' AND sequence_nr = 1",
    "DELETE FROM event_journal WHERE persistence_id = 'Keeper|a' AND sequence_nr = 2",
    "DELETE FROM snapshot",
    // Doubled.
    "INSERT INTO event_journal (persistence_id, sequence_nr, slice, timestamp, writer_uuid, serializer_id, \
     event_manifest, adapter_manifest, checksum, payload) SELECT persistence_id, \
     (SELECT max(sequence_nr) + 1 FROM event_journal WHERE persistence_id = 'Keeper|a'), slice, timestamp, writer_uuid, \
     serializer_id, event_manifest, adapter_manifest, checksum, payload FROM event_journal \
     WHERE persistence_id = 'Keeper|a' AND sequence_nr = 2",
    "INSERT INTO snapshot (persistence_id, sequence_nr, slice, timestamp, serializer_id, manifest, checksum, payload) \
     SELECT persistence_id, sequence_nr + 1, slice, timestamp, serializer_id, manifest, checksum, payload FROM snapshot",
];

/// A change of files.
#[derive(Clone, Debug)]
enum Damage {
    Flip { file: String, byte: usize, bit: u8 },
    Cut { file: String, length: usize },
    Remove { file: String },
    Rows { statement: usize },
    Bit(Bit),
}

pub(crate) fn work(arguments: &[String]) -> anyhow::Result<()> {
    let [folder, kept, seed, plant] = arguments else {
        anyhow::bail!("it needs FOLDER KEPT SEED PLANT");
    };
    let mut rng = Rng::with_seed(seed.parse()?);
    let (folder, kept): (PathBuf, PathBuf) = (folder.into(), kept.into());
    let stores = Stores {
        split: false,
        full: true,
        snapshots_full: true,
        short_log: false,
    };
    run_until_told(async |ended| {
        for database in 0.. {
            let mut corrupter = Corrupter::new(&folder, &kept, stores, database, &mut rng).await?;
            corrupter.unchecked = plant == "unchecked";
            // Every statement, and then each bit of the rows, with other damages in between.
            for statement in 0..ROWS.len() {
                corrupter.try_it(Damage::Rows { statement }).await?;
            }
            corrupter.put(&corrupter.files)?;
            let mut bits = bits_of(&corrupter.folder.join(MAIN)).await?;
            // A short run sees some of each.
            let first = rng.usize(..bits.len());
            bits.rotate_left(first);
            for bit in bits {
                if ended.is_told() {
                    return Ok(());
                }
                corrupter.try_it(Damage::Bit(bit)).await?;
                if rng.u8(..OTHERS) == 0 {
                    let damage = corrupter.damage(&mut rng)?;
                    corrupter.try_it(damage).await?;
                }
            }
            count("databases of which every bit of every row was turned");
        }
        Ok(())
    })
}

/// Reports a write to the driver, if it was acknowledged.
fn acknowledged(is_acknowledged: bool) {
    if is_acknowledged {
        count("acknowledged");
    }
}

struct Corrupter {
    folder: PathBuf,
    kept: PathBuf,
    stores: Stores,
    /// The files with a log, as a crash leaves it.
    files: Files,
    /// The result of reading them while they are whole.
    whole: Read,
    /// True if rows lose their checksums before they are damaged.
    unchecked: bool,
    trials: u32,
}

impl Corrupter {
    async fn new(
        folder: &Path,
        kept: &Path,
        stores: Stores,
        database: u32,
        rng: &mut Rng,
    ) -> anyhow::Result<Self> {
        let made = folder.join("made");
        fs::create_dir_all(&made)?;
        put_files(&made, [])?;
        let mut program = Program::open(&made, stores, database * 1_000).await?;
        for id in KEEPERS {
            for _ in 0..rng.u32(3..6) {
                acknowledged(program.put(id, rng.u32(1..4)).await?);
            }
        }
        acknowledged(program.hold(HOLDER, true).await?);
        program
            .take(&Step::DeleteAllBut {
                id: "d1".to_owned(),
                spared: 2,
            })
            .await?;
        program.close().await;
        // Nothing is under way after an answer any more: the note of how far the database has come is up to date.
        let mut program = Program::open(&made, stores, database * 1_000 + 500).await?;
        for id in ["a", "b", "a"] {
            acknowledged(program.put(id, 2).await?);
        }
        acknowledged(program.hold(HOLDER, true).await?);
        let mut files = files_of(&made)?;
        if rng.bool() {
            program.close().await;
            files = files_of(&made)?;
        }
        let read = folder.join("read");
        fs::create_dir_all(&read)?;
        let mut corrupter = Self {
            folder: read,
            kept: kept.to_owned(),
            stores,
            files,
            whole: Read::new(),
            unchecked: false,
            trials: 0,
        };
        corrupter.put(&corrupter.files)?;
        corrupter.whole = corrupter.read().await?;
        program.close().await;
        for (id, state) in &corrupter.whole {
            anyhow::ensure!(
                state.is_ok(),
                "{id} cannot be read before it is damaged: {state:?}"
            );
        }
        Ok(corrupter)
    }

    fn damage(&self, rng: &mut Rng) -> anyhow::Result<Damage> {
        let names: Vec<_> = self.files.keys().cloned().collect();
        let file = rng.choice(names).context("there are no files")?;
        let length = self.files[&file].len();
        Ok(match rng.u8(..20) {
            0 => Damage::Cut {
                length: rng.usize(..length.max(1)),
                file,
            },
            1 if file != MAIN => Damage::Remove { file },
            _ if length == 0 => Damage::Cut { file, length: 0 },
            _ => Damage::Flip {
                byte: rng.usize(..length),
                bit: rng.u8(..8),
                file,
            },
        })
    }

    async fn try_it(&mut self, damage: Damage) -> anyhow::Result<()> {
        self.trials += 1;
        let mut files = self.files.clone();
        let mut statements = String::new();
        match &damage {
            Damage::Flip { file, byte, bit } => {
                let bytes = files.get_mut(file).context("no such file")?;
                bytes[*byte] ^= 1 << bit;
            }
            Damage::Cut { file, length } => {
                files
                    .get_mut(file)
                    .context("no such file")?
                    .truncate(*length);
            }
            Damage::Remove { file } => {
                files.remove(file);
            }
            Damage::Rows { statement } => {
                if self.unchecked {
                    statements += "UPDATE event_journal SET checksum = NULL; UPDATE snapshot SET checksum = NULL; \
                                   UPDATE durable_state SET checksum = NULL; ";
                }
                statements += ROWS[*statement];
            }
            Damage::Bit(bit) => statements += &bit.statement,
        }
        self.put(&files)?;
        if !statements.is_empty() {
            let options = SqliteConnectOptions::new().filename(self.folder.join(MAIN));
            let mut connection = options.connect().await?;
            let changed = sqlx::raw_sql(AssertSqlSafe(statements))
                .execute(&mut connection)
                .await;
            sqlx::Connection::close(connection).await?;
            match (changed, &damage) {
                (Err(sqlx::Error::Database(_)), Damage::Bit(_)) => {
                    count("bits that a rule of the table holds");
                    return Ok(());
                }
                (changed, _) => {
                    changed?;
                }
            }
        }
        let Ok(read) = tokio::time::timeout(PATIENCE, self.read()).await else {
            return self.tell(&files, &damage, "it is still being read");
        };
        count("cycles");
        let mut harmless = true;
        for (id, state) in read? {
            match state {
                Ok(state) if Ok(&state) == self.whole[&id].as_ref() => {}
                // What an id has deleted has no checksum.
                Ok(_) if self.is_in_metadata(&files, &damage).await? => {
                    count("undetected in journal_metadata, which has no checksums");
                    harmless = false;
                }
                Ok(state)
                    if id == HOLDER
                        && matches!(&damage, Damage::Bit(bit) if bit.takes_a_state_away())
                        && state == "0 None" =>
                {
                    count("states that are not found under another id");
                    harmless = false;
                }
                Ok(state) => {
                    let whole = &self.whole[&id];
                    let what = format!("{id} was {whole:?} and is {state:?}");
                    return self.tell(&files, &damage, &what);
                }
                Err(error) if error.trim().is_empty() => {
                    return self.tell(&files, &damage, "an error says nothing");
                }
                Err(_) => harmless = false,
            }
        }
        count(if harmless { "harmless" } else { "refused" });
        Ok(())
    }

    /// Returns whether a flipped bit has changed what is stored of the ids themselves, by plain SQL.
    async fn is_in_metadata(&self, files: &Files, damage: &Damage) -> anyhow::Result<bool> {
        let Damage::Flip { .. } = damage else {
            return Ok(false);
        };
        self.put(&self.files)?;
        let whole = self.metadata().await?;
        self.put(files)?;
        // It may be that even plain SQL cannot read it any more.
        Ok(self.metadata().await.ok() != Some(whole))
    }

    async fn metadata(&self) -> anyhow::Result<Vec<(String, i64, i64, i64)>> {
        let options = SqliteConnectOptions::new().filename(self.folder.join(MAIN));
        let mut connection = options.connect().await?;
        let rows = sqlx::query_as(
            "SELECT persistence_id, highest, deleted_to, epoch FROM journal_metadata ORDER BY rowid",
        )
        .fetch_all(&mut connection)
        .await?;
        sqlx::Connection::close(connection).await?;
        Ok(rows)
    }

    fn put(&self, files: &Files) -> std::io::Result<()> {
        let files = files
            .iter()
            .map(|(name, bytes)| (name.as_str(), bytes.as_slice()));
        put_files(&self.folder, files).map(drop)
    }

    /// Reads the files by the product.
    async fn read(&self) -> anyhow::Result<Read> {
        let mut read = Read::new();
        let config = self.stores.config(&self.folder)?;
        let persistence = match Persistence::open(config).await {
            Ok(persistence) => persistence,
            Err(error) => {
                let ids = KEEPERS.into_iter().chain([HOLDER]);
                let error = ErrorChain(&error).to_string();
                return Ok(ids.map(|id| (id.to_owned(), Err(error.clone()))).collect());
            }
        };
        for id in KEEPERS {
            let keeper = Keeper::new(id, &Shared::new(None));
            let state = match persistence.replay(keeper).await {
                Ok(replayed) => {
                    let (at, actor) = (replayed.sequence_nr, replayed.actor);
                    Ok(format!("{at} {:?} {:?}", actor.writes, actor.strange))
                }
                Err(error) => Err(ErrorChain(&error).to_string()),
            };
            read.insert(id.to_owned(), state);
        }
        let holder = Holder::new(HOLDER, &Shared::new(None));
        let state = match persistence.replay(holder).await {
            Ok(replayed) => Ok(format!(
                "{} {:?}",
                replayed.sequence_nr, replayed.actor.card
            )),
            Err(error) => Err(ErrorChain(&error).to_string()),
        };
        read.insert(HOLDER.to_owned(), state);
        persistence.stop(PATIENCE).await;
        Ok(read)
    }

    fn tell(&self, files: &Files, damage: &Damage, what: &str) -> anyhow::Result<()> {
        let kept = self
            .kept
            .join(format!("{}-{}", std::process::id(), self.trials));
        fs::create_dir_all(&kept)?;
        for (name, bytes) in files {
            fs::write(kept.join(name), bytes)?;
        }
        fault(format!(
            "{damage:?}: {what}; the files are in {}",
            kept.display()
        ));
        Ok(())
    }
}
