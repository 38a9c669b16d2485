//! A run of a kind on a backend: what it may use, and what it reports.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use actix_persistence_test_servers::{Database, Server, ServerError};
use fastrand::Rng;

use crate::worker::WorkerBuilder;
use crate::{Backend, Chronicle, Kind, Place, Settings, Summary, is_interrupted};

/// The time for which a run in which nothing is acknowledged goes on after its time: a loaded machine may be slow.
const LONGEST_DELAY: Duration = Duration::from_secs(60);
/// The time for which a run that has not shown enough goes on after its time: some things come by chance, and on a loaded
/// machine rarely.
const LONGEST_SEARCH: Duration = Duration::from_secs(600);
/// The number of sentences that are kept; the others are counted.
const MOST_SENTENCES: usize = 20;

/// A run of a kind on a backend. Threads may share it.
pub struct Run {
    kind: &'static Kind,
    backend: Backend,
    seed: u64,
    rng: Mutex<Rng>,
    started: Instant,
    ends: Instant,
    least_cycles: u64,
    enough: fn(&Summary) -> bool,
    folder: PathBuf,
    program: PathBuf,
    cycles: AtomicU64,
    acknowledged: AtomicU64,
    lost: AtomicU64,
    figures: Mutex<BTreeMap<String, u64>>,
    violations: Mutex<Violations>,
    has_failed: Arc<AtomicBool>,
}

#[derive(Default)]
struct Violations {
    count: u64,
    first: Vec<String>,
}

impl Run {
    pub(crate) fn new(
        kind: &'static Kind,
        backend: Backend,
        settings: &Settings,
        folder: PathBuf,
    ) -> Self {
        let started = Instant::now();
        let seed = settings.seed;
        Self {
            kind,
            backend,
            seed,
            rng: Mutex::new(Rng::with_seed(seed)),
            started,
            ends: started + settings.length,
            least_cycles: settings.least_cycles,
            enough: settings.enough,
            folder,
            program: settings.program.clone(),
            cycles: AtomicU64::new(0),
            acknowledged: AtomicU64::new(0),
            lost: AtomicU64::new(0),
            figures: Mutex::default(),
            violations: Mutex::default(),
            has_failed: Arc::default(),
        }
    }

    /// Returns the backend that it runs on.
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// Returns the seed of all its decisions.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Numbers of its own for a part of the run, from the seed.
    ///
    /// Called in the same order, it returns the same; so a thread gets its own before it is started.
    pub fn rng(&self) -> Rng {
        hold(&self.rng).fork()
    }

    /// Returns whether to end: the time is over, something was violated, or someone pressed Ctrl-C.
    ///
    /// A run whose time is over goes on until it has had the least number of [cycles](Self::cycle); and, for a while, until
    /// something was acknowledged and it has shown [enough](Settings::enough), if it is to have any.
    pub fn is_over(&self) -> bool {
        self.has_failed()
            || is_interrupted()
            || self.left().is_zero() && self.has_its_cycles() && self.has_shown_enough()
    }

    fn has_its_cycles(&self) -> bool {
        self.cycles.load(Ordering::Relaxed) >= self.least_cycles
    }

    fn has_shown_enough(&self) -> bool {
        let overtime = self.ends.elapsed();
        let shows_something = self.acknowledged_so_far() > 0 || overtime > LONGEST_DELAY;
        let has_enough = || (self.enough)(&self.summary()) || overtime > LONGEST_SEARCH;
        self.least_cycles == 0 || shows_something && has_enough()
    }

    /// Returns the time for which it runs.
    pub fn length(&self) -> Duration {
        self.ends - self.started
    }

    /// Returns the time that is left.
    pub fn left(&self) -> Duration {
        self.ends.saturating_duration_since(Instant::now())
    }

    /// Returns whether nothing was done, or nothing acknowledged, although it had its time.
    pub(crate) fn shows_nothing(&self) -> bool {
        let done = [&self.cycles, &self.acknowledged];
        let is_nothing = done.iter().any(|sum| sum.load(Ordering::Relaxed) == 0);
        is_nothing && !self.has_failed() && !is_interrupted()
    }

    /// Returns whether anything was violated.
    pub fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Relaxed)
    }

    /// Returns the folder of the files of the run; removed in the end, unless something was violated.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns an empty database, which is removed when it is dropped; an SQLite file stays if the run has failed.
    ///
    /// # Errors
    /// If the database cannot be made.
    pub fn place(&self) -> anyhow::Result<Place> {
        Place::kept_if(self.backend, &self.folder, Arc::clone(&self.has_failed))
    }

    /// Starts a server for this run alone, which may be killed and stopped; see [`Place::on`].
    ///
    /// # Errors
    /// If the backend is no server, or it does not start.
    pub fn server(&self) -> anyhow::Result<Server> {
        self.server_by(Server::start)
    }

    /// Starts a server as [`server`](Self::server) does, which shows no commit that a crash may take back; see
    /// [`Server::start_with_log`].
    ///
    /// # Errors
    /// As [`server`](Self::server).
    pub fn server_with_log(&self) -> anyhow::Result<Server> {
        self.server_by(Server::start_with_log)
    }

    fn server_by(
        &self,
        start: fn(Database, &Path) -> Result<Server, ServerError>,
    ) -> anyhow::Result<Server> {
        let Some(database) = self.backend.server() else {
            anyhow::bail!("{} is no server", self.backend);
        };
        // Where a dead run has left servers, the next one removes them.
        let locks = self.folder.parent().unwrap_or(&self.folder);
        Ok(start(database, locks)?)
    }

    /// An empty history. It is written to a file of this name in the folder of the run.
    ///
    /// # Errors
    /// If the file cannot be made.
    pub fn chronicle(&self, name: &str) -> anyhow::Result<Chronicle> {
        Chronicle::begin(&self.folder.join(format!("{name}.history")))
    }

    /// A process of this program that does what [`Kind::worker`] says; its log has this name.
    pub fn worker(&self, log: &str) -> WorkerBuilder {
        let log = self.folder.join(format!("{log}.log"));
        let has_failed = Arc::clone(&self.has_failed);
        WorkerBuilder::new(&self.program, self.kind.name, log, has_failed)
    }

    /// Counts one more of what the kind repeats.
    pub fn cycle(&self) {
        self.cycles.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts writes that were acknowledged.
    pub fn acknowledged(&self, count: u64) {
        self.acknowledged.fetch_add(count, Ordering::Relaxed);
    }

    /// Reports writes that were acknowledged and are not there: a violation.
    pub fn lost(&self, count: u64, sentence: impl Into<String>) {
        self.lost.fetch_add(count, Ordering::Relaxed);
        self.violation(sentence);
    }

    /// Reports what must not be. The run is over.
    pub fn violation(&self, sentence: impl Into<String>) {
        self.has_failed.store(true, Ordering::Relaxed);
        let mut violations = hold(&self.violations);
        violations.count += 1;
        if violations.first.len() < MOST_SENTENCES {
            violations.first.push(sentence.into());
        }
    }

    /// Adds to a figure of the summary.
    pub fn add(&self, figure: &str, count: u64) {
        let mut figures = hold(&self.figures);
        match figures.get_mut(figure) {
            Some(sum) => *sum += count,
            None => {
                figures.insert(figure.to_owned(), count);
            }
        }
    }

    /// Makes a figure at least this high: the highest of several.
    pub fn highest(&self, figure: &str, value: u64) {
        let mut figures = hold(&self.figures);
        let highest = figures.entry(figure.to_owned()).or_default();
        *highest = value.max(*highest);
    }

    /// The figure so far.
    pub fn figure(&self, figure: &str) -> u64 {
        hold(&self.figures).get(figure).copied().unwrap_or(0)
    }

    /// Returns the number of writes acknowledged so far.
    pub fn acknowledged_so_far(&self) -> u64 {
        self.acknowledged.load(Ordering::Relaxed)
    }

    /// Sums up the run so far.
    pub fn summary(&self) -> Summary {
        let violations = hold(&self.violations);
        Summary {
            kind: self.kind.name.to_owned(),
            backend: self.backend.to_string(),
            cycles: self.cycles.load(Ordering::Relaxed),
            acknowledged: self.acknowledged_so_far(),
            lost: self.lost.load(Ordering::Relaxed),
            violations: violations.count,
            seed: self.seed,
            seconds: self.started.elapsed().as_secs(),
            figures: hold(&self.figures).clone(),
            found: violations.first.clone(),
            interrupted: is_interrupted(),
        }
    }
}

/// A thread that panicked leaves sums that are still sums.
pub(crate) fn hold<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
