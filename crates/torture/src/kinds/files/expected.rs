//! The judge of files: what must be in them, from the marks of the program under test, and whether it is.

use std::collections::BTreeMap;

use super::found::{Found, FoundState, FoundStream};
use super::keeper::Writes;
use super::mark::Mark;
use super::program::is_retaining;

/// The fate of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// The write may be there or not.
    Open,
    /// The write must be there, and ends at this event or revision.
    Stored(u64),
    /// The write must not be there.
    NotStored,
}

#[derive(Clone, Copy, Debug)]
struct Asked {
    events: u32,
    fate: Fate,
}

/// The expectation of the events and snapshots of an id.
#[derive(Clone, Debug, Default)]
struct Stream {
    asked: BTreeMap<u32, Asked>,
    /// The newest snapshot that must be there.
    saved: u64,
    deleting: u64,
    deleted: u64,
    /// True if events may be gone without a snapshot that covers them.
    has_holes: bool,
}

/// The expectation of the state of an id.
#[derive(Clone, Debug, Default)]
struct Held {
    /// True if it is no tombstone, and what became of it.
    asked: BTreeMap<u32, (bool, Fate)>,
}

/// The content that the files must have at a moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Expected {
    streams: BTreeMap<String, Stream>,
    states: BTreeMap<String, Held>,
    /// Writes that were confirmed, of those that can still be there.
    pub(crate) acknowledged: u64,
}

/// The judge's findings about files.
#[derive(Clone, Debug, Default)]
pub(crate) struct Verdict {
    /// Sentences about writes that were confirmed and are not there.
    pub(crate) lost: Vec<String>,
    /// Whatever else must not be.
    pub(crate) wrong: Vec<String>,
    /// Ids whose deleted events no snapshot covers, although theirs must.
    pub(crate) lacks_snapshot: Vec<String>,
    /// The state of each id as a recovery must make it, and the number of the last event in it.
    pub(crate) states: BTreeMap<String, (u64, Writes)>,
    /// The durable state of each id, as it was found: its revision, and its text unless it is a tombstone.
    pub(crate) held: BTreeMap<String, (u64, Option<String>)>,
}

impl Expected {
    /// Returns what is expected after a crash that left this: whatever is there stays.
    pub(crate) fn of(found: &Found) -> Self {
        let mut expected = Self::default();
        for (id, found) in &found.streams {
            let mut stream = Stream {
                saved: found.snapshots.last().map_or(0, |(number, _)| *number),
                deleting: found.deleted_to,
                deleted: found.deleted_to,
                has_holes: !is_retaining(id) || found.swept_to < found.deleted_to,
                ..Stream::default()
            };
            if let Some((_, text)) = found.snapshots.last() {
                let mut last = 0;
                for (uid, events) in Writes::of_text(text, id).unwrap_or_default().0 {
                    last += u64::from(events);
                    let fate = Fate::Stored(last);
                    stream.asked.insert(uid, Asked { events, fate });
                }
            }
            for (number, text) in &found.events {
                if let Some(event) = EventText::of(text, id) {
                    let last = number + u64::from(event.events - event.index) - 1;
                    let (events, fate) = (event.events, Fate::Stored(last));
                    stream.asked.insert(event.uid, Asked { events, fate });
                }
            }
            expected.streams.insert(id.clone(), stream);
        }
        for (id, found) in &found.states {
            let uid = found
                .text
                .as_deref()
                .and_then(|text| uid_of_state(text, id));
            let asked = [(
                uid.unwrap_or(0),
                (uid.is_some(), Fate::Stored(found.revision)),
            )];
            expected.states.insert(
                id.clone(),
                Held {
                    asked: asked.into(),
                },
            );
        }
        expected
    }

    /// Records what the program said.
    pub(crate) fn hear(&mut self, mark: &Mark) {
        match mark {
            Mark::Asked { id, uid, events } => {
                let fate = Fate::Open;
                let asked = Asked {
                    events: *events,
                    fate,
                };
                self.stream(id).asked.insert(*uid, asked);
            }
            Mark::Stored { id, uid, last } => {
                self.acknowledged += 1;
                self.decide(id, *uid, Fate::Stored(*last));
            }
            Mark::NotStored { id, uid } => self.decide(id, *uid, Fate::NotStored),
            Mark::Unsure { id, uid } => self.decide(id, *uid, Fate::Open),
            Mark::Saved { id, number } => self.stream(id).saved = *number,
            Mark::Deleting { id, to } => {
                let stream = self.stream(id);
                stream.deleting = stream.deleting.max(*to);
                stream.has_holes = true;
            }
            Mark::Deleted { id, to } => {
                let stream = self.stream(id);
                stream.deleted = stream.deleted.max(*to);
            }
            Mark::Resetting { id } => {
                let stream = self.stream(id);
                for asked in stream.asked.values_mut() {
                    if asked.fate != Fate::NotStored {
                        asked.fate = Fate::Open;
                    }
                }
                (stream.saved, stream.deleted, stream.deleting) = (0, 0, u64::MAX);
                stream.has_holes = true;
            }
            Mark::Reset { id } => {
                for asked in self.stream(id).asked.values_mut() {
                    asked.fate = Fate::NotStored;
                }
            }
            Mark::StateAsked { id, uid, live } => {
                self.state(id).asked.insert(*uid, (*live, Fate::Open));
            }
            Mark::StateStored { id, uid, revision } => {
                self.acknowledged += 1;
                self.decide_state(id, *uid, Fate::Stored(*revision));
            }
            Mark::StateNotStored { id, uid } => self.decide_state(id, *uid, Fate::NotStored),
            Mark::StateUnsure { id, uid } => self.decide_state(id, *uid, Fate::Open),
        }
    }

    fn stream(&mut self, id: &str) -> &mut Stream {
        self.streams.entry(id.to_owned()).or_default()
    }

    fn state(&mut self, id: &str) -> &mut Held {
        self.states.entry(id.to_owned()).or_default()
    }

    /// A write that was never asked for has not reached its actor.
    fn decide(&mut self, id: &str, uid: u32, fate: Fate) {
        if let Some(asked) = self.stream(id).asked.get_mut(&uid) {
            asked.fate = fate;
        }
    }

    fn decide_state(&mut self, id: &str, uid: u32, fate: Fate) {
        if let Some((_, decided)) = self.state(id).asked.get_mut(&uid) {
            *decided = fate;
        }
    }

    /// Compares it with what is there. With `keeps_snapshots`, a snapshot that was confirmed must be there.
    pub(crate) fn judge(&self, found: &Found, keeps_snapshots: bool) -> Verdict {
        let mut verdict = Verdict::default();
        let (no_stream, nothing) = (Stream::default(), FoundStream::default());
        let ids = self.streams.keys().chain(found.streams.keys());
        let ids: std::collections::BTreeSet<_> = ids.collect();
        for id in ids {
            let expected = self.streams.get(id).unwrap_or(&no_stream);
            let found = found.streams.get(id).unwrap_or(&nothing);
            Judged {
                id,
                expected,
                found,
                verdict: &mut verdict,
            }
            .stream(keeps_snapshots);
        }
        for (id, held) in &self.states {
            held.judge(id, found.states.get(id), &mut verdict);
        }
        for id in found
            .states
            .keys()
            .filter(|id| !self.states.contains_key(*id))
        {
            verdict.wrong.push(format!("a state {id} was never stored"));
        }
        verdict
    }
}

/// The parts of the text of an event: `<id:uid:index:events>`.
struct EventText {
    uid: u32,
    index: u32,
    events: u32,
}

impl EventText {
    fn of(text: &str, id: &str) -> Option<Self> {
        let text = text.strip_prefix('<')?.strip_suffix('>')?;
        let text = text.strip_prefix(id)?.strip_prefix(':')?;
        let mut numbers = text.split(':').map(str::parse);
        let mut number = || numbers.next()?.ok();
        let (uid, index, events) = (number()?, number()?, number()?);
        (index < events).then_some(Self { uid, index, events })
    }
}

fn uid_of_state(text: &str, id: &str) -> Option<u32> {
    let text = text.strip_prefix('<')?.strip_suffix('>')?;
    text.strip_prefix(id)?.strip_prefix(':')?.parse().ok()
}

/// An id that is being judged.
struct Judged<'a> {
    id: &'a str,
    expected: &'a Stream,
    found: &'a FoundStream,
    verdict: &'a mut Verdict,
}

impl Judged<'_> {
    fn wrong(&mut self, what: impl std::fmt::Display) {
        self.verdict.wrong.push(format!("{}: {what}", self.id));
    }

    fn stream(&mut self, keeps_snapshots: bool) {
        let (expected, found) = (self.expected, self.found);
        let (last, deleted_to) = (found.last(), found.deleted_to);
        if found.highest > last {
            self.wrong(format!(
                "there were {} events, and {last} are left",
                found.highest
            ));
        }
        if deleted_to < expected.deleted {
            self.wrong(format!(
                "events up to {} were deleted, not {deleted_to}",
                expected.deleted
            ));
        }
        let rows = self.rows();
        self.snapshots(keeps_snapshots);
        let snapshot = found
            .snapshots
            .last()
            .filter(|(number, _)| *number >= deleted_to);
        let mut writes = Writes::default();
        let mut from = deleted_to;
        if let Some((number, text)) = snapshot {
            writes = Writes::of_text(text, self.id).unwrap_or_default();
            from = *number;
        } else if deleted_to > 0 && !expected.has_holes {
            if is_retaining(self.id) {
                self.verdict.lacks_snapshot.push(self.id.to_owned());
            } else {
                self.wrong(format!(
                    "events up to {deleted_to} are gone, which was never asked for"
                ));
            }
        } else if deleted_to > expected.deleting.max(expected.deleted) {
            self.wrong(format!(
                "{} events were to be deleted, not {deleted_to}",
                expected.deleting
            ));
        }
        let knows_all = snapshot.is_some() || deleted_to == 0;
        for (_, event) in rows.iter().filter(|(number, _)| *number > from) {
            writes.add(event.uid);
        }
        for (uid, asked) in &expected.asked {
            let Fate::Stored(at) = asked.fate else {
                continue;
            };
            let is_there = if at > from {
                let end = rows.iter().find(|(number, _)| *number == at);
                end.is_some_and(|(_, event)| event.uid == *uid && event.index + 1 == event.events)
            } else {
                !knows_all || writes.0.contains(&(*uid, asked.events))
            };
            if !is_there {
                let lost = format!("{}: write {uid}, which was event {at}", self.id);
                self.verdict.lost.push(lost);
            }
        }
        // Of a state without any event a recovery has nothing to report.
        let recovered = if writes.0.is_empty() { 0 } else { last };
        let state = (recovered, writes);
        self.verdict.states.insert(self.id.to_owned(), state);
    }

    /// Every row that is to be seen, in whole writes, each once and in order.
    fn rows(&mut self) -> Vec<(u64, EventText)> {
        let (found, id) = (self.found, self.id);
        let mut rows: Vec<(u64, EventText)> = Vec::new();
        for (number, text) in found
            .events
            .iter()
            .filter(|(number, _)| *number > found.deleted_to)
        {
            let Some(event) = EventText::of(text, id) else {
                self.wrong(format!("event {number} says {text:?}"));
                continue;
            };
            let before = rows.last();
            let expected_number = before.map_or(found.deleted_to, |(before, _)| *before) + 1;
            if *number != expected_number {
                self.wrong(format!(
                    "event {number} stands where {expected_number} should"
                ));
            }
            let follows = match before {
                Some((_, before)) if before.uid == event.uid => before.index + 1 == event.index,
                Some((_, before)) => {
                    before.index + 1 == before.events && event.index == 0 && before.uid < event.uid
                }
                None => event.index == 0 || found.deleted_to > 0,
            };
            if !follows {
                self.wrong(format!("event {number} is {text}, which does not follow"));
            }
            match self.expected.asked.get(&event.uid) {
                Some(asked) if asked.fate == Fate::NotStored => {
                    self.wrong(format!(
                        "event {number} is {text}, which was certainly not stored"
                    ));
                }
                Some(asked) if asked.events == event.events => {}
                _ => self.wrong(format!("event {number} is {text}, which was never written")),
            }
            rows.push((*number, event));
        }
        if let Some((number, event)) = rows.last()
            && event.index + 1 < event.events
        {
            self.wrong(format!(
                "event {number} ends half of a write of {}",
                event.events
            ));
        }
        rows
    }

    fn snapshots(&mut self, keeps_snapshots: bool) {
        let (expected, found) = (self.expected, self.found);
        for (number, text) in &found.snapshots {
            let Some(writes) = Writes::of_text(text, self.id) else {
                self.wrong(format!("snapshot {number} says {text:?}"));
                continue;
            };
            if writes.events() != *number || !writes.0.is_sorted() {
                self.wrong(format!("snapshot {number} says {text}"));
            }
            if *number > found.last() && !expected.has_holes {
                self.wrong(format!("snapshot {number} is above event {}", found.last()));
            }
            for (uid, _) in &writes.0 {
                let asked = expected.asked.get(uid);
                if asked.is_none_or(|asked| asked.fate == Fate::NotStored) {
                    self.wrong(format!(
                        "snapshot {number} has write {uid}, which was not stored"
                    ));
                }
            }
        }
        let newest = found.snapshots.last().map_or(0, |(number, _)| *number);
        if keeps_snapshots && newest < expected.saved {
            let (id, saved) = (self.id, expected.saved);
            let lost = format!("{id}: snapshot {saved}, the newest is {newest}");
            self.verdict.lost.push(lost);
        }
    }
}

impl Held {
    fn judge(&self, id: &str, found: Option<&FoundState>, verdict: &mut Verdict) {
        let revision = found.map_or(0, |found| found.revision);
        let stored = |(uid, (live, fate)): (&u32, &(bool, Fate))| match fate {
            Fate::Stored(revision) => Some((*revision, *uid, *live)),
            _ => None,
        };
        let (at, newest, live) = self
            .asked
            .iter()
            .filter_map(stored)
            .max()
            .unwrap_or_default();
        if revision < at {
            verdict
                .lost
                .push(format!("{id}: revision {at}, the newest is {revision}"));
            return;
        }
        let Some(found) = found else {
            return;
        };
        let held = (found.revision, found.text.clone());
        verdict.held.insert(id.to_owned(), held);
        let uid = found.text.as_deref().map(|text| uid_of_state(text, id));
        let is_known = match uid {
            None if revision == at => !live,
            // A tombstone that is not confirmed yet.
            None => self
                .asked
                .values()
                .any(|asked| *asked == (false, Fate::Open)),
            Some(Some(uid)) if revision == at => live && uid == newest,
            Some(Some(uid)) => self.asked.get(&uid) == Some(&(true, Fate::Open)),
            Some(None) => false,
        };
        if !is_known {
            verdict
                .wrong
                .push(format!("{id}: revision {revision} is {:?}", found.text));
        }
    }
}
