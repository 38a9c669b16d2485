//! The readers of a simulated process: they follow changes of states from where the process before was, and list ids.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use actix_persistence::payload::decode_state;
use actix_persistence::query::{
    Changed, DurableStateQuery, PersistenceIdsStream, QueryError, QuerySettings, StateOffset,
};
use actix_persistence_history::{Answer, Done, Entry, Listed, Operation, Page, Uid, What};
use actix_persistence_storage_api::{
    PersistenceIdsQuery, StateChangesQuery, StateQueries, StorageErrorKind,
};
use fastrand::Rng;
use futures_util::{FutureExt, StreamExt};
use tokio::time::timeout;

use super::{Process, STATES, Scene, pause};
use crate::kinds::sim::stores::SIMULATED;
use crate::workers::kept::{KeptState, kept_id};
use crate::workers::readers::writing::is_of_range;
use crate::workers::readers::{How, KEPT, NEW, RANGES, number_of};

/// The largest number of readers that go on in the processes of a place.
const MOST_READERS: usize = 3;
/// The largest number of changes or ids that are read at once.
const LARGEST_PAGE: usize = 5;
/// The longest time that a reader waits for a page of the store, or for the next change of a live query.
const LONGEST_WAIT: Duration = Duration::from_secs(20);
/// The time after which a reader that is shown nothing, while nothing is wrong, has seen all.
const SILENCE: Duration = Duration::from_secs(60);
/// The largest number of pages that are read in the end: there are fewer changes.
const MOST_PAGES: usize = 10_000;

/// A reader, from one process of its place to the next.
pub(super) struct Slot {
    how: How,
    entity_type: &'static str,
    /// The range of slices that it reads; all slices if `None`.
    range: Option<u16>,
    page: usize,
    /// The text of the offset after all that it was shown.
    offset: RefCell<String>,
    /// The number of the reader in the process before.
    before: Cell<Option<u64>>,
}

/// A reader in a process.
struct Reader {
    process: Rc<Process>,
    slot: Rc<Slot>,
    number: u64,
    queries: DurableStateQuery,
}

/// The changes that a reader was shown at once.
struct Shown {
    entries: Vec<Entry>,
    offset: StateOffset,
    ended: bool,
}

impl Slot {
    /// The readers of a place.
    pub(super) fn some(rng: &mut Rng) -> Vec<Rc<Self>> {
        let readers = rng.usize(..=MOST_READERS);
        let slot = |_| {
            Rc::new(Self {
                how: [How::Pages, How::Current, How::Live][rng.usize(..3)],
                entity_type: [NEW, KEPT][rng.usize(..2)],
                range: (rng.u8(..3) == 0).then(|| rng.u16(..RANGES)),
                page: rng.usize(1..=LARGEST_PAGE),
                offset: RefCell::default(),
                before: Cell::default(),
            })
        };
        (0..readers).map(slot).collect()
    }

    fn slices(&self) -> std::ops::RangeInclusive<u16> {
        let width = 1024 / RANGES;
        match self.range {
            Some(range) => range * width..=(range + 1) * width - 1,
            None => 0..=1023,
        }
    }

    /// The ids that it is to be shown, and what they begin with.
    fn selected(&self) -> (Option<Vec<String>>, String) {
        let prefix = format!("{}|", self.entity_type);
        match (self.entity_type, self.range) {
            (_, None) => (None, prefix),
            (NEW, Some(range)) => (None, format!("{prefix}r{range}.")),
            (_, Some(range)) => {
                let ids = (0..STATES).map(kept_id);
                let ids = ids.filter(|id| is_of_range(id, range));
                (Some(ids.map(|id| id.to_string()).collect()), prefix)
            }
        }
    }

    fn offset(&self) -> StateOffset {
        let text = self.offset.borrow();
        text.parse().expect("it was the text of an offset")
    }
}

impl Process {
    /// Follows changes until the process ends.
    pub(super) async fn follow(self: Rc<Self>, slot: Rc<Slot>, mut rng: Rng) {
        let reader = self.open_reader(slot);
        while !self.ended.get() {
            match reader.slot.how {
                How::Live => reader.live(&mut rng).await,
                How::Pages | How::Current => {
                    reader.look().await;
                }
            }
            pause(&mut rng).await;
        }
    }

    /// Reads on with each reader while nothing goes wrong, until it has seen all.
    pub(super) async fn catch_up(self: &Rc<Self>, slots: Vec<Rc<Slot>>) {
        for slot in slots {
            let reader = self.open_reader(slot);
            let asked_at = self.scene.ledger.now();
            if reader.sees_all().await {
                let reader = reader.number;
                self.scribe.say(What::CaughtUp { reader, asked_at });
            } else {
                let (how, number) = (reader.slot.how, reader.number);
                self.fault(format!(
                    "the reader {number}, {how:?}, comes to no end, though nothing is wrong"
                ));
            }
        }
    }

    /// Lists ids again and again, until the process ends.
    pub(super) async fn list_ids(self: Rc<Self>, mut rng: Rng) {
        while !self.ended.get() {
            self.list(&mut rng).await;
            pause(&mut rng).await;
        }
    }

    /// Lists ids; returns whether that worked.
    pub(super) async fn list(&self, rng: &mut Rng) -> bool {
        let queries = self.queries(rng.usize(1..=LARGEST_PAGE));
        let entity_type = [NEW, KEPT][rng.usize(..2)];
        let of_type = format!("{entity_type}|");
        let (query, prefix) = match rng.u8(..3) {
            0 => ("all ids", String::new()),
            1 => ("ids of a type", of_type),
            _ => ("ids with deleted ones", of_type),
        };
        let call = self.scribe.invoke(Operation::List {
            query: query.to_owned(),
            ids: None,
            prefix,
        });
        let ids = match query {
            "all ids" => queries.current_persistence_ids(),
            "ids of a type" => queries.current_persistence_ids_of(entity_type),
            _ => {
                let query = PersistenceIdsQuery::new(queries.settings().page_size);
                queries.persistence_ids(query.of_entity_type(entity_type).with_tombstones())
            }
        };
        let listed = self.listed(ids).await;
        let works = listed.is_some();
        let listed = listed.map(|entries| Answer::Ok(Done::Listed(Listed { entries })));
        self.scribe.answer(call, listed.unwrap_or(Answer::Failed));
        self.scene.looks.set(self.scene.looks.get() + 1);
        works
    }

    async fn listed(&self, mut ids: PersistenceIdsStream) -> Option<Vec<Entry>> {
        let mut entries = Vec::new();
        while let Some(id) = ids.next().await {
            match id {
                Ok(id) => entries.push(Entry {
                    id: id.to_string(),
                    number: 0,
                    uid: None,
                }),
                Err(error) => {
                    self.query_failed(&error);
                    return None;
                }
            }
        }
        Some(entries)
    }

    fn queries(&self, page: usize) -> DurableStateQuery {
        let settings = QuerySettings::default().with_page_size(page);
        let runtime = tokio::runtime::Handle::current();
        DurableStateQuery::new(self.state_handle.clone(), runtime, (), settings)
            .expect("the store has queries")
    }

    fn open_reader(self: &Rc<Self>, slot: Rc<Slot>) -> Reader {
        let number = self.scene.reader();
        let (ids, prefix) = slot.selected();
        self.scribe.say(What::ReaderOpened {
            reader: number,
            query: format!(
                "{:?} of {} in {:?}",
                slot.how,
                slot.entity_type,
                slot.slices()
            ),
            every: false,
            ids,
            prefix,
            continues: slot.before.replace(Some(number)),
        });
        Reader {
            process: Rc::clone(self),
            queries: self.queries(slot.page),
            slot,
            number,
        }
    }

    /// A query must have failed for a simulated reason.
    fn query_failed(&self, error: &QueryError) {
        let expected = match error {
            // The product itself reports what took too long; a panic it reports with its text.
            QueryError::Store(error) if error.kind() == StorageErrorKind::Timeout => {
                self.stores.explains_a_time_out(error.operation())
            }
            QueryError::Store(error) => format!("{error:?}").contains(SIMULATED),
            _ => false,
        };
        if !expected {
            self.fault(format!("a query failed: {error:?}"));
        }
    }
}

impl Scene {
    /// A number for a reader.
    fn reader(&self) -> u64 {
        let number = self.readers.get() + 1;
        self.readers.set(number);
        number
    }
}

impl Reader {
    /// Takes what there is; returns whether the query said that this is all.
    async fn look(&self) -> bool {
        let asked_at = self.now();
        let shown = match self.slot.how {
            How::Pages => self.page().await,
            How::Current | How::Live => self.current().await,
        };
        let ended = shown.as_ref().is_some_and(|shown| shown.ended);
        if let Some(shown) = shown {
            self.show(asked_at, shown);
        }
        ended
    }

    /// A page of the store itself; `None` if there is none to be had.
    async fn page(&self) -> Option<Shown> {
        let query = StateChangesQuery::new(self.slot.entity_type, self.slot.page)
            .of_slices(self.slot.slices())
            .after(self.slot.offset());
        let stores = Arc::clone(&self.process.stores);
        // It may panic, and hang.
        let task = tokio::spawn(async move { stores.changes(query).await });
        let page = match timeout(LONGEST_WAIT, task).await.ok()?.ok()? {
            Ok(page) => page,
            Err(error) => {
                self.process.query_failed(&error.into());
                return None;
            }
        };
        let entries = page.changes.into_iter().map(|change| Entry {
            id: change.persistence_id.to_string(),
            number: change.current.revision,
            uid: change.current.state.map(|state| {
                let state = decode_state::<KeptState>(&state.payload);
                Uid(state.expect("what was stored can be decoded").uid)
            }),
        });
        Some(Shown {
            entries: entries.collect(),
            offset: page.offset,
            ended: !page.more,
        })
    }

    /// Returns what the query returns until it ends, or fails.
    async fn current(&self) -> Option<Shown> {
        let mut changes = self.queries.current_changes_by_slices::<KeptState>(
            self.slot.entity_type,
            self.slot.slices(),
            self.slot.offset(),
        );
        let mut shown = self.nothing_yet();
        loop {
            match changes.next().await {
                Some(Ok(change)) => shown.take(&change),
                Some(Err(error)) => {
                    self.process.query_failed(&error);
                    return Some(shown);
                }
                None => {
                    shown.ended = true;
                    return Some(shown);
                }
            }
        }
    }

    /// Takes some of what the live query returns, and lets go of it.
    async fn live(&self, rng: &mut Rng) {
        let asked_at = self.now();
        let mut changes = self.queries.changes_by_slices::<KeptState>(
            self.slot.entity_type,
            self.slot.slices(),
            self.slot.offset(),
        );
        for _ in 0..rng.u32(1..=20) {
            if self.process.ended.get() {
                return;
            }
            let wait = LONGEST_WAIT.mul_f64(rng.f64() * rng.f64() * rng.f64());
            let Ok(mut next) = timeout(wait, changes.next()).await else {
                continue;
            };
            let mut shown = self.nothing_yet();
            let mut failed = false;
            loop {
                match next {
                    Some(Ok(change)) => shown.take(&change),
                    Some(Err(error)) => {
                        self.process.query_failed(&error);
                        failed = true;
                    }
                    None => {
                        let number = self.number;
                        let sentence = format!("the live query of the reader {number} has ended");
                        self.process.fault(sentence);
                        failed = true;
                    }
                }
                // What comes at once is shown at once; some of it is left to the next query.
                match changes.next().now_or_never() {
                    Some(more) if !failed && rng.u8(..6) > 0 => next = more,
                    Some(_) => {
                        self.show(asked_at, shown);
                        return;
                    }
                    None => break,
                }
            }
            self.show(asked_at, shown);
            if failed {
                return;
            }
        }
    }

    /// Reads until there is no more, while nothing goes wrong; returns whether that was so.
    async fn sees_all(&self) -> bool {
        if self.slot.how != How::Live {
            for _ in 0..MOST_PAGES {
                if self.look().await {
                    return true;
                }
            }
            return false;
        }
        let asked_at = self.now();
        let mut changes = self.queries.changes_by_slices::<KeptState>(
            self.slot.entity_type,
            self.slot.slices(),
            self.slot.offset(),
        );
        while let Ok(next) = timeout(SILENCE, changes.next()).await {
            let Some(Ok(change)) = next else {
                return false;
            };
            let mut shown = self.nothing_yet();
            shown.take(&change);
            self.show(asked_at, shown);
        }
        true
    }

    /// Reports what was shown, and goes on after it.
    fn show(&self, asked_at: u64, shown: Shown) {
        let Shown {
            entries,
            offset,
            ended,
        } = shown;
        *self.slot.offset.borrow_mut() = offset.to_string();
        let number = number_of(&offset);
        let scene = &self.process.scene;
        scene.looks.set(scene.looks.get() + 1);
        if entries.is_empty() {
            return;
        }
        scene.shown.set(scene.shown.get() + entries.len() as u64);
        let page = Page {
            offset: number,
            entries,
            ended,
        };
        let reader = self.number;
        self.process.scribe.say(What::Shown {
            reader,
            asked_at,
            page,
        });
    }

    fn nothing_yet(&self) -> Shown {
        Shown {
            entries: Vec::new(),
            offset: self.slot.offset(),
            ended: false,
        }
    }

    fn now(&self) -> u64 {
        self.process.scene.ledger.now()
    }
}

impl Shown {
    fn take(&mut self, change: &Changed<KeptState>) {
        self.entries.push(Entry {
            id: change.persistence_id().to_string(),
            number: change.revision(),
            uid: change.state().map(|state| Uid(state.uid)),
        });
        self.offset = change.offset().clone();
    }
}
