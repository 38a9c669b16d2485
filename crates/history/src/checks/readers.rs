//! Readers are shown everything, nothing twice, and each id in order.

use std::collections::{HashMap, HashSet};

use crate::event_stream::EventStream;
use crate::gathered::{Gathered, Reader};
use crate::state_stream::StateStream;
use crate::violation::{Invariant, Violations};

/// The point up to which a reader has come.
#[derive(Clone, Debug, Default)]
struct Position<'h> {
    /// The last number of each id that it was shown, and where.
    shown: HashMap<&'h str, (u64, usize)>,
    /// The number of rises that it was found to have seen.
    rises: usize,
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
        let position = from.cloned().unwrap_or_default();
        let end = follow(gathered, reader, &rises, position, violations);
        ends.insert(*number, end);
    }
}

fn follow<'h>(
    gathered: &Gathered<'h>,
    reader: &Reader<'h>,
    rises: &Rises<'h>,
    mut position: Position<'h>,
    violations: &mut Violations,
) -> Position<'h> {
    let rises = if reader.every {
        &rises.events
    } else {
        &rises.states
    };
    let ids = reader
        .ids
        .map(|ids| ids.iter().map(String::as_str).collect::<HashSet<_>>());
    let mut last_offset = None;
    let mut caught_up = reader.caught_up.iter().peekable();
    for (_, at, line, page) in &reader.pages {
        while let Some(end) = caught_up.next_if(|end| (end.1, end.2) < (*at, *line)) {
            missed_nothing(
                gathered,
                reader,
                ids.as_ref(),
                rises,
                &mut position,
                *end,
                violations,
            );
        }
        if let (Some((offset, earlier)), Some(next)) = (last_offset, page.offset)
            && next < offset
        {
            let query = reader.query;
            let sentence =
                format!("the offset of a reader of {query:?} went from {offset} to {next}");
            violations.add(Invariant::ReadersInOrder, [earlier, *line], sentence);
        }
        last_offset = page.offset.map(|offset| (offset, *line)).or(last_offset);
        for entry in &page.entries {
            let id = entry.id.as_str();
            if ids.as_ref().is_some_and(|ids| !ids.contains(id)) {
                let query = reader.query;
                let sentence =
                    format!("a reader of {query:?} was shown {id:?}, which is not selected");
                violations.add(Invariant::QueriesExact, [reader.line, *line], sentence);
            }
            let last = position.shown.insert(id, (entry.number, *line));
            if !gathered.was_reset(id) {
                next_in_turn(
                    gathered,
                    reader,
                    id,
                    (entry.number, *line, *at),
                    last,
                    violations,
                );
            }
        }
    }
    for end in caught_up {
        missed_nothing(
            gathered,
            reader,
            ids.as_ref(),
            rises,
            &mut position,
            *end,
            violations,
        );
    }
    position
}

fn next_in_turn(
    gathered: &Gathered<'_>,
    reader: &Reader<'_>,
    id: &str,
    (number, line, at): (u64, usize, u64),
    last: Option<(u64, usize)>,
    violations: &mut Violations,
) {
    let (last, last_line) = last.unwrap_or((0, line));
    let query = reader.query;
    if number <= last {
        let sentence = format!("a reader of {query:?} was shown {number} of {id:?} after {last}");
        violations.add(Invariant::ReadersInOrder, [last_line, line], sentence);
    } else if reader.every && number > last + 1 {
        let events = gathered.last_events(id);
        let deleted = events.map_or(0, |events| events.maybe_deleted.up_to(at));
        if number - 1 > deleted {
            let sentence = format!(
                "a reader of {query:?} was shown event {number} of {id:?} after event {last}, and events up to {deleted} may be deleted"
            );
            violations.add(Invariant::ReadersMissNothing, [last_line, line], sentence);
        }
    }
}

/// Checks that everything known before it asked was shown; an earlier end already covers what it was found to have seen
/// there.
fn missed_nothing(
    gathered: &Gathered<'_>,
    reader: &Reader<'_>,
    ids: Option<&HashSet<&str>>,
    rises: &[(u64, &str)],
    position: &mut Position<'_>,
    (asked_at, at, line): (u64, u64, usize),
    violations: &mut Violations,
) {
    let until = rises
        .partition_point(|rise| rise.0 < asked_at)
        .max(position.rises);
    let new = &rises[std::mem::replace(&mut position.rises, until)..until];
    for (_, id) in new {
        if gathered.was_reset(id) || ids.is_some_and(|ids| !ids.contains(id)) {
            continue;
        }
        let known = if reader.every {
            let events = gathered.last_events(id);
            let known = events.and_then(|events| Some((events, events.known.before(asked_at)?)));
            let known = known.filter(|(events, known)| known.0 > events.maybe_deleted.up_to(at));
            known.map(|(_, known)| known)
        } else {
            let state = gathered.last_state(id);
            state.and_then(|state| state.known.before(asked_at))
        };
        let shown = position.shown.get(id).map_or(0, |last| last.0);
        if let Some((known, proof)) = known
            && shown < known
        {
            let query = reader.query;
            let sentence = format!(
                "a reader of {query:?} had seen all there was, and of {id:?} it was shown {shown} and not {known}"
            );
            violations.add(Invariant::ReadersMissNothing, [proof, line], sentence);
            break;
        }
    }
}
