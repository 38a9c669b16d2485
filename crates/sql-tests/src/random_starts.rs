//! Stores that are initialised at random moments beside others that write, while the server ends sessions, tables are locked and
//! calls are dropped.
//!
//! For a second, unless `ACTIX_PERSISTENCE_TEST_SCALE=full` as `cargo xtask soak` sets it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use actix_persistence_storage_api::{
    Journal, Payload, PersistenceId, Plugin, Section, SnapshotCriteria, SnapshotMetadata,
    SnapshotStore, StateExtensions, StateStore, StateUpdate, StorageError, StorageErrorKind,
    Timestamp, WriteOutcome, WriterId,
};
use actix_persistence_tck::TakeOverOne;
use fastrand::Rng;
use futures_util::future::{join, join_all};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::scale::scaled;
use crate::steps::{chain, id, numbers, write};
use crate::{OnServer, StoreKind, until_number};

/// The longest time that a store which nothing disturbs may need on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// A call that is dropped is dropped before this time is over, in microseconds.
const DROPPED_WITHIN: u64 = 20_000;
/// The length of the locks of other applications, in milliseconds. The last one is longer than a writer looks at tables.
const LOCKED_FOR: [u64; 6] = [1, 5, 20, 100, 300, 1_200];
/// The time between an error that passes and the next attempt.
const PAUSE: Duration = Duration::from_millis(1);
const KINDS: [StoreKind; 3] = [
    StoreKind::Journal,
    StoreKind::SnapshotStore,
    StoreKind::StateStore,
];
const TABLES: [&str; 3] = ["event_journal", "snapshot", "durable_state"];

/// Plays rounds with seeds of their own, each in a database of its own.
///
/// # Panics
/// If a store loses what it has confirmed, reports an error that does not pass, or is of no more use.
#[allow(clippy::print_stdout)] // a seed is of use when the test fails
pub async fn stores_that_start_at_random_moments_lose_nothing<P: OnServer>(
    make_place: impl AsyncFn() -> P,
) {
    let length = scaled(Duration::from_secs(1), Duration::from_mins(10));
    let ends = Instant::now() + length;
    let (mut rounds, mut confirmed) = (0, 0);
    while rounds == 0 || Instant::now() < ends {
        let seed = fastrand::u64(..);
        println!("a round with the seed {seed}");
        confirmed += play(&make_place().await, seed).await;
        rounds += 1;
    }
    println!("{rounds} rounds, {confirmed} confirmed writes");
}

/// Returns the number of writes that were confirmed.
async fn play(place: &dyn OnServer, seed: u64) -> u64 {
    let mut random = Rng::with_seed(seed);
    if random.bool() {
        let made = place.initialize_all(&StateExtensions::default()).await;
        made.expect("nothing disturbs it");
    }
    let mut processes = Vec::new();
    for _ in 0..random.usize(1..=3) {
        let mut process = Process::of(place);
        let section = process.section.with("writers", random.i64(1..=4));
        let lock_timeout = ["50ms", "30s"][random.usize(..2)];
        process.section = section.with("lock-timeout", lock_timeout);
        processes.push(process);
    }
    let is_over = Arc::new(AtomicBool::new(false));
    let mut workers = JoinSet::new();
    for number in 0..random.usize(3..=9) {
        let mut worker = Worker {
            process: processes[random.usize(..processes.len())].clone(),
            kind: KINDS[random.usize(..KINDS.len())],
            id: id(&number.to_string()),
            random: random.fork(),
            confirmed: 0,
            is_uncertain: false,
        };
        let is_over = Arc::clone(&is_over);
        workers.spawn(async move {
            worker.work(&is_over).await;
            worker
        });
    }

    let ends = end_sessions(place, random.fork());
    join(ends, lock_tables(place, random.fork())).await;

    is_over.store(true, Ordering::Relaxed);
    let mut confirmed = 0;
    let all_end = timeout(2 * PATIENCE, workers.join_all());
    for mut worker in all_end.await.expect("every worker ends") {
        worker.finds_all_of_it(place).await;
        confirmed += worker.confirmed;
    }
    join_all(processes.iter().map(Process::still_works)).await;
    let nothing_is_left = until_number(place, place.counts_transactions_and_locks(), |left| {
        left == 0
    });
    let nothing_is_left = timeout(PATIENCE, nothing_is_left).await;
    nothing_is_left.expect("no transaction and no lock is left");
    confirmed
}

async fn end_sessions(place: &dyn OnServer, mut random: Rng) {
    for _ in 0..random.usize(0..=4) {
        sleep(Duration::from_millis(random.u64(0..100))).await;
        place.end_sessions().await;
    }
}

async fn lock_tables(place: &dyn OnServer, mut random: Rng) {
    for _ in 0..random.usize(0..=3) {
        sleep(Duration::from_millis(random.u64(0..50))).await;
        let time = Duration::from_millis(LOCKED_FOR[random.usize(..LOCKED_FOR.len())]);
        let locks = place.locks_for(TABLES[random.usize(..TABLES.len())], time);
        // The table may not be made yet, and the session may be ended.
        let _ = place.try_run(&locks).await;
    }
}

/// Stores that share connections, as those of a process do.
#[derive(Clone)]
struct Process {
    plugin: Arc<dyn Plugin>,
    section: Section,
}

impl Process {
    fn of(place: &dyn OnServer) -> Self {
        Self {
            plugin: Arc::from(place.plugin()),
            // Shorter than what a worker has to end.
            section: place.section().with("acquire-timeout", "20s"),
        }
    }

    fn open(&self, kind: StoreKind) -> Store {
        self.open_with(kind, &self.section)
    }

    fn open_with(&self, kind: StoreKind, section: &Section) -> Store {
        let plugin = &self.plugin;
        let store = match kind {
            StoreKind::Journal => plugin.journal(section).map(Store::Journal),
            StoreKind::SnapshotStore => plugin.snapshot_store(section).map(Store::Snapshots),
            StoreKind::StateStore => {
                let states = plugin.state_store(section, &StateExtensions::default());
                states.map(Store::States)
            }
        };
        store.expect("the section is right")
    }

    /// Stores of all kinds can be initialised once more, and more of them write at once than there are connections.
    async fn still_works(&self) {
        let all = (0..12).map(async |number| {
            let kind = KINDS[number % KINDS.len()];
            let store = self.open(kind);
            let id = PersistenceId::of("Last", &fastrand::u64(..).to_string());
            let works = async {
                store.until_initialized().await;
                while let Err(error) = store.store(&id, 1).await {
                    assert_passes(error);
                    sleep(PAUSE).await;
                }
            };
            let works = timeout(PATIENCE, works).await;
            works.unwrap_or_else(|_| panic!("{kind:?} is of no more use in {:?}", self.section));
        });
        join_all(all).await;
    }
}

enum Store {
    Journal(Arc<dyn Journal>),
    Snapshots(Arc<dyn SnapshotStore>),
    States(Arc<dyn StateStore>),
}

impl Store {
    async fn initialize(&self) -> Result<(), StorageError> {
        match self {
            Self::Journal(store) => store.initialize().await,
            Self::Snapshots(store) => store.initialize().await,
            Self::States(store) => store.initialize().await,
        }
    }

    /// Initialises it, again while that fails for a reason that passes.
    async fn until_initialized(&self) {
        while let Err(error) = self.initialize().await {
            assert_passes(error);
            sleep(PAUSE).await;
        }
    }

    async fn close(&self) {
        match self {
            Self::Journal(store) => store.close().await,
            Self::Snapshots(store) => store.close().await,
            Self::States(store) => store.close().await,
        }
    }

    /// Returns the highest number of an id.
    async fn highest(&self, id: &PersistenceId) -> Result<u64, StorageError> {
        match self {
            Self::Journal(journal) => journal.read_highest_sequence_nr(id).await,
            Self::Snapshots(snapshots) => {
                let loaded = snapshots.load(id, SnapshotCriteria::LATEST).await?;
                Ok(loaded.map_or(0, |snapshot| snapshot.metadata.sequence_nr))
            }
            Self::States(states) => Ok(states.get(id).await?.revision),
        }
    }

    /// Stores the next number of an id.
    async fn store(&self, id: &PersistenceId, number: u64) -> Result<(), StorageError> {
        let payload = Payload::new(2, "test:v1", number.to_string());
        match self {
            Self::Journal(journal) => {
                let writer = WriterId::random();
                let taken = journal.take_over_one(id, writer).await?;
                if taken.highest_sequence_nr == number {
                    return Ok(()); // a write of unknown outcome was first
                }
                let write = write(id, taken.epoch, writer, number..=number);
                match journal.write_messages(vec![write]).await?.remove(0) {
                    WriteOutcome::Stored => Ok(()),
                    WriteOutcome::Failed(error) => Err(error),
                    other => unreachable!("{other:?}"),
                }
            }
            Self::Snapshots(snapshots) => {
                let metadata = SnapshotMetadata::new(id.clone(), number, Timestamp::now());
                snapshots.save(metadata, payload).await
            }
            Self::States(states) => {
                states
                    .upsert(StateUpdate::new(id.clone(), number, payload))
                    .await
            }
        }
    }
}

/// The only one that writes an id.
struct Worker {
    process: Process,
    kind: StoreKind,
    id: PersistenceId,
    random: Rng,
    confirmed: u64,
    /// True if the number after the confirmed one may be stored, or may still be.
    is_uncertain: bool,
}

impl Worker {
    async fn work(&mut self, is_over: &AtomicBool) {
        let mut store = self.open().await;
        while !is_over.load(Ordering::Relaxed) {
            match self.random.u8(..16) {
                0 => store = self.open().await,
                1 => {
                    store.close().await;
                    store = self.open().await;
                }
                2..=6 => drop(timeout(self.moment(), self.write(&store)).await),
                _ => self.write(&store).await,
            }
        }
    }

    fn moment(&mut self) -> Duration {
        Duration::from_micros(self.random.u64(..DROPPED_WITHIN))
    }

    /// Opens the store, often after attempts that are dropped, or that fail if there are no tables.
    async fn open(&mut self) -> Store {
        if self.random.bool() {
            let section = self.process.section.clone();
            let makes_nothing = section.with("auto-initialize", false);
            let made = self.process.open_with(self.kind, &makes_nothing);
            if let Err(error) = made.initialize().await
                && error.kind() != StorageErrorKind::SchemaMismatch
            {
                assert_passes(error);
            }
        }
        let store = self.process.open(self.kind);
        while self.random.bool() {
            drop(timeout(self.moment(), store.initialize()).await);
        }
        store.until_initialized().await;
        store
    }

    async fn write(&mut self, store: &Store) {
        let Ok(found) = store.highest(&self.id).await.map_err(assert_passes) else {
            return;
        };
        self.checks(found);
        let was_uncertain = self.is_uncertain;
        self.is_uncertain = true;
        match store.store(&self.id, self.confirmed + 1).await {
            Ok(()) => {
                self.confirmed += 1;
                self.is_uncertain = false;
            }
            // The write of unknown outcome was stored after the look.
            Err(error) if was_uncertain && error.revision_conflict().is_some() => {}
            Err(error) => {
                self.is_uncertain = was_uncertain || !error.is_not_stored();
                assert_passes(error);
            }
        }
    }

    fn checks(&mut self, found: u64) {
        let may_be = self.confirmed..=self.confirmed + u64::from(self.is_uncertain);
        let id = &self.id;
        assert!(
            may_be.contains(&found),
            "{:?} of {id}: {found} is none of {may_be:?}",
            self.kind
        );
        if found > self.confirmed {
            self.confirmed = found;
            self.is_uncertain = false;
        }
    }

    /// Looks at what is stored in the end, as another process does.
    async fn finds_all_of_it(&mut self, place: &dyn OnServer) {
        let store = Process::of(place).open(self.kind);
        store.until_initialized().await;
        let found = store.highest(&self.id).await.expect("nothing disturbs it");
        self.checks(found);
        if let Store::Journal(journal) = &store {
            let expected: Vec<_> = (1..=found).collect();
            assert_eq!(numbers(&**journal, &self.id).await, expected);
        }
    }
}

fn assert_passes(error: StorageError) {
    assert!(
        error.kind().is_transient(),
        "{:?}: {}",
        error.kind(),
        chain(&error)
    );
}
