//! A history taken apart: by id and life, by reader, by query.

use std::collections::HashMap;

use crate::event_stream::{
    Deletion, EventStream, HandlerRun, Head, Look, Outcome, Placed, Save, SnapshotDeletion, Write,
};
use crate::record::{Entry, Page};
use crate::selected::Selected;
use crate::state_stream::{Change, ChangeOutcome, ChangeRow, Seen, StateStream};
use crate::timeline::{Call, Resets, calls};
use crate::violation::Violations;
use crate::{Answer, Done, History, Incarnation, Operation, Row, Table, Uid, What};

/// A reader, and what it was shown.
#[derive(Clone, Debug)]
pub(crate) struct Reader<'h> {
    pub(crate) line: usize,
    pub(crate) query: &'h str,
    pub(crate) every: bool,
    pub(crate) selected: Selected<'h>,
    pub(crate) continues: Option<u64>,
    /// Asked at, shown at, line, page.
    pub(crate) pages: Vec<(u64, u64, usize, &'h Page)>,
    /// Asked at, shown at, line.
    pub(crate) caught_up: Vec<(u64, u64, usize)>,
}

/// The answer to a query for states.
#[derive(Clone, Debug)]
pub(crate) struct Listing<'h> {
    pub(crate) from: u64,
    pub(crate) until: u64,
    pub(crate) line: usize,
    pub(crate) query: &'h str,
    pub(crate) selected: Selected<'h>,
    pub(crate) entries: &'h [Entry],
}

/// The tables that were read whole.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dumped<'h> {
    pub(crate) events: Option<usize>,
    pub(crate) heads: Option<usize>,
    pub(crate) snapshots: Option<usize>,
    pub(crate) states: Option<usize>,
    /// Table, prefix of ids, line.
    pub(crate) changes: Vec<(&'h str, &'h str, usize)>,
}

/// The facts that are known of one id.
#[derive(Debug, Default)]
struct Id<'h> {
    name: &'h str,
    event_resets: Resets,
    state_resets: Resets,
    events: Vec<EventStream<'h>>,
    states: Vec<StateStream<'h>>,
}

/// A history taken apart.
#[derive(Debug, Default)]
pub(crate) struct Gathered<'h> {
    ids: Vec<Id<'h>>,
    by_name: HashMap<&'h str, usize>,
    pub(crate) readers: HashMap<u64, Reader<'h>>,
    pub(crate) listings: Vec<Listing<'h>>,
    pub(crate) dumped: Dumped<'h>,
    /// Events and states that were to be stored while their id was reset, so that their life is not known.
    pub(crate) between_lives: HashMap<Uid, &'h str>,
}

impl<'h> Gathered<'h> {
    pub(crate) fn new(history: &'h History, violations: &mut Violations) -> Self {
        let calls = calls(history, violations);
        let mut gathered = Self::default();
        gathered.find_resets(&calls);
        let recoveries: HashMap<_, _> = calls.iter().filter_map(recovery).collect();
        for call in &calls {
            gathered.take_call(call, &recoveries);
        }
        for (line, record) in (1..).zip(&history.records) {
            gathered.take_record(record.at, line, &record.what);
        }
        gathered.take_pages();
        for id in &mut gathered.ids {
            id.events.iter_mut().for_each(EventStream::settle);
            let last_life = id.state_resets.last_life();
            for state in &mut id.states {
                state.last_life = last_life == Some(state.life);
                state.settle();
            }
        }
        gathered
    }

    pub(crate) fn events(&self) -> impl Iterator<Item = &EventStream<'h>> {
        self.ids.iter().flat_map(|id| &id.events)
    }

    pub(crate) fn states(&self) -> impl Iterator<Item = &StateStream<'h>> {
        self.ids.iter().flat_map(|id| &id.states)
    }

    /// Returns the names of all ids.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'h str> {
        self.ids.iter().map(|id| id.name)
    }

    /// Returns the events of this id in its last life, if that is known and the id had events.
    pub(crate) fn last_events(&self, name: &str) -> Option<&EventStream<'h>> {
        let id = &self.ids[*self.by_name.get(name)?];
        id.events.get(id.event_resets.last_life()?)
    }

    /// Returns the state of this id in its last life, if that is known and the id had states.
    pub(crate) fn last_state(&self, name: &str) -> Option<&StateStream<'h>> {
        let id = &self.ids[*self.by_name.get(name)?];
        id.states.get(id.state_resets.last_life()?)
    }

    /// Returns whether the numbers or revisions of this id ever started again.
    pub(crate) fn was_reset(&self, name: &str) -> bool {
        let id = self.by_name.get(name).map(|index| &self.ids[*index]);
        id.is_some_and(|id| id.event_resets.any() || id.state_resets.any())
    }

    fn id(&mut self, name: &'h str) -> &mut Id<'h> {
        let index = *self.by_name.entry(name).or_insert(self.ids.len());
        if index == self.ids.len() {
            self.ids.push(Id {
                name,
                ..Id::default()
            });
        }
        &mut self.ids[index]
    }

    fn find_resets(&mut self, calls: &[Call<'h>]) {
        let mut resets: HashMap<_, Vec<_>> = HashMap::new();
        for call in calls {
            let done = matches!(call.answer, Answer::Ok(_));
            let key = match call.operation {
                Operation::ResetEvents { id } => (id.as_str(), true),
                Operation::ResetState { id } => (id.as_str(), false),
                _ => continue,
            };
            resets
                .entry(key)
                .or_default()
                .push((call.from, call.until, done));
        }
        for ((name, events), resets) in resets {
            let resets = Resets::new(resets);
            let id = self.id(name);
            if events {
                id.event_resets = resets;
            } else {
                id.state_resets = resets;
            }
        }
    }

    fn take_call(&mut self, call: &Call<'h>, recoveries: &HashMap<Incarnation, (u64, u64)>) {
        let (from, until, line) = (call.from, call.until, call.line);
        let unknown = matches!(call.answer, Answer::Unknown);
        let refused = matches!(call.answer, Answer::Rejected | Answer::Failed);
        let latest = if unknown { u64::MAX } else { until };
        let done_at = if matches!(call.answer, Answer::Ok(_)) {
            until
        } else {
            u64::MAX
        };
        match call.operation {
            Operation::Persist {
                id,
                incarnation,
                uids,
            } => {
                let window = recoveries.get(incarnation).filter(|_| done_at == u64::MAX);
                let (from, until) = window.copied().unwrap_or((from, latest));
                let mut write = write_of(call, uids);
                write.incarnation = Some(*incarnation);
                self.take_write(id, from, until, write);
            }
            Operation::Ask { id, sender, uid } => {
                let mut write = write_of(call, std::slice::from_ref(uid));
                write.sender = Some(*sender);
                self.take_write(id, from, latest, write);
            }
            Operation::Recover {
                id,
                incarnation,
                fences,
            } => {
                self.take_look(id, call, Some(*incarnation), *fences);
            }
            Operation::Replay { id } => self.take_look(id, call, None, false),
            Operation::DeleteEvents { id, to, covered } if !refused => {
                let deletion = Deletion {
                    from,
                    done_at,
                    line,
                    to: *to,
                    covered: *covered,
                    asked_here: true,
                };
                for (resets, events) in (0..).zip(self.id(id).all_events(from, latest)) {
                    let mut deletion = deletion.clone();
                    deletion.asked_here = resets == 0;
                    events.deletions.push(deletion);
                }
            }
            Operation::Retain { id, to } => {
                let deletion = Deletion {
                    from,
                    done_at: u64::MAX,
                    line,
                    to: *to,
                    covered: true,
                    asked_here: false,
                };
                for events in self.id(id).all_events(from, u64::MAX) {
                    events.deletions.push(deletion.clone());
                }
            }
            Operation::DeleteSnapshots {
                id,
                from: lowest,
                to,
            } if !refused => {
                let deletion = SnapshotDeletion {
                    from,
                    done_at,
                    line,
                    numbers: (*lowest, *to),
                };
                for events in self.id(id).all_events(from, latest) {
                    events.snapshot_deletions.push(deletion.clone());
                }
            }
            Operation::SaveSnapshot {
                id,
                incarnation,
                number,
                digest,
            } if !refused => {
                let save = Save {
                    from,
                    done_at,
                    line,
                    incarnation: *incarnation,
                    number: *number,
                    digest: *digest,
                    asked_here: true,
                };
                for (resets, events) in (0..).zip(self.id(id).all_events(from, latest)) {
                    let mut save = save.clone();
                    save.asked_here = resets == 0;
                    events.saves.push(save);
                }
            }
            Operation::Upsert {
                id,
                incarnation,
                revision,
                uid,
            } => {
                self.take_change(id, call, latest, *incarnation, *revision, *uid, false);
            }
            Operation::DeleteState {
                id,
                incarnation,
                revision,
                uid,
            } => {
                self.take_change(id, call, latest, *incarnation, *revision, *uid, true);
            }
            Operation::Load { id, incarnation } => {
                let Answer::Ok(Done::Loaded { revision, uid }) = call.answer else {
                    return;
                };
                let seen = Seen {
                    from,
                    until,
                    line: call.answer_line,
                    revision: *revision,
                    uid: *uid,
                    incarnation: *incarnation,
                    present: true,
                };
                if let Some(state) = self.id(id).state(from, until) {
                    state.seen.push(seen);
                }
            }
            Operation::List { query, ids, prefix } => {
                let Answer::Ok(Done::Listed(listed)) = call.answer else {
                    return;
                };
                for entry in listed.entries.iter().filter(|entry| entry.number > 0) {
                    let seen = Seen {
                        from,
                        until,
                        line: call.answer_line,
                        revision: entry.number,
                        uid: entry.uid,
                        incarnation: None,
                        present: true,
                    };
                    if let Some(state) = self.id(&entry.id).state(from, until) {
                        state.seen.push(seen);
                    }
                }
                self.listings.push(Listing {
                    from,
                    until,
                    line: call.answer_line,
                    query,
                    selected: Selected::new(ids.as_deref(), prefix),
                    entries: &listed.entries,
                });
            }
            Operation::DeleteEvents { .. }
            | Operation::DeleteSnapshots { .. }
            | Operation::SaveSnapshot { .. }
            | Operation::ResetEvents { .. }
            | Operation::ResetState { .. } => {}
        }
    }

    fn take_write(&mut self, name: &'h str, from: u64, until: u64, write: Write<'h>) {
        let id = self.id(name);
        if !matches!(write.outcome, Outcome::Stored(_)) {
            for events in id.all_events(from, until) {
                events.writes.push(write.clone());
            }
        } else if let Some(events) = id.events(from, until) {
            events.writes.push(write);
        } else {
            let uids = write.uids.iter().map(|uid| (*uid, name));
            self.between_lives.extend(uids);
        }
    }

    fn take_look(
        &mut self,
        name: &'h str,
        call: &Call<'h>,
        incarnation: Option<Incarnation>,
        fences: bool,
    ) {
        let Answer::Ok(Done::Recovered(recovered)) = call.answer else {
            return;
        };
        if let Some(events) = self.id(name).events(call.from, call.until) {
            events.looks.push(Look {
                process: call.process,
                from: call.from,
                until: call.until,
                line: call.answer_line,
                incarnation,
                fences,
                recovered,
            });
        }
    }

    #[allow(
        clippy::too_many_arguments,
        reason = "the fields of two operations that are one thing here"
    )]
    fn take_change(
        &mut self,
        name: &'h str,
        call: &Call<'h>,
        latest: u64,
        incarnation: Incarnation,
        asked: Option<u64>,
        uid: Uid,
        deletes: bool,
    ) {
        let (outcome, revision) = match call.answer {
            Answer::Ok(Done::Changed { revision }) => (ChangeOutcome::Stored, Some(*revision)),
            Answer::Ok(_) => (ChangeOutcome::Stored, asked),
            Answer::Rejected | Answer::Failed => (ChangeOutcome::Not, asked),
            Answer::Unknown => (ChangeOutcome::Unknown, asked),
        };
        let stored = outcome == ChangeOutcome::Stored;
        let change = Change {
            from: call.from,
            stored_at: if stored { call.until } else { u64::MAX },
            line: call.line,
            answer_line: call.answer_line,
            incarnation,
            uid,
            deletes,
            revision,
            outcome,
        };
        let id = self.id(name);
        if !stored {
            for state in id.all_states(call.from, latest) {
                state.changes.push(change.clone());
            }
        } else if let Some(state) = id.state(call.from, latest) {
            state.changes.push(change);
        } else {
            self.between_lives.insert(uid, name);
        }
    }

    fn take_record(&mut self, at: u64, line: usize, what: &'h What) {
        match what {
            What::Handled {
                id,
                incarnation,
                uid,
                number,
            } => {
                if let Some(events) = self.id(id).events(at, at) {
                    events.handled.push(HandlerRun {
                        incarnation: *incarnation,
                        at,
                        line,
                        number: *number,
                        uid: *uid,
                    });
                }
            }
            What::Ended { id, incarnation } => {
                if let Some(events) = self.id(id).events(at, at) {
                    events.ended.push((*incarnation, at, line));
                }
            }
            What::ReaderOpened {
                reader,
                query,
                every,
                ids,
                prefix,
                continues,
            } => {
                let reader = self.reader(*reader, line);
                reader.query = query;
                reader.every = *every;
                reader.selected = Selected::new(ids.as_deref(), prefix);
                reader.continues = *continues;
            }
            What::Shown {
                reader,
                asked_at,
                page,
            } => {
                let pages = &mut self.reader(*reader, line).pages;
                pages.push((*asked_at, at, line, page));
            }
            What::CaughtUp { reader, asked_at } => {
                let caught_up = &mut self.reader(*reader, line).caught_up;
                caught_up.push((*asked_at, at, line));
            }
            What::Row(row) => self.take_row(line, row),
            What::Dumped(table) => match table {
                Table::Events => self.dumped.events = Some(line),
                Table::Heads => self.dumped.heads = Some(line),
                Table::Snapshots => self.dumped.snapshots = Some(line),
                Table::States => self.dumped.states = Some(line),
                Table::Changes { table, prefix } => {
                    self.dumped.changes.push((table, prefix, line));
                }
            },
            What::Invoke { .. }
            | What::Answer { .. }
            | What::Process { .. }
            | What::Server { .. } => {}
        }
    }

    fn reader(&mut self, reader: u64, line: usize) -> &mut Reader<'h> {
        self.readers.entry(reader).or_insert_with(|| Reader {
            line,
            query: "",
            every: false,
            selected: Selected::default(),
            continues: None,
            pages: Vec::new(),
            caught_up: Vec::new(),
        })
    }

    fn take_row(&mut self, line: usize, row: &'h Row) {
        let end = u64::MAX;
        match row {
            Row::Event { id, number, uid } => {
                if let Some(events) = self.id(id).events(end, end) {
                    events.rows.push(Placed {
                        number: *number,
                        uid: *uid,
                        line,
                    });
                }
            }
            Row::Head {
                id,
                highest,
                deleted_to,
            } => {
                if let Some(events) = self.id(id).events(end, end) {
                    events.head = Some(Head {
                        highest: *highest,
                        deleted_to: *deleted_to,
                        line,
                    });
                }
            }
            Row::Snapshot { id, number, digest } => {
                if let Some(events) = self.id(id).events(end, end) {
                    events.snapshot_rows.push((*number, *digest, line));
                }
            }
            Row::State { id, revision, uid } => {
                if let Some(state) = self.id(id).state(end, end) {
                    state.seen.push(Seen {
                        from: end,
                        until: end,
                        line,
                        revision: *revision,
                        uid: *uid,
                        incarnation: None,
                        present: true,
                    });
                }
            }
            Row::Change {
                table,
                id,
                revision,
                uid,
            } => {
                let id = self.id(id);
                if id.state_resets.any() {
                    return;
                }
                if let Some(state) = id.state(end, end) {
                    state.rows.push(ChangeRow {
                        table,
                        revision: *revision,
                        uid: *uid,
                        line,
                    });
                }
            }
        }
    }

    /// Takes what readers were shown as what somebody saw.
    fn take_pages(&mut self) {
        let mut shown = Vec::new();
        for reader in self.readers.values_mut() {
            reader.pages.sort_by_key(|page| (page.1, page.2));
            for (from, until, line, page) in &reader.pages {
                let entries = page.entries.iter();
                shown.extend(entries.map(|entry| (*from, *until, *line, entry, reader.every)));
            }
        }
        for (from, until, line, entry, every) in shown {
            let Entry { id, number, uid } = entry;
            let id = self.id(id);
            if every {
                if let (Some(events), Some(uid)) = (id.events(from, until), *uid) {
                    let placed = Placed {
                        number: *number,
                        uid,
                        line,
                    };
                    events.shown.push((from, until, placed));
                }
            } else if let Some(state) = id.state(from, until) {
                state.seen.push(Seen {
                    from,
                    until,
                    line,
                    revision: *number,
                    uid: *uid,
                    incarnation: None,
                    present: false,
                });
            }
        }
    }
}

impl<'h> Id<'h> {
    /// Returns the events of the life in which something happened in this time; `None` if a reset was under way.
    fn events(&mut self, from: u64, until: u64) -> Option<&mut EventStream<'h>> {
        let life = self.event_resets.life(from, until)?;
        self.grow_events(life);
        Some(&mut self.events[life])
    }

    /// Returns the events of every life in which something can have happened in this time.
    fn all_events(&mut self, from: u64, until: u64) -> &mut [EventStream<'h>] {
        let (first, last) = self.event_resets.lives(from, until);
        self.grow_events(last);
        &mut self.events[first..=last]
    }

    fn grow_events(&mut self, life: usize) {
        while self.events.len() <= life {
            self.events.push(EventStream {
                id: self.name,
                life: self.events.len(),
                ..EventStream::default()
            });
        }
    }

    fn state(&mut self, from: u64, until: u64) -> Option<&mut StateStream<'h>> {
        let life = self.state_resets.life(from, until)?;
        self.grow_states(life);
        Some(&mut self.states[life])
    }

    /// Returns the states of every life in which something can have happened in this time.
    fn all_states(&mut self, from: u64, until: u64) -> &mut [StateStream<'h>] {
        let (first, last) = self.state_resets.lives(from, until);
        self.grow_states(last);
        &mut self.states[first..=last]
    }

    fn grow_states(&mut self, life: usize) {
        while self.states.len() <= life {
            self.states.push(StateStream {
                id: self.name,
                life: self.states.len(),
                ..StateStream::default()
            });
        }
    }
}

fn recovery(call: &Call<'_>) -> Option<(Incarnation, (u64, u64))> {
    match call.operation {
        Operation::Recover { incarnation, .. } => Some((*incarnation, (call.from, call.until))),
        _ => None,
    }
}

fn write_of<'h>(call: &Call<'h>, uids: &'h [Uid]) -> Write<'h> {
    let outcome = match call.answer {
        Answer::Ok(Done::Persisted { first }) => Outcome::Stored(*first),
        Answer::Ok(_) | Answer::Unknown => Outcome::Unknown,
        Answer::Rejected | Answer::Failed => Outcome::Not,
    };
    let stored = matches!(outcome, Outcome::Stored(_));
    Write {
        process: call.process,
        from: call.from,
        stored_at: if stored { call.until } else { u64::MAX },
        answered_at: (call.until < u64::MAX).then_some(call.until),
        line: call.line,
        answer_line: call.answer_line,
        incarnation: None,
        sender: None,
        uids,
        outcome,
        rejected: matches!(call.answer, Answer::Rejected),
    }
}
