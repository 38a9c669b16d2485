//! The rows of a round in the end, by plain SQL: each value under the metadata and the tags that it was written with, and no
//! text about a person.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::Read;
use std::path::Path;

use actix_persistence_history::{Row, Table, Uid};
use anyhow::Context;
use serde::Deserialize;
use zstd::stream::read::Decoder;

use super::Round;
use crate::run::hold;
use crate::workers::sealed::facts::{
    FIRST, PERSONAL, PERSONAL_FACTS, PERSONAL_KEEP, PERSONAL_SHOT, PLAIN, PLAIN_FACTS, SEVERAL,
    has_own_tags, tag_of_call, uid_tag,
};
use crate::workers::sealed::keys::is_destroyed;
use crate::writers::id_of;
use crate::{Backend, block_on};

/// The id of the serializer of what is compressed.
const COMPRESSED: i64 = 3;
/// The id of the serializer of what is encrypted.
const ENCRYPTED: i64 = 4;
/// The first bytes of what zstd compresses.
const FRAME: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// The bytes of an encrypted payload before the id of its key: a format, the id of a serializer, and a length.
const BEFORE_KEY: usize = 6;

/// The metadata of an event, as it is stored.
#[derive(Deserialize)]
struct Fields {
    entries: HashMap<String, String>,
}

/// A payload, with what stands beside it.
struct Stored<'a> {
    what: String,
    manifest: &'a str,
    serializer: i64,
    payload: &'a [u8],
}

/// Looks at every table, and at the files.
pub(super) fn look(round: &Round<'_>) -> anyhow::Result<()> {
    let deleted_to = look_at_heads(round)?;
    look_at_events(round, &deleted_to)?;
    look_at_snapshots(round)?;
    look_at_states(round)?;
    if round.place.backend() == Backend::Sqlite {
        let file = round.place.url().trim_start_matches("sqlite://");
        let folder = Path::new(file).parent().context("a file has a folder")?;
        look_at_files(round, folder, |_| true)?;
    }
    let of_this = format!("{}-", round.name);
    look_at_files(round, round.run.folder(), |name| {
        name.starts_with(&of_this) && name.ends_with(".log")
    })
}

fn look_at_events(round: &Round<'_>, deleted_to: &HashMap<String, u64>) -> anyhow::Result<()> {
    let Round {
        run, place, name, ..
    } = round;
    let id = id_of(place);
    type Event = (String, i64, i64, String, Option<Vec<u8>>, Vec<u8>);
    let events: Vec<Event> = block_on(place.rows(&format!(
        "SELECT {id}, t.sequence_nr, t.serializer_id, t.event_manifest, t.metadata_payload, t.payload \
         FROM event_journal t"
    )))?;
    let mut tags = tags(round)?;
    let shown = std::mem::take(&mut *hold(&round.shown));
    let mut shredded: HashMap<(String, u64), bool> = HashMap::new();
    for of_id in shown {
        let events = of_id.events.into_iter();
        shredded.extend(events.map(|(number, is)| ((of_id.id.clone(), number), is)));
    }
    let (mut rows, mut changes) = (Vec::new(), Vec::new());
    for (id, number, serializer, manifest, metadata, payload) in &events {
        let what = format!("event {number} of {id}");
        let stored = Stored {
            what: what.clone(),
            manifest,
            serializer: *serializer,
            payload,
        };
        let (place, is_personal) = place_of(manifest);
        let fields = metadata.as_deref().map(rmp_serde::from_slice::<Fields>);
        let fields = fields
            .transpose()?
            .with_context(|| format!("{what} has no metadata"))?;
        let first = fields
            .entries
            .get(FIRST)
            .and_then(|first| first.parse().ok());
        let first: u64 = first.with_context(|| format!("{what} names no call"))?;
        stored.look(round, is_personal);
        let (number, tags) = (*number as u64, tags.remove(&(id.clone(), *number)));
        let tags = tags.unwrap_or_default();
        let is_change = id.starts_with("Held|");
        let uid = first + place;
        if stored.uid_in_plain().is_some_and(|shown| shown != uid) {
            run.violation(format!("{name}: {what} has the text of another"));
        }
        if is_change {
            changes.push(Row::Change {
                table: "events".to_owned(),
                id: id.clone(),
                revision: number,
                uid: Some(Uid(uid)),
            });
        } else {
            look_at_tags(round, &what, number, first, uid, &tags);
            rows.push(Row::Event {
                id: id.clone(),
                number,
                uid: Uid(uid),
            });
        }
        let is_shown = shredded.remove(&(id.clone(), number));
        let key = is_personal.then(|| stored.key()).flatten();
        let is_gone = key.is_some_and(|key| is_destroyed(&round.folder, &key));
        if let Some(is_shredded) = is_shown {
            run.add(
                if is_gone {
                    "shredded in the end"
                } else {
                    "read in the end"
                },
                1,
            );
            if is_shredded != is_gone {
                run.violation(format!(
                    "{name}: {what} is shredded: {is_shredded}, and its key is destroyed: {is_gone}"
                ));
            }
        }
    }
    for ((id, number), _) in shredded {
        // The last writes may have deleted it.
        if deleted_to.get(&id).is_none_or(|to| number > *to) {
            run.lost(
                1,
                format!("{name}: event {number} of {id} was read, and has no row"),
            );
        }
    }
    round.chronicle.rows(Table::Events, rows);
    let table = Table::Changes {
        table: "events".to_owned(),
        prefix: "Held|".to_owned(),
    };
    round.chronicle.rows(table, changes);
    Ok(())
}

/// Returns the tags of each event.
fn tags(round: &Round<'_>) -> anyhow::Result<HashMap<(String, i64), HashSet<String>>> {
    let place = &round.place;
    let id = id_of(place);
    let select = match place.backend() {
        Backend::Mysql => format!(
            "SELECT {id}, t.sequence_nr, CONVERT(g.tag USING utf8mb4) FROM event_tag g \
             JOIN event_journal t ON t.partition_nr = g.partition_nr AND t.ordering = g.ordering"
        ),
        Backend::Postgres => format!("SELECT {id}, t.sequence_nr, t.tag FROM event_tag t"),
        _ => format!(
            "SELECT {id}, t.sequence_nr, g.tag FROM event_tag g JOIN event_journal t ON t.ordering = g.ordering"
        ),
    };
    let mut tags: HashMap<_, HashSet<_>> = HashMap::new();
    let rows: Vec<(String, i64, String)> = block_on(place.rows(&select))?;
    for (id, number, tag) in rows {
        tags.entry((id, number)).or_default().insert(tag);
    }
    Ok(tags)
}

/// An event has the tags of its call, and those that its actor named for it.
fn look_at_tags(
    round: &Round<'_>,
    what: &str,
    number: u64,
    first: u64,
    uid: u64,
    tags: &HashSet<String>,
) {
    let (name, run) = (&round.name, round.run);
    let own = has_own_tags(uid);
    let mut expected: HashSet<_> = tag_of_call(first).into_iter().collect();
    expected.extend(own.then(|| uid_tag(uid)));
    let mut found = tags.clone();
    // The actor names the event that it has applied last.
    let after: Vec<_> = tags
        .iter()
        .filter(|tag| tag.starts_with("after-"))
        .collect();
    for tag in &after {
        found.remove(*tag);
        let last: Option<u64> = tag
            .strip_prefix("after-")
            .and_then(|last| last.parse().ok());
        if last.is_none_or(|last| last >= number) {
            run.violation(format!("{name}: {what} has the tag {tag}"));
        }
    }
    if found != expected || after.len() != usize::from(own) {
        run.violation(format!(
            "{name}: {what} has the tags {tags:?}, and not {expected:?}"
        ));
    }
    run.add("tags", tags.len() as u64);
}

/// Returns the number up to which the events of each id are deleted.
fn look_at_heads(round: &Round<'_>) -> anyhow::Result<HashMap<String, u64>> {
    let id = id_of(&round.place);
    let heads: Vec<(String, i64, i64, i64)> = block_on(round.place.rows(&format!(
        "SELECT {id}, t.highest, t.deleted_to, COALESCE((SELECT MAX(e.sequence_nr) FROM event_journal e \
         WHERE e.persistence_id = t.persistence_id), 0) FROM journal_metadata t"
    )))?;
    let deleted_to = heads.iter().map(|head| (head.0.clone(), head.2 as u64));
    let deleted_to = deleted_to.collect();
    let heads = heads
        .into_iter()
        .filter(|head| head.0.starts_with("Vault|"));
    let heads = heads.map(|(id, highest, deleted_to, last)| Row::Head {
        id,
        highest: highest.max(last) as u64,
        deleted_to: deleted_to as u64,
    });
    round.chronicle.rows(Table::Heads, heads);
    Ok(deleted_to)
}

fn look_at_snapshots(round: &Round<'_>) -> anyhow::Result<()> {
    let id = id_of(&round.place);
    let snapshots: Vec<(String, i64, i64, String, Vec<u8>)> =
        block_on(round.place.rows(&format!(
            "SELECT {id}, t.sequence_nr, t.serializer_id, t.manifest, t.payload FROM snapshot t"
        )))?;
    for (id, number, serializer, manifest, payload) in &snapshots {
        let stored = Stored {
            what: format!("snapshot {number} of {id}"),
            manifest,
            serializer: *serializer,
            payload,
        };
        stored.look(round, name_of(manifest) == PERSONAL_SHOT);
    }
    round.run.add("snapshots", snapshots.len() as u64);
    Ok(())
}

fn look_at_states(round: &Round<'_>) -> anyhow::Result<()> {
    let id = id_of(&round.place);
    let tags = match round.place.backend() {
        Backend::Mysql => "CAST(t.tags AS CHAR)",
        Backend::Postgres => "t.tags::text",
        _ => "t.tags",
    };
    type State = (String, i64, i64, String, String, Option<Vec<u8>>);
    let states: Vec<State> = block_on(round.place.rows(&format!(
        "SELECT {id}, t.revision, t.serializer_id, t.manifest, {tags}, t.payload FROM durable_state t"
    )))?;
    let mut rows = Vec::new();
    for (id, revision, serializer, manifest, tags, payload) in &states {
        let what = format!("state {revision} of {id}");
        let mut uid = None;
        if let Some(payload) = payload {
            let stored = Stored {
                what: what.clone(),
                manifest,
                serializer: *serializer,
                payload,
            };
            stored.look(round, name_of(manifest) == PERSONAL_KEEP);
            let tags: Vec<String> = serde_json::from_str(tags)?;
            let tag = tags.first().and_then(|tag| tag.strip_prefix("uid-"));
            let tag = tag.filter(|_| tags.len() == 1);
            let tag = tag.with_context(|| format!("{what} has the tags {tags:?}"))?;
            uid = Some(Uid(tag.parse()?));
        }
        let (id, revision) = (id.clone(), *revision as u64);
        rows.push(Row::State { id, revision, uid });
    }
    round.chronicle.rows(Table::States, rows);
    Ok(())
}

/// No file holds a text about a person.
fn look_at_files(
    round: &Round<'_>,
    folder: &Path,
    is_one: impl Fn(&str) -> bool,
) -> anyhow::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if !entry.file_type()?.is_file() || !is_one(&name) {
            continue;
        }
        let bytes = fs::read(entry.path())?;
        if holds(&bytes, PERSONAL) {
            let round_name = &round.name;
            round
                .run
                .violation(format!("{round_name}: {name} holds a text about a person"));
        }
        if holds(&bytes, PLAIN) {
            round.run.add("files with plain texts", 1);
        }
    }
    Ok(())
}

impl Stored<'_> {
    /// Checks that it is encrypted if and only if it is about a person.
    fn look(&self, round: &Round<'_>, is_personal: bool) {
        let (run, name, what) = (round.run, &round.name, &self.what);
        let is_encrypted = self.serializer == ENCRYPTED;
        if is_encrypted != is_personal {
            run.violation(format!(
                "{name}: {what} is stored as {} by serializer {}",
                self.manifest, self.serializer
            ));
        }
        if holds(&self.text(), PERSONAL) {
            run.violation(format!("{name}: {what} shows a text about a person"));
        }
        if is_encrypted == holds(&self.text(), PLAIN) {
            run.violation(format!("{name}: {what} is readable: {is_encrypted}"));
        }
        run.add(
            match self.serializer {
                ENCRYPTED => "encrypted",
                COMPRESSED => "compressed",
                _ => "plain",
            },
            1,
        );
    }

    /// Returns the bytes that whoever needs no key can read; none if what is compressed is damaged.
    ///
    /// A compressed text may stand there in parts: a part that was there before is a reference to it.
    fn text(&self) -> Cow<'_, [u8]> {
        if self.serializer != COMPRESSED {
            return Cow::Borrowed(self.payload);
        }
        let mut text = Vec::new();
        let windows = self.payload.windows(FRAME.len());
        let begin = windows.enumerate().find(|(_, bytes)| *bytes == FRAME);
        let frame = begin.and_then(|(begin, _)| Decoder::new(&self.payload[begin..]).ok());
        let read = frame.map(|frame| frame.single_frame().read_to_end(&mut text));
        Cow::Owned(if matches!(read, Some(Ok(_))) {
            text
        } else {
            Vec::new()
        })
    }

    /// Returns the uid that is in a text that can be read.
    fn uid_in_plain(&self) -> Option<u64> {
        let text = self.text();
        let at = position(&text, PLAIN)? + PLAIN.len();
        let digits = text[at..].iter().take_while(|byte| byte.is_ascii_digit());
        let digits: Vec<u8> = digits.copied().collect();
        String::from_utf8(digits).ok()?.parse().ok()
    }

    /// Returns the id of the key that encrypts it.
    fn key(&self) -> Option<String> {
        let len = usize::from(*self.payload.get(BEFORE_KEY - 1)?);
        let id = self.payload.get(BEFORE_KEY..BEFORE_KEY + len)?;
        String::from_utf8(id.to_vec()).ok()
    }
}

/// Returns the place in its call that the manifest of an event names, and whether it is about a person.
fn place_of(manifest: &str) -> (u64, bool) {
    let name = name_of(manifest);
    let at = |names: &[&str]| names.iter().position(|one| *one == name);
    match (at(&PERSONAL_FACTS), at(&PLAIN_FACTS)) {
        (Some(place), _) => (place as u64, true),
        (None, Some(place)) => (place as u64, false),
        (None, None) => (0, name == SEVERAL),
    }
}

fn name_of(manifest: &str) -> &str {
    manifest.split_once(":v").map_or(manifest, |parts| parts.0)
}

fn holds(bytes: &[u8], text: &str) -> bool {
    position(bytes, text).is_some()
}

fn position(bytes: &[u8], text: &str) -> Option<usize> {
    let text = text.as_bytes();
    let (mut at, first) = (0, text[0]);
    while let Some(next) = bytes[at..].iter().position(|byte| *byte == first) {
        at += next;
        if bytes[at..].starts_with(text) {
            return Some(at);
        }
        at += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(serializer: i64, payload: &[u8]) -> Stored<'_> {
        Stored {
            what: "event 1".to_owned(),
            manifest: "fact:v1",
            serializer,
            payload,
        }
    }

    #[test]
    fn a_number_of_which_a_part_is_compressed_is_read_whole() {
        let uid = 73_014_444_445;
        let text = format!("{PLAIN}{uid}~{}", "and so on ".repeat(60));
        let mut payload = b"before".to_vec();
        payload.extend(zstd::bulk::compress(text.as_bytes(), 3).unwrap());
        let as_it_stands = stored(0, &payload).uid_in_plain();
        assert!(as_it_stands.is_some_and(|shortened| shortened < uid));
        assert_eq!(stored(COMPRESSED, &payload).uid_in_plain(), Some(uid));
    }
}
