//! The health of a store: whether it works, who waits until it does, and what is said of it.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use actix_persistence_storage_api::{BackOff, Operation, StorageError, StorageErrorKind};
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};

use crate::call::{CallEnd, Caller};
use crate::log_limiter::LogLimiter;
use crate::observed::Observed;
use crate::outstanding::Outstanding;

/// The time from the first failure to the first probe.
const FIRST_DELAY: Duration = Duration::from_millis(100);
/// The longest time between two probes of an outage.
const LONGEST_DELAY: Duration = Duration::from_secs(1);
/// The longest a store that answers probes and fails calls is left alone before the next probe.
const LONGEST_REST: Duration = Duration::from_secs(30);
/// The time to wait for an answer before another probe is sent beside it.
const PATIENCE: Duration = Duration::from_secs(2);
/// The number of probes that may be without an answer at the same time.
const MAX_UNANSWERED: usize = 3;
/// A store that fails within this time after it came back never really did.
const RELAPSE: Duration = Duration::from_secs(10);
/// The time after the end of an outage for which it still accounts for failures that are noticed late.
const AFTERMATH: Duration = Duration::from_secs(5);
/// The time over which those that waited for a store go on, each at a random moment, and not all at once.
const SPREAD: Duration = Duration::from_millis(500);
/// The number of relapses in a row that are logged one by one.
const TOLD_RELAPSES: u32 = 2;
/// The time between two lines of log about one outage.
const LOG_PERIOD: Duration = Duration::from_secs(60);

/// Makes the call that finds out whether the store works.
pub type Ping =
    Box<dyn Fn() -> Pin<Box<dyn Future<Output = Result<(), StorageError>> + Send>> + Send + Sync>;

/// Keeps calls from a store that fails.
pub(crate) trait Barrier: Send + Sync {
    /// Lets calls through again: the store works.
    fn readmit(&self);
}

/// Knows whether a store works.
///
/// The first call that the store does not answer begins an *outage*. While it lasts, a probe asks the store by a call of
/// its own, every second at the latest, and the first good answer ends it: circuit breakers let calls through again, and
/// who waits for the [return](Self::returned) goes on. A store that answers probes and then fails calls is asked after
/// longer and longer rests, up to half a minute. There is one line of log when an outage begins, and one when it ends.
///
/// The clock is tokio's. Probes end with this.
pub struct StoreHealth {
    store: String,
    caller: Caller,
    ping: Ping,
    barriers: Mutex<Vec<Weak<dyn Barrier>>>,
    course: Mutex<Course>,
    condition: Arc<Observed<Condition>>,
    waiting: Arc<AtomicUsize>,
    log: LogLimiter,
}

/// The course of outages so far.
#[derive(Default)]
struct Course {
    /// True if the store was ever ready; no probe is made before.
    initialized: bool,
    /// True if a probe is under way, or about to be.
    probing: bool,
    /// The outage under way.
    outage: Option<Outage>,
    /// The number of outages in a row that followed soon after the one before.
    relapses: u32,
    /// Distinguishes the probe of one outage from that of the next.
    probes: u64,
}

struct Outage {
    since: Instant,
    failures: u64,
    /// True if anything was said of it, so that its end is worth a line, too.
    told: bool,
}

#[derive(Clone, Copy)]
enum Condition {
    Works { since: Option<Instant> },
    Fails,
}

impl StoreHealth {
    /// Makes the health of a store that is not initialised yet; its probes run on `runtime`. The name says in the log
    /// which store it is.
    pub fn new(store: impl Into<String>, runtime: Handle, ping: Ping) -> Arc<Self> {
        Arc::new(Self {
            store: store.into(),
            // No stop waits for a probe.
            caller: Caller::new(runtime, Outstanding::new()),
            ping,
            barriers: Mutex::default(),
            course: Mutex::default(),
            condition: Arc::new(Observed::new(Condition::Works { since: None })),
            waiting: Arc::default(),
            log: LogLimiter::new(LOG_PERIOD),
        })
    }

    /// Opens this barrier whenever the store works again, for as long as the barrier is there.
    pub(crate) fn attach(&self, barrier: Weak<dyn Barrier>) {
        let mut barriers = self.barriers.lock().unwrap_or_else(PoisonError::into_inner);
        barriers.push(barrier);
    }

    /// Returns whether a failure of this kind is what an outage looks like to a caller.
    fn is_of_an_outage(error: &StorageError) -> bool {
        matches!(
            error.kind(),
            StorageErrorKind::Unavailable | StorageErrorKind::Timeout
        )
    }

    /// Records the result of a call.
    pub fn note<T>(self: &Arc<Self>, result: &Result<T, StorageError>) {
        if let Err(error) = result
            && Self::is_of_an_outage(error)
        {
            self.failed(error);
        }
    }

    /// The store did not answer a call, or cannot be initialised, or its breaker has opened.
    pub(crate) fn failed(self: &Arc<Self>, error: &StorageError) {
        let mut course = self.lock();
        let is_new = course.outage.is_none();
        if is_new {
            self.begin(&mut course);
        }
        let initialized = course.initialized;
        // Until it is initialised, initialising is the probe.
        if initialized && !course.probing {
            course.probing = true;
            course.probes += 1;
            let probing = probe(Arc::downgrade(self), course.probes, rest(course.relapses));
            self.caller.runtime().spawn(probing);
        }
        let is_told = is_new && course.relapses <= TOLD_RELAPSES;
        let Some(outage) = &mut course.outage else {
            return;
        };
        outage.failures += 1;
        let due = self.log.due();
        if due.is_some() || is_told {
            outage.told = true;
            let (failures, lasts) = (outage.failures, outage.since.elapsed());
            drop(course);
            self.tell(error, initialized, failures, lasts);
        }
    }

    fn tell(&self, error: &StorageError, initialized: bool, failures: u64, lasts: Duration) {
        let cause = std::error::Error::source(error).map(ToString::to_string);
        let (store, lasts_ms) = (&*self.store, lasts.as_millis() as u64);
        if initialized {
            tracing::warn!(
                store, failures, lasts_ms, %error, cause,
                "the store does not answer; what needs it waits and goes on as soon as it does. \
                 See whether the database runs and can be reached"
            );
        } else {
            tracing::warn!(
                store, failures, lasts_ms, %error, cause,
                "initializing failed, trying again; what needs the store waits. \
                 See whether the database runs and can be reached"
            );
        }
    }

    fn begin(&self, course: &mut Course) {
        let condition = self.condition.get();
        let relapsed = matches!(condition, Condition::Works { since: Some(since) }
            if since.elapsed() < RELAPSE + rest(course.relapses));
        course.relapses = if relapsed { course.relapses + 1 } else { 0 };
        course.outage = Some(Outage {
            since: Instant::now(),
            failures: 0,
            told: false,
        });
        self.set_condition(Condition::Fails);
    }

    /// The store was made ready: the end of an outage that it began with.
    pub(crate) fn initialized(&self) {
        self.lock().initialized = true;
        self.back();
    }

    /// The store works again.
    fn back(&self) {
        let mut course = self.lock();
        let Some(outage) = course.outage.take() else {
            return;
        };
        course.probing = false;
        // First the calls, then those who make them.
        let barriers = self.barriers.lock().unwrap_or_else(PoisonError::into_inner);
        barriers
            .iter()
            .filter_map(Weak::upgrade)
            .for_each(|barrier| barrier.readmit());
        drop(barriers);
        let (store, waiting) = (&*self.store, self.waiting.load(Ordering::Relaxed));
        let since = Some(Instant::now());
        self.set_condition(Condition::Works { since });
        // Only now: a call that fails from here on begins an outage of its own.
        drop(course);
        let (failures, lasted_ms) = (outage.failures, outage.since.elapsed().as_millis() as u64);
        if outage.told {
            tracing::info!(store, lasted_ms, failures, waiting, "the store works again");
        } else {
            tracing::debug!(store, lasted_ms, failures, waiting, "the store works again");
        }
    }

    /// Returns whether an outage is why a call failed like this, so that nothing more need be said of it.
    pub fn accounts_for(&self, error: &StorageError) -> bool {
        Self::is_of_an_outage(error)
            && match self.condition.get() {
                Condition::Fails => true,
                Condition::Works { since } => since.is_some_and(|at| at.elapsed() < AFTERMATH),
            }
    }

    /// Waits until the store works again after an outage that [accounts](Self::accounts_for) for a failure, and for a
    /// moment at random more, so that not all go on at once; for ever if nothing is known of an outage.
    ///
    /// The future needs a tokio timer where it is polled. It does not keep the probes going.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    pub fn returned(&self) -> impl Future<Output = ()> + Send + use<> {
        let condition = Arc::clone(&self.condition);
        let waiting = Waiting::new(&self.waiting);
        let recent = |condition: &Condition| matches!(condition, Condition::Works { since: Some(since) } if since.elapsed() < AFTERMATH);
        async move {
            condition.wait_for(recent).await;
            drop(waiting);
            tokio::time::sleep(SPREAD.mul_f64(fastrand::f64())).await;
        }
    }

    /// Ends the probe that is under way; the next failure starts another. For when the store is closed.
    pub fn rest(&self) {
        let mut course = self.lock();
        course.probes += 1;
        course.probing = false;
    }

    fn is_current(&self, number: u64) -> bool {
        let course = self.lock();
        course.probing && course.probes == number
    }

    fn set_condition(&self, to: Condition) {
        self.condition.update(|condition| *condition = to);
    }

    fn lock(&self) -> MutexGuard<'_, Course> {
        self.course.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the time for which a store that failed so soon again is left alone before the first probe.
fn rest(relapses: u32) -> Duration {
    let doubled = 2_u32.checked_pow(relapses).unwrap_or(u32::MAX);
    FIRST_DELAY.saturating_mul(doubled).min(LONGEST_REST)
}

/// Counts as one that waits until dropped.
struct Waiting(Arc<AtomicUsize>);

impl Waiting {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(count))
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Asks the store until it answers, or until the answer is not needed any more.
///
/// A probe that hangs is left to itself, as every call of a store, and another one is sent beside it.
async fn probe(health: Weak<StoreHealth>, number: u64, first: Duration) {
    let mut delays = BackOff::new(first.min(LONGEST_DELAY), LONGEST_DELAY, 0.2);
    let (sender, mut answers) = mpsc::channel(MAX_UNANSWERED);
    let mut unanswered = 0;
    tokio::time::sleep(first).await;
    loop {
        {
            let Some(health) = health.upgrade().filter(|health| health.is_current(number)) else {
                return;
            };
            if unanswered < MAX_UNANSWERED {
                unanswered += 1;
                health.ask(sender.clone());
            }
        }
        let answered = timeout(PATIENCE, answers.recv()).await;
        if let Ok(Some(works)) = answered {
            unanswered -= 1;
            if works {
                if let Some(health) = health.upgrade().filter(|health| health.is_current(number)) {
                    health.back();
                }
                return;
            }
            tokio::time::sleep(delays.next_delay()).await;
        }
    }
}

impl StoreHealth {
    fn ask(&self, answers: mpsc::Sender<bool>) {
        let call = self.caller.start(Operation::ReadHead, (self.ping)());
        self.caller.runtime().spawn(async move {
            let mut end = call.within(LONGEST_REST).await;
            let works = loop {
                match end {
                    CallEnd::InTime(Ok(())) => break true,
                    CallEnd::InTime(Err(error)) => {
                        let kind = error.kind();
                        break !kind.counts_as_store_failure() && kind != StorageErrorKind::Busy;
                    }
                    CallEnd::Late(late) => end = late.within(LONGEST_REST).await,
                }
            };
            // The receiver may be gone by now.
            let _ = answers.send(works).await;
        });
    }
}

impl fmt::Debug for StoreHealth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fails = matches!(self.condition.get(), Condition::Fails);
        f.debug_struct("StoreHealth")
            .field("store", &self.store)
            .field("fails", &fails)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
