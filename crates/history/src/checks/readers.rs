//! Readers are shown everything, nothing twice, and each id in order.

use std::collections::HashMap;

use crate::event_stream::EventStream;
use crate::gathered::{Gathered, Reader};
use crate::record::Entry;
use crate::state_stream::{ChangeOutcome, StateStream};
use crate::violation::{Invariant, Violations};

/// The point up to which a reader has come.
#[derive(Clone, Debug, Default)]
struct Position<'h> {
    /// The last number of each id that it was shown, and where.
    shown: HashMap<&'h str, (u64, usize)>,
    /// The number of rises that it was found to have seen.
    rises: usize,
    /// The ids whose rise it has not been shown, because they were changed again; each is looked at again later.
    put_off: Vec<&'h str>,
    /// The latest time at which a change was asked for that it was shown.
    latest: u64,
    /// The last offset that it was told, and where.
    offset: Option<(u64, usize)>,
}

/// An end that a reader has come to.
#[derive(Clone, Copy, Debug)]
struct End {
    /// The time before which everything known must have been shown.
    before: u64,
    /// The time at which the reader came to the end, and the line.
    at: u64,
    line: usize,
    /// True if a state may be left out that was changed again before the reader came to the end.
    leaves_out: bool,
}

/// The times at which an id was known to have more, and the id, in order.
struct Rises<'h> {
    events: Vec<(u64, &'h str)>,
    states: Vec<(u64, &'h str)>,
}

impl<'h> Rises<'h> {
    fn new(gathered: &Gathered<'h>) -> Self {
        let of_events = |events: &EventStream<'h>| {
            let id = events.id;
            events
                .known
                .times()
                .map(move |at| (at, id))
                .collect::<Vec<_>>()
        };
        let of_states = |state: &StateStream<'h>| {
            let id = state.id;
            state
                .known
                .times()
                .map(move |at| (at, id))
                .collect::<Vec<_>>()
        };
        let mut events: Vec<_> = gathered.events().flat_map(of_events).collect();
        let mut states: Vec<_> = gathered.states().flat_map(of_states).collect();
        events.sort_unstable();
        states.sort_unstable();
        Self { events, states }
    }
}

pub(super) fn check(gathered: &Gathered<'_>, violations: &mut Violations) {
    let mut readers: Vec<_> = gathered.readers.iter().collect();
    readers.sort_unstable_by_key(|(number, reader)| (reader.line, **number));
    let rises = Rises::new(gathered);
    let mut ends: HashMap<u64, Position<'_>> = HashMap::new();
    for (number, reader) in readers {
        let from = reader.continues.and_then(|earlier| ends.get(&earlier));
        let mut following = Following {
            gathered,
            reader,
            rises: if reader.every {
                &rises.events
            } else {
                &rises.states
            },
            position: from.cloned().unwrap_or_default(),
        };
        following.follow(violations);
        ends.insert(*number, following.position);
    }
}

/// A reader on its way.
struct Following<'g, 'h> {
    gathered: &'g Gathered<'h>,
    reader: &'g Reader<'h>,
    rises: &'g [(u64, &'h str)],
    position: Position<'h>,
}

impl<'h> Following<'_, 'h> {
    fn follow(&mut self, violations: &mut Violations) {
        let reader = self.reader;
        let ends = reader.caught_up.iter().map(|&(before, at, line)| End {
            before,
            at,
            line,
            leaves_out: false,
        });
        let mut caught_up = ends.peekable();
        for (_, at, line, page) in &reader.pages {
            while let Some(end) = caught_up.next_if(|end| (end.at, end.line) < (*at, *line)) {
                self.missed_nothing(end, violations);
            }
            if let (Some((offset, earlier)), Some(next)) = (self.position.offset, page.offset)
                && next < offset
            {
                let query = reader.query;
                let sentence =
                    format!("the offset of a reader of {query:?} went from {offset} to {next}");
                violations.add(Invariant::ReadersInOrder, [earlier, *line], sentence);
            }
            let offset = page.offset.map(|offset| (offset, *line));
            self.position.offset = offset.or(self.position.offset);
            for entry in &page.entries {
                self.take(entry, *at, *line, violations);
            }
            if page.ended && !reader.every {
                let end = End {
                    before: self.position.latest,
                    at: *at,
                    line: *line,
                    leaves_out: true,
                };
                self.missed_nothing(end, violations);
            }
        }
        for end in caught_up {
            self.missed_nothing(end, violations);
        }
    }

    fn take(&mut self, entry: &'h Entry, at: u64, line: usize, violations: &mut Violations) {
        let id = entry.id.as_str();
        if !self.reader.selected.contains(id) {
            let query = self.reader.query;
            let sentence = format!("a reader of {query:?} was shown {id:?}, which is not selected");
            violations.add(Invariant::QueriesExact, [self.reader.line, line], sentence);
        }
        let last = self.position.shown.insert(id, (entry.number, line));
        if self.gathered.was_reset(id) {
            return;
        }
        if let Some(state) = self.gathered.last_state(id).filter(|_| !self.reader.every)
            && let Some(change) = state.between(entry.number, entry.number).first()
        {
            let asked_for = state.changes[change.1].from;
            self.position.latest = self.position.latest.max(asked_for);
        }
        self.next_in_turn(id, (entry.number, line, at), last, violations);
    }

    fn next_in_turn(
        &self,
        id: &str,
        (number, line, at): (u64, usize, u64),
        last: Option<(u64, usize)>,
        violations: &mut Violations,
    ) {
        let (last, last_line) = last.unwrap_or((0, line));
        let query = self.reader.query;
        if number <= last {
            let sentence =
                format!("a reader of {query:?} was shown {number} of {id:?} after {last}");
            violations.add(Invariant::ReadersInOrder, [last_line, line], sentence);
        } else if self.reader.every && number > last + 1 {
            let events = self.gathered.last_events(id);
            let deleted = events.map_or(0, |events| events.maybe_deleted.up_to(at));
            if number - 1 > deleted {
                let sentence = format!(
                    "a reader of {query:?} was shown event {number} of {id:?} after event {last}, and events up to {deleted} may be deleted"
                );
                violations.add(Invariant::ReadersMissNothing, [last_line, line], sentence);
            }
        }
    }

    /// Checks that everything known before was shown; an earlier end already covers what it was found to have seen there.
    fn missed_nothing(&mut self, end: End, violations: &mut Violations) {
        let until = self.rises.partition_point(|rise| rise.0 < end.before);
        let until = until.max(self.position.rises);
        let new = &self.rises[std::mem::replace(&mut self.position.rises, until)..until];
        let mut ids = std::mem::take(&mut self.position.put_off);
        ids.extend(new.iter().map(|(_, id)| *id));
        ids.sort_unstable();
        ids.dedup();
        for id in ids {
            let Some((known, proof)) = self.not_shown(id, end) else {
                continue;
            };
            if end.leaves_out && self.is_changed_again(id, known, end.at) {
                self.position.put_off.push(id);
                continue;
            }
            let (query, shown) = (self.reader.query, self.last_shown(id));
            let sentence = format!(
                "a reader of {query:?} had seen all there was, and of {id:?} it was shown {shown} and not {known}"
            );
            violations.add(Invariant::ReadersMissNothing, [proof, end.line], sentence);
            break;
        }
    }

    fn last_shown(&self, id: &str) -> u64 {
        self.position.shown.get(id).map_or(0, |last| last.0)
    }

    /// The number that it should have been shown, and the line that proves it.
    fn not_shown(&self, id: &str, end: End) -> Option<(u64, usize)> {
        let (gathered, before) = (self.gathered, end.before);
        if gathered.was_reset(id) || !self.reader.selected.contains(id) {
            return None;
        }
        let known = if self.reader.every {
            let events = gathered.last_events(id);
            let known = events.and_then(|events| Some((events, events.known.before(before)?)));
            let known =
                known.filter(|(events, known)| known.0 > events.maybe_deleted.up_to(end.at));
            known.map(|(_, known)| known)
        } else {
            let state = gathered.last_state(id);
            state.and_then(|state| state.known.before(before))
        };
        known.filter(|(known, _)| self.last_shown(id) < *known)
    }

    /// Returns whether a change after this one may have taken its place before this time.
    fn is_changed_again(&self, id: &str, known: u64, at: u64) -> bool {
        let Some(state) = self.gathered.last_state(id) else {
            return false;
        };
        let later = state.revisions.iter().rev();
        let mut later = later.take_while(|entry| entry.0 > known);
        let mut unknown = state.changes.iter();
        later.any(|entry| state.changes[entry.1].from < at)
            || unknown.any(|change| {
                change.outcome == ChangeOutcome::Unknown
                    && change.from < at
                    && change.revision.is_none_or(|revision| revision > known)
            })
    }
}
