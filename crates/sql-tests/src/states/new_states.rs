//! Readers that poll without a pause while others only insert: a state that is missed stays missed, because nothing overwrites
//! it.
//!
//! For half a second, unless `ACTIX_PERSISTENCE_TEST_SCALE=full` as `cargo xtask soak` sets it.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use actix_persistence_storage_api::{Partition, PersistenceId, StateChangesQuery, StateStore};
use futures_util::future::join_all;
use tokio::task::JoinSet;

use crate::Tables;
use crate::scale::scaled;

use super::{id, state, store};

/// The number of partitions into which a store divides its changes by default, or a multiple of it.
const PARTITIONS: u16 = 8;
/// Prime, so that pages begin and end anywhere.
const PAGE: usize = 97;
/// The length of the pages once all is stored: writers may be far ahead.
const LAST_PAGES: usize = 1_000;

/// The time for which they work in a test, as a rule: for hundreds of states and of pages.
const SHORT: Duration = Duration::from_millis(500);

/// The number of writers and readers, and the time for which they work.
struct Load {
    writers: usize,
    readers: usize,
    time: Duration,
    partitions: u16,
}

/// Writers and readers that meet in one partition.
///
/// # Panics
/// If a reader misses a state, or gets one twice.
pub async fn readers_miss_no_new_state_of_one_partition(tables: &dyn Tables) {
    readers_meet_writers_in_one_partition(tables, SHORT).await;
}

/// Does the same for `short` and again for as long, where half a second is too little.
///
/// # Panics
/// If a reader misses a state, or gets one twice.
pub async fn readers_meet_writers_in_one_partition(tables: &dyn Tables, short: Duration) {
    for (writers, readers) in [(2, 1), (8, 4)] {
        let load = Load {
            writers,
            readers,
            time: scaled(short, Duration::from_mins(5)),
            partitions: 1,
        };
        load.run(tables).await;
    }
}

/// Writers and readers all over the slices.
///
/// # Panics
/// If a reader misses a state, or gets one twice.
pub async fn readers_miss_no_new_state_of_any_partition(tables: &dyn Tables) {
    let load = Load {
        writers: 16,
        readers: 4,
        time: scaled(SHORT, Duration::from_mins(10)),
        partitions: PARTITIONS,
    };
    load.run(tables).await;
}

impl Load {
    /// Prints its numbers: a soak shows them.
    #[allow(clippy::print_stdout)]
    async fn run(&self, tables: &dyn Tables) {
        let stores = [tables.open().await, tables.open().await];
        // Of this run alone: a test may run several.
        let prefix = format!("{}-{}-{}", self.writers, self.readers, self.partitions);
        let ended = Arc::new(AtomicBool::new(false));
        let mut readers = JoinSet::new();
        for _ in 0..self.readers {
            let reader = Reader::new(tables.open().await, prefix.clone());
            readers.spawn(reader.read_until(Arc::clone(&ended), self.last_of(&prefix)));
        }
        let until = Instant::now() + self.time;
        let writers = (0..self.writers).map(|writer| {
            let ids = self.ids(format!("{prefix}-{writer}"));
            tokio::spawn(insert(Arc::clone(&stores[writer % 2]), ids, until))
        });
        let mut stored = HashSet::new();
        for writer in join_all(writers).await {
            stored.extend(writer.expect("no writer fails"));
        }
        // Stored after everything else: a reader that gets them, and that there is no more, had everything.
        for last in self.last_of(&prefix) {
            store(&*stores[0], state(last.entity_id(), 1)).await;
            stored.insert(last);
        }
        ended.store(true, Ordering::Release);
        while let Some(reader) = readers.join_next().await {
            let (pages, seen) = reader.expect("no reader fails");
            let missed: Vec<_> = stored.difference(&seen).take(10).collect();
            let number = stored.difference(&seen).count();
            println!(
                "{} writers, {} readers, {} partitions: {} states stored, {pages} pages read, {number} missed",
                self.writers,
                self.readers,
                self.partitions,
                stored.len()
            );
            assert_eq!(number, 0, "a reader missed {missed:?}");
        }
    }

    /// Endless ids of the partitions.
    fn ids(&self, prefix: String) -> impl Iterator<Item = PersistenceId> + use<> {
        let partitions = self.partitions;
        let ids = (0_u64..).map(move |number| id(&format!("{prefix}-{number}")));
        ids.filter(move |id| partition_of(id) < partitions)
    }

    /// Returns one id for each of the partitions.
    fn last_of(&self, prefix: &str) -> Vec<PersistenceId> {
        let last = |partition| {
            let mut ids = self.ids(format!("{prefix}-last"));
            ids.find(|id| partition_of(id) == partition)
        };
        (0..self.partitions).filter_map(last).collect()
    }
}

/// Stores new states, alone and in small groups, and returns their ids.
async fn insert(
    store: Arc<dyn StateStore>,
    mut ids: impl Iterator<Item = PersistenceId>,
    until: Instant,
) -> Vec<PersistenceId> {
    let mut stored = Vec::new();
    for size in (1..=4).cycle() {
        if Instant::now() > until {
            break;
        }
        let group: Vec<PersistenceId> = ids.by_ref().take(size).collect();
        let changes = group.iter().map(|id| state(id.entity_id(), 1).into());
        match store.write_group(changes.collect()).await {
            Ok(outcomes) => {
                for (id, outcome) in group.into_iter().zip(outcomes) {
                    outcome.expect("nothing stands against a new state");
                    stored.push(id);
                }
            }
            // SQLite lets a second process wait without a turn of its own, on a busy machine for too long.
            Err(error) => assert!(error.is_not_stored(), "{error:?}"),
        }
    }
    stored
}

/// Reads on from where it is, page by page, as a program that builds on changes does.
struct Reader {
    store: Arc<dyn StateStore>,
    query: StateChangesQuery,
    /// The prefix of the ids that count.
    prefix: String,
    pages: u64,
    seen: HashSet<PersistenceId>,
}

impl Reader {
    fn new(store: Arc<dyn StateStore>, prefix: String) -> Self {
        Self {
            store,
            query: StateChangesQuery::new("Test", PAGE),
            prefix,
            pages: 0,
            seen: HashSet::new(),
        }
    }

    /// Reads until there are no writers and these are there; returns the number of pages, and what was in them.
    async fn read_until(
        mut self,
        ended: Arc<AtomicBool>,
        last: Vec<PersistenceId>,
    ) -> (u64, HashSet<PersistenceId>) {
        loop {
            let nobody_writes = ended.load(Ordering::Acquire);
            if nobody_writes {
                self.query.limit = LAST_PAGES;
            }
            let more = self.read().await;
            if nobody_writes && !more && last.iter().all(|id| self.seen.contains(id)) {
                return (self.pages, self.seen);
            }
        }
    }

    /// Reads a page; whether there is more.
    async fn read(&mut self) -> bool {
        let queries = self.store.queries().expect("there are queries");
        let page = queries.changes(self.query.clone()).await;
        let page = page.expect("the changes can be read");
        for change in page.changes {
            let id = change.persistence_id;
            if id.entity_id().starts_with(&self.prefix) {
                assert!(self.seen.insert(id.clone()), "{id:?} came twice");
            }
        }
        self.pages += 1;
        self.query.after = page.offset;
        page.more
    }
}

fn partition_of(id: &PersistenceId) -> u16 {
    let partition = Partition::of_slice(id.slice(), PARTITIONS);
    partition.expect("every slice has a partition").nr()
}
