//! The damage of rows on a server, one after the other: a reader of the id gets what was written, or an error; all
//! others get what was written.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use actix_persistence::error::ErrorChain;
use actix_persistence::prelude::*;
use fastrand::Rng;

use crate::kinds::copies::{JOURNAL, SNAPSHOTS, STATES, StoreCopy};
use crate::kinds::files::keeper::{DeleteAllBut, Hold, Holder, Keeper, Put, Shared};
use crate::kinds::files::program::persistence_id;
use crate::last_look::{LONGEST_BUSY, last_look};
use crate::writers::id_of;
use crate::{Backend, Place, Run, open};

/// The ids with events.
const KEEPERS: [&str; 5] = ["a", "b", "r1", "s1", "d1"];
/// The ids with a state.
const HOLDERS: [&str; 2] = ["h0", "h1"];
/// The number of damages of what was written once.
const DAMAGES: u32 = 200;
/// A head that is swapped for another one begins so.
const HEAD_OF_ANOTHER: &str = "UPDATE journal_metadata SET persistence_id";
const PATIENCE: Duration = Duration::from_secs(60);

/// The state of each id as a text, or an error.
type Read = BTreeMap<String, Result<String, String>>;

/// A row with a payload.
#[derive(Clone, Debug)]
struct Row {
    table: &'static str,
    /// The column of its number.
    number: &'static str,
    /// All columns of the table that can be written to.
    columns: Rc<[String]>,
    id: String,
    at: i64,
    payload: Vec<u8>,
}

impl Row {
    fn is(&self) -> String {
        let Self { number, id, at, .. } = self;
        format!("persistence_id = '{id}' AND {number} = {at}")
    }
}

impl Row {
    /// Each of the two is in the place of the other.
    fn swapped(&self, other: &Self) -> String {
        let Self { table, number, .. } = self;
        let put = |from: &str, id: &str, at: i64| {
            format!("UPDATE {table} SET persistence_id = '{id}', {number} = {at} WHERE {from}; ")
        };
        let aside = "persistence_id = 'Aside'";
        put(&self.is(), "Aside", self.at)
            + &put(&other.is(), &self.id, self.at)
            + &put(aside, &other.id, other.at)
    }

    /// The same again, with another number.
    fn doubled(&self, at: i64) -> String {
        let Self { table, number, .. } = self;
        let columns = self.columns.join(", ");
        let values = self.columns.iter().map(|column| match column.as_str() {
            column if column == *number => at.to_string(),
            // It is unique.
            "ordering" => format!("ordering + {at} + 1000000"),
            column => column.to_owned(),
        });
        let values = values.collect::<Vec<_>>().join(", ");
        format!(
            "INSERT INTO {table} ({columns}) SELECT {values} FROM {table} WHERE {}",
            self.is()
        )
    }
}

/// Changes what is stored of the ids themselves.
///
/// Its number of deleted events is not changed alone: no other row shows it.
fn damage_of_heads(one: &str, two: &str, rng: &mut Rng) -> String {
    let head = |what: &str, id: &str| {
        format!("UPDATE journal_metadata SET {what} WHERE persistence_id = '{id}'; ")
    };
    match rng.u8(..3) {
        0 => head(&format!("highest = highest + {}", rng.u32(1..=3)), one),
        1 => head(&format!("epoch = epoch + {}", rng.u32(1..=1_000)), one),
        // Swapped.
        _ => {
            head("persistence_id = 'Aside'", one)
                + &head(&format!("persistence_id = '{one}'"), two)
                + &head(&format!("persistence_id = '{two}'"), "Aside")
        }
    }
}

/// Goes on until the run is over.
pub(super) fn damage(run: &Run) -> anyhow::Result<()> {
    actix::System::new().block_on(async {
        while !run.is_over() {
            let mut rng = run.rng();
            let place = run.place()?;
            let persistence =
                open(&place.config_of(&["journal", "snapshot-store", "state"], "")).await?;
            write(run, &persistence, &mut rng).await?;
            let copies = [JOURNAL, SNAPSHOTS, STATES].map(|tables| StoreCopy::of(&place, tables));
            let copies = copies.into_iter().collect::<anyhow::Result<Vec<_>>>()?;
            let rows = rows(&place).await?;
            let whole = read(&persistence).await;
            if let Some((id, Err(error))) = whole.iter().find(|(_, state)| state.is_err()) {
                anyhow::bail!("{id} cannot be read before it is damaged: {error}");
            }
            for _ in 0..DAMAGES {
                if run.is_over() {
                    break;
                }
                let (ids, sql) = damage_of(&rows, &place, &mut rng);
                place.execute(&sql).await?;
                judge(run, &sql, &ids, &whole, read(&persistence).await);
                for copy in &copies {
                    copy.restore(&place, false)?;
                }
                run.cycle();
            }
            persistence.stop(PATIENCE).await;
        }
        Ok(())
    })
}

async fn write(run: &Run, persistence: &Persistence, rng: &mut Rng) -> anyhow::Result<()> {
    let shared = Shared::new(None);
    let mut uid = 0;
    for id in KEEPERS {
        let keeper = Keeper::new(id, &shared);
        let keeper = persistence.start(move || keeper.clone())?;
        for _ in 0..rng.u32(3..7) {
            uid += 1;
            let events = rng.u32(1..4);
            keeper.send(Put { uid, events }).await??;
            run.acknowledged(1);
        }
        if id == "d1" {
            keeper.send(DeleteAllBut(2)).await?;
        }
    }
    for id in HOLDERS {
        let holder = Holder::new(id, &shared);
        let holder = persistence.start(move || holder.clone())?;
        for _ in 0..rng.u32(1..4) {
            uid += 1;
            holder.send(Hold { uid, live: true }).await??;
            run.acknowledged(1);
        }
    }
    for id in KEEPERS.into_iter().chain(HOLDERS) {
        let _ = persistence.stopped(&persistence_id(id)).await;
    }
    Ok(())
}

/// Every row that has a payload, but for events that are deleted and not yet removed.
async fn rows(place: &Place) -> anyhow::Result<Vec<Row>> {
    let id = id_of(place);
    let mut rows = Vec::new();
    for (table, number) in [
        ("event_journal", "sequence_nr"),
        ("snapshot", "sequence_nr"),
        ("durable_state", "revision"),
    ] {
        let sql = format!("SELECT {id}, t.{number}, t.payload FROM {table} t");
        let found: Vec<(String, i64, Vec<u8>)> = place.rows(&sql).await?;
        let columns: Rc<[String]> = place.columns(table).await?.into();
        rows.extend(found.into_iter().map(|(id, at, payload)| Row {
            table,
            number,
            columns: Rc::clone(&columns),
            id,
            at,
            payload,
        }));
    }
    Ok(rows)
}

/// Returns the ids that a damage is done to, and how it is done.
fn damage_of(rows: &[Row], place: &Place, rng: &mut Rng) -> (Vec<String>, String) {
    let row = &rows[rng.usize(..rows.len())];
    let Row {
        table, number, id, ..
    } = row;
    let manifest = match *table {
        "event_journal" => "event_manifest",
        _ => "manifest",
    };
    let set = |what: String| {
        let sql = format!("UPDATE {table} SET {what} WHERE {}", row.is());
        (vec![id.clone()], sql)
    };
    let payload = |bytes: &[u8]| {
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        match place.backend() {
            Backend::Postgres => format!("payload = '\\x{hex}'::bytea"),
            _ => format!("payload = x'{hex}'"),
        }
    };
    let others: Vec<_> = rows.iter().filter(|other| other.table == *table).collect();
    let other = others[rng.usize(..others.len())];
    match rng.u8(..16) {
        0 => set("serializer_id = 3 - serializer_id".to_owned()),
        1 => set(format!("{manifest} = 'torture.other:v1'")),
        2 => set(format!("{number} = {number} + 1000")),
        3 => set("checksum = checksum + 1".to_owned()),
        4 => set(payload(&row.payload[..rng.usize(..row.payload.len())])),
        // A state that is missing looks like one that was never stored.
        5 if *table != "durable_state" => {
            let sql = format!("DELETE FROM {table} WHERE {}", row.is());
            (vec![id.clone()], sql)
        }
        6 => set(payload(&other.payload)),
        // A state under another id is one that is missing there.
        7 if *table != "durable_state" => (vec![id.clone(), other.id.clone()], row.swapped(other)),
        8 if *table != "durable_state" => {
            let own = others.iter().filter(|other| other.id == *id);
            let last = own.map(|other| other.at).max().unwrap_or(row.at);
            (vec![id.clone()], row.doubled(last + rng.i64(1..=3)))
        }
        9 => {
            let mut ids: Vec<_> = rows.iter().map(|row| &row.id).collect();
            ids.dedup();
            let (one, two) = (ids[rng.usize(..ids.len())], ids[rng.usize(..ids.len())]);
            (
                vec![one.clone(), two.clone()],
                damage_of_heads(one, two, rng),
            )
        }
        _ => {
            let mut bytes = row.payload.clone();
            let byte = rng.usize(..bytes.len());
            bytes[byte] ^= 1 << rng.u8(..8);
            set(payload(&bytes))
        }
    }
}

/// Reads every id by the product.
async fn read(persistence: &Persistence) -> Read {
    let again = |error: &RecoveryError| eprintln!("it is read again: {}", ErrorChain(error));
    let mut read = Read::new();
    let shared = Shared::new(None);
    for id in KEEPERS {
        let keeper = || Keeper::new(id, &shared);
        let replayed = last_look(persistence, LONGEST_BUSY, keeper, again).await;
        let state = replayed.map(|replayed| {
            let (at, actor) = (replayed.sequence_nr, replayed.actor);
            format!("{at} {:?} {:?}", actor.writes, actor.strange)
        });
        let state = state.map_err(|error| ErrorChain(&error).to_string());
        read.insert(persistence_id(id).to_string(), state);
    }
    for id in HOLDERS {
        let holder = || Holder::new(id, &shared);
        let replayed = last_look(persistence, LONGEST_BUSY, holder, again).await;
        let state =
            replayed.map(|replayed| format!("{} {:?}", replayed.sequence_nr, replayed.actor.card));
        let state = state.map_err(|error| ErrorChain(&error).to_string());
        read.insert(persistence_id(id).to_string(), state);
    }
    read
}

fn judge(run: &Run, sql: &str, damaged: &[String], whole: &Read, read: Read) {
    let mut harmless = true;
    for (id, state) in read {
        let is_whole = whole[&id] == state;
        harmless &= is_whole;
        match state {
            _ if is_whole => {}
            // With the head of another id comes what that one has deleted, and heads have no checksums.
            Ok(_) if damaged.contains(&id) && sql.starts_with(HEAD_OF_ANOTHER) => {
                run.add("undetected in journal_metadata, which has no checksums", 1);
            }
            Ok(state) => {
                run.violation(format!("{sql}: {id} was {:?} and is {state:?}", whole[&id]))
            }
            Err(error) if !damaged.contains(&id) => {
                run.violation(format!("{sql}: {id}, which is not damaged: {error}"));
            }
            Err(error) if !error.contains(&id) => {
                run.violation(format!("{sql}: an error does not name {id}: {error}"));
            }
            Err(_) => {}
        }
    }
    run.add(if harmless { "harmless" } else { "refused" }, 1);
}
