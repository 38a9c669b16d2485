//! Readers of generated histories.

use std::collections::BTreeMap;

use actix_persistence_history::{Answer, Done, Entry, Listed, Operation, Page, What};

use crate::generate::World;

/// A reader that goes on, stops and goes on as another.
pub(crate) struct ReaderSlot {
    /// Sees every event, or the last change of every state.
    every: bool,
    /// True if it selects the first id only.
    first_only: bool,
    reader: Option<u64>,
    opened: Option<u64>,
    offset: usize,
}

impl ReaderSlot {
    pub(crate) fn new(index: usize) -> Self {
        Self {
            every: index.is_multiple_of(2),
            first_only: index >= 2,
            reader: None,
            opened: None,
            offset: 0,
        }
    }

    pub(crate) fn step(&mut self, world: &mut World) {
        if self.every && world.size.resets {
            return list(world);
        }
        match world.random.below(12) {
            0 => self.reader = None,
            1 if !self.every => list(world),
            _ => drop(self.page(world)),
        }
    }

    /// Reads on to the end.
    pub(crate) fn finish(&mut self, world: &mut World) {
        while !(self.every && world.size.resets) && self.page(world) > 0 {}
    }

    fn ids(&self, world: &World) -> Vec<String> {
        let events = world.events.iter().map(|store| store.name().to_owned());
        let states = world.states.iter().map(|store| store.name().to_owned());
        let taken = if self.first_only { 1 } else { usize::MAX };
        if self.every {
            events.take(taken).collect()
        } else {
            states.take(taken).collect()
        }
    }

    fn page(&mut self, world: &mut World) -> usize {
        let reader = self.reader.unwrap_or_else(|| {
            let ids = self.ids(world);
            let reader = world.reader();
            let continues = self.opened.replace(reader);
            let opened = What::ReaderOpened {
                reader,
                query: "all".into(),
                every: self.every,
                ids: Some(ids),
                prefix: String::new(),
                continues,
            };
            world.record(0, opened);
            reader
        });
        self.reader = Some(reader);
        let asked_at = world.now();
        let limit = 1 + world.random.below(8);
        let entries = if self.every {
            self.events(world, limit)
        } else {
            self.changes(world, limit)
        };
        let shown = entries.len();
        let page = Page {
            offset: Some(self.offset as u64),
            entries,
            ended: shown < limit,
        };
        world.record(
            0,
            What::Shown {
                reader,
                asked_at,
                page,
            },
        );
        if shown < limit {
            world.record(0, What::CaughtUp { reader, asked_at });
        }
        shown
    }

    fn events(&mut self, world: &World, limit: usize) -> Vec<Entry> {
        let mut entries = Vec::new();
        while entries.len() < limit
            && let Some((id, number, uid)) = world.event_order.get(self.offset)
        {
            self.offset += 1;
            let store = &world.events[*id];
            if (self.first_only && *id > 0) || *number <= store.deleted_to() {
                continue;
            }
            entries.push(Entry {
                id: store.name().to_owned(),
                number: *number,
                uid: Some(*uid),
            });
        }
        entries
    }

    fn changes(&mut self, world: &World, limit: usize) -> Vec<Entry> {
        let mut entries = Vec::new();
        while entries.len() < limit
            && let Some((id, life, revision, uid)) = world.state_order.get(self.offset)
        {
            self.offset += 1;
            let store = &world.states[*id];
            let last = store.life == *life && store.revision() == *revision;
            if last && !(self.first_only && *id > 0) {
                entries.push(Entry {
                    id: store.name().to_owned(),
                    number: *revision,
                    uid: *uid,
                });
            }
        }
        entries
    }
}

fn list(world: &mut World) {
    let of_query = world.states.len().min(8);
    let ids = world.states[..of_query]
        .iter()
        .map(|store| store.name().to_owned())
        .collect();
    let call = world.invoke(
        0,
        Operation::List {
            query: "living".into(),
            ids: Some(ids),
            prefix: String::new(),
        },
    );
    let living = world.states[..of_query].iter().filter_map(|store| {
        let uid = store.uid?;
        Some((store.name().to_owned(), (store.revision(), uid)))
    });
    let living: BTreeMap<_, _> = living.collect();
    let entries = living.into_iter().map(|(id, (number, uid))| Entry {
        id,
        number,
        uid: Some(uid),
    });
    let listed = Listed {
        entries: entries.collect(),
    };
    world.answer(0, call, Answer::Ok(Done::Listed(listed)));
}
