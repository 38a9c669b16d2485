//! A journal in memory whose pages are those of a database with several partitions, and queries over it on a paused clock.

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use actix_persistence_journal_actor::{JournalHandle, JournalSettings, WriteRequest};
use actix_persistence_memory::MemoryJournal;
use actix_persistence_query::{EventQuery, EventStream, QuerySettings};
use actix_persistence_storage_api::{
    AtomicWrite, BoundHolder, EventOffset, EventPosition, EventRecord, EventSelection, EventsPage,
    EventsQuery, Fence, Journal, Partition, PersistenceId, SelectedEvent, StorageError,
    StorageErrorKind,
};
use actix_persistence_store_actor::{StoreThread, deadline_after};
use actix_persistence_testkit::{
    Fault, Hook, Intercepted, JournalAnswer, JournalCall, Journals, Next,
};
use actix_rt::System;
use async_trait::async_trait;
use fastrand::Rng;
use tokio::runtime::{Builder, Handle};
use tokio::time::sleep;

use super::fixture::Said;

/// The time for which a write is waited.
const LONG: Duration = Duration::from_secs(60);

/// Makes the pages of a journal with several partitions of those of one in memory.
///
/// Each event keeps its number among all, as a counter that follows the clock gives it.
pub(crate) struct Partitions {
    number: u16,
    script: Mutex<Script>,
}

pub(crate) struct Script {
    /// Decides which pages end early or come late, if any do.
    early: Option<Rng>,
    /// The partitions that ever had an event.
    used: BTreeSet<Partition>,
    /// The number of the last event that is complete; none if all are.
    pub(crate) complete_to: Option<i64>,
    /// The errors of the next pages.
    pub(crate) errors: Vec<StorageErrorKind>,
    /// The word of an event that cannot be read.
    pub(crate) damaged: Option<&'static str>,
    /// The selections of the pages so far.
    pub(crate) pages: Vec<EventSelection>,
    /// The transactions that hold readers back; `None` if no one may see them.
    pub(crate) holders: Option<Vec<BoundHolder>>,
}

impl Script {
    /// Returns the time until a page is read, and that until it is there.
    fn delays(&mut self) -> [Duration; 2] {
        let millis = self.early.as_mut().map_or([1, 0], |rng| match rng.u8(..4) {
            0 => [rng.u64(..5), rng.u64(..150)],
            _ => [rng.u64(..3), rng.u64(..3)],
        });
        millis.map(Duration::from_millis)
    }
}

impl Partitions {
    pub(crate) fn script(&self) -> std::sync::MutexGuard<'_, Script> {
        self.script.lock().unwrap()
    }

    fn of(&self, id: &PersistenceId) -> Partition {
        Partition::of_slice(id.slice(), self.number).unwrap()
    }

    /// Returns the newest offset of the journal in memory as one that has counters has it.
    fn in_partitions(&self, newest: &EventOffset) -> EventOffset {
        let mut offset = EventOffset::start();
        for (_, end) in newest.positions() {
            for partition in &self.script().used {
                offset.advance(*partition, end.clone());
            }
        }
        offset
    }

    /// Returns the page of a query among all events, with the number of the last that was ever stored.
    fn page(
        &self,
        query: &EventsQuery,
        all: Vec<SelectedEvent>,
        last: i64,
    ) -> Result<EventsPage, PersistenceId> {
        let mut script = self.script();
        let complete_to = script.complete_to.unwrap_or(last).min(last);
        let is_read = |partition: &&Partition| {
            let size = 1024 / self.number;
            let slices = partition.nr() * size..=(partition.nr() + 1) * size - 1;
            slices.start() <= query.selection.slices.end()
                && query.selection.slices.start() <= slices.end()
        };
        let mut ranges: Vec<_> = script.used.iter().filter(is_read).copied().collect();
        ranges.retain(|partition| {
            let at = query.after.position(*partition);
            at.is_none_or(|at| at.ordering <= complete_to)
        });
        let limit = query.limit.div_ceil(ranges.len().max(1));
        let all: Vec<_> = all
            .iter()
            .map(|found| (self.of(&found.persistence_id), number_of(found), found))
            .filter(|(.., found)| query.selection.selects(&found.persistence_id, &found.event))
            .collect();
        let (mut offset, mut more, mut events) = (query.after.clone(), false, Vec::new());
        for partition in ranges {
            let first = query.after.position(partition).map_or(0, |at| at.ordering);
            // The last that the page looks at.
            let early = script.early.as_mut().and_then(|rng| {
                let end = rng.i64(first..=complete_to.max(first));
                (rng.u8(..4) == 0).then_some(end)
            });
            let window = early.unwrap_or(complete_to);
            let selected = all
                .iter()
                .filter(|(of, number, _)| *of == partition && (first..=window).contains(number));
            let selected: Vec<_> = selected.collect();
            let room = limit.min(query.limit - events.len());
            for (_, number, found) in selected.iter().take(room) {
                let bytes = &found.event.payload.bytes;
                if script.damaged.is_some_and(|word| contains(bytes, word)) {
                    return match events.is_empty() {
                        true => Err(found.persistence_id.clone()),
                        false => Ok(EventsPage::new(events, offset, true)),
                    };
                }
                offset.advance(partition, EventPosition::after_all_of(*number));
                let (id, event) = (found.persistence_id.clone(), found.event.clone());
                events.push(SelectedEvent::new(id, event, offset.clone()));
            }
            if selected.len() <= room {
                offset.pass(partition, window);
                more |= window < complete_to;
            } else {
                more = true;
            }
        }
        Ok(EventsPage::new(events, offset, more))
    }
}

/// Returns the number that the journal in memory has given to an event.
fn number_of(found: &SelectedEvent) -> i64 {
    found.offset.position(Partition::ONLY).unwrap().ordering - 1
}

fn contains(bytes: &[u8], word: &str) -> bool {
    bytes
        .windows(word.len())
        .any(|found| found == word.as_bytes())
}

#[async_trait]
impl Hook<Journals> for Partitions {
    async fn call(
        &self,
        call: JournalCall,
        next: Next<Journals>,
    ) -> Result<JournalAnswer, StorageError> {
        let query = match &call {
            JournalCall::Events { query } => query.clone(),
            JournalCall::BoundHolders => {
                let holders = self.script().holders.clone();
                let denied = || Fault::new(StorageErrorKind::AccessDenied).of(&call);
                return holders.map(JournalAnswer::BoundHolders).ok_or_else(denied);
            }
            JournalCall::WriteMessages { writes } => {
                let used = writes.iter().map(|write| self.of(write.persistence_id()));
                self.script().used.extend(used);
                return next.run(call).await;
            }
            JournalCall::NewestOffset { .. } => {
                let JournalAnswer::NewestOffset(newest) = next.run(call).await? else {
                    unreachable!("the newest offset was asked for");
                };
                return Ok(JournalAnswer::NewestOffset(self.in_partitions(&newest)));
            }
            _ => return next.run(call).await,
        };
        {
            let mut script = self.script();
            script.pages.push(query.selection.clone());
            if let Some(kind) = script.errors.pop() {
                return Err(Fault::new(kind).of(&call));
            }
        }
        // As a database that takes its time, before it looks and after.
        let [before, after] = self.script().delays();
        sleep(before).await;
        let all = JournalCall::Events {
            query: EventsQuery::new(EventSelection::all(), usize::MAX),
        };
        let JournalAnswer::Events(all) = next.run(all).await? else {
            unreachable!("a page was asked for");
        };
        let last = all.offset.position(Partition::ONLY);
        let last = last.map_or(0, |at| at.ordering - 1);
        let page = self.page(&query, all.events, last);
        sleep(after).await;
        match page {
            Ok(page) => Ok(JournalAnswer::Events(page)),
            Err(id) => Err(Fault::new(StorageErrorKind::Corrupt)
                .of(&call)
                .with_persistence_id(id)),
        }
    }
}

/// A journal with its actor, and queries over it.
pub(crate) struct Partitioned {
    pub(crate) journal: Arc<Intercepted<Journals, Partitions>>,
    pub(crate) handle: JournalHandle,
    pub(crate) queries: EventQuery,
}

/// Runs a test whose clock moves only when nothing else does.
pub(crate) fn on_paused_clock<T>(test: impl Future<Output = T>) -> T {
    let test: Pin<&mut dyn Future<Output = T>> = pin!(test);
    let runtime = || {
        let mut builder = Builder::new_current_thread();
        builder.enable_all().start_paused(true).build().unwrap()
    };
    System::with_tokio_rt(runtime).block_on(test)
}

impl Partitioned {
    /// Makes a journal with so many partitions, whose pages end early and come late as the seed decides, or not without one.
    pub(crate) fn new(partitions: u16, seed: Option<u64>, settings: QuerySettings) -> Self {
        let script = Script {
            early: seed.map(Rng::with_seed),
            used: BTreeSet::new(),
            complete_to: None,
            errors: Vec::new(),
            damaged: None,
            pages: Vec::new(),
            holders: Some(Vec::new()),
        };
        let hook = Partitions {
            number: partitions,
            script: Mutex::new(script),
        };
        let journal = Arc::new(Intercepted::journal_with(MemoryJournal::new(), hook));
        let handle = JournalHandle::start(
            Arc::clone(&journal) as Arc<dyn Journal>,
            JournalSettings::new("partitioned"),
            Handle::current(),
            &StoreThread::on_current_arbiter(),
        );
        let queries = EventQuery::new(handle.clone(), Handle::current(), (), settings);
        Self {
            queries: queries.unwrap(),
            journal,
            handle,
        }
    }

    /// Stores an event through the actor.
    pub(crate) async fn store(&self, id: &PersistenceId, record: EventRecord) {
        let request = WriteRequest {
            persistence_id: id.clone(),
            writes: vec![self.write(id, record).await],
            deadline: deadline_after(LONG),
        };
        let reply = self.handle.write(request).await;
        assert!(reply.outcomes[0].is_stored(), "{reply:?}");
    }

    /// Stores an event past the actor, as another process does.
    pub(crate) async fn store_elsewhere(&self, id: &PersistenceId, record: EventRecord) {
        let write = self.write(id, record).await;
        let outcomes = self.journal.write_messages(vec![write]).await.unwrap();
        assert!(outcomes[0].is_stored(), "{outcomes:?}");
    }

    async fn write(&self, id: &PersistenceId, record: EventRecord) -> AtomicWrite {
        let from = self.journal.read_head(id).await.unwrap().epoch;
        AtomicWrite::new(id.clone(), Fence::TakesOver { from }, vec![record]).unwrap()
    }

    pub(crate) fn live(&self, selection: EventSelection) -> EventStream<Said> {
        self.queries.events(selection, EventOffset::start())
    }

    /// Returns the number of pages that were read.
    pub(crate) fn pages(&self) -> usize {
        self.journal.script().pages.len()
    }
}
