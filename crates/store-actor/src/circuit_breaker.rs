//! Stops calling a store that keeps failing.
//!
//! `failsafe` 1.3 lets more than one trial through, `tower-resilience-circuitbreaker` 0.14 never lengthens the time for
//! which it stays open, and neither runs on tokio's clock, which tests pause: so this is our own.

use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

use actix_persistence_storage_api::{Operation, StorageError, StorageErrorKind};
use tokio::time::Instant;

use crate::call::{CallEnd, LateCall};
use crate::deadline::deadline_after;
use crate::refusal::Refusal;
use crate::store_health::{Barrier, StoreHealth};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The limits at which a breaker opens, and the time after which it tries again; names and defaults as in Akka.
#[derive(Clone, Debug, PartialEq)]
pub struct BreakerSettings {
    /// The number of failures in a row that opens it; 0 counts as 1.
    pub max_failures: u32,
    /// The longest time of one call; a longer call is a failure.
    pub call_timeout: Duration,
    /// The time for which it stays open before one call is tried.
    pub reset_timeout: Duration,
    /// The longest it stays open.
    pub max_reset_timeout: Duration,
    /// The factor by which the time it stays open is multiplied after each failed trial; 1.0 keeps it constant.
    pub exponential_backoff: f64,
    /// The random part of the time it stays open: 0.2 lengthens it by up to a fifth.
    pub random_factor: f64,
}

impl BreakerSettings {
    /// Returns the defaults for a journal: 10 failures, 10 s per call, 30 s open.
    pub fn journal() -> Self {
        Self::constant(10, 10, 30)
    }

    /// Returns the defaults for a snapshot store: 5 failures, 20 s per call, 60 s open.
    pub fn snapshot_store() -> Self {
        Self::constant(5, 20, 60)
    }

    fn constant(max_failures: u32, call_secs: u64, reset_secs: u64) -> Self {
        Self {
            max_failures,
            call_timeout: Duration::from_secs(call_secs),
            reset_timeout: Duration::from_secs(reset_secs),
            max_reset_timeout: 36_500 * DAY,
            exponential_backoff: 1.0,
            random_factor: 0.0,
        }
    }

    /// Returns the time for which the breaker stays open after this many failed trials in a row.
    fn open_for(&self, failed_trials: u32) -> Duration {
        let longest = self.max_reset_timeout.max(self.reset_timeout);
        let growth = self.exponential_backoff.max(1.0).powf(failed_trials.into());
        let jitter = 1.0 + fastrand::f64() * self.random_factor.max(0.0);
        let seconds = self.reset_timeout.as_secs_f64() * growth * jitter;
        Duration::try_from_secs_f64(seconds).map_or(longest, |duration| duration.min(longest))
    }
}

/// Lets calls through while they succeed, none for a while after too many failures in a row, then one as a trial.
///
/// A [probe](StoreHealth) that finds the store at work is as good as a trial, and comes earlier: all calls are let through
/// then, and the next failure opens it again.
///
/// Results are reported through the [`Entry`] of each call; those of calls that began before the breaker last changed
/// its mind are ignored. The clock is tokio's.
#[derive(Debug)]
pub struct CircuitBreaker {
    name: String,
    settings: BreakerSettings,
    health: Arc<StoreHealth>,
    position: Mutex<Position>,
}

#[derive(Debug)]
struct Position {
    state: State,
    /// The number of changes of state, by which late results are recognised.
    generation: u64,
    /// The number of trials that failed since a call last worked.
    failed_trials: u32,
    /// True if a probe let calls through and none has worked yet.
    on_probation: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Closed { failures: u32 },
    Open { until: Instant },
    HalfOpen,
}

/// The fact about the store that the end of a call shows.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Success,
    Failure,
    /// The end of a call that never came to the store.
    Unknown,
}

/// The permission to make one call; dropping it without a result counts as a failure.
#[must_use = "dropping it counts as a failure"]
#[derive(Debug)]
pub struct Entry {
    breaker: Arc<CircuitBreaker>,
    generation: u64,
    reported: bool,
}

/// The breaker lets no call through.
#[derive(Clone, Debug, PartialEq)]
pub struct BreakerOpen {
    name: String,
    /// The least time for which it stays open; zero while the outcome of a trial is awaited.
    pub remaining: Duration,
}

impl CircuitBreaker {
    /// Makes a closed breaker for calls of the store with this health; the name says in errors and logs for what it is.
    pub fn new(
        name: impl Into<String>,
        settings: BreakerSettings,
        health: &Arc<StoreHealth>,
    ) -> Arc<Self> {
        let breaker = Arc::new(Self {
            name: name.into(),
            settings,
            health: Arc::clone(health),
            position: Mutex::new(Position {
                state: State::Closed { failures: 0 },
                generation: 0,
                failed_trials: 0,
                on_probation: false,
            }),
        });
        health.attach(Arc::downgrade(&breaker) as Weak<dyn Barrier>);
        breaker
    }

    /// Returns the longest time of one call.
    pub fn call_timeout(&self) -> Duration {
        self.settings.call_timeout
    }

    /// Fails if a call would not be let through now, without making one.
    ///
    /// # Errors
    /// [`BreakerOpen`] says for how long calls are refused.
    pub fn check(&self) -> Result<(), BreakerOpen> {
        self.remaining(self.lock().state)
    }

    /// Lets a call through, or not; the first one after the time to stay open is the trial.
    ///
    /// # Errors
    /// [`BreakerOpen`] if the call must not be made.
    pub fn enter(self: &Arc<Self>) -> Result<Entry, BreakerOpen> {
        let mut position = self.lock();
        self.remaining(position.state)?;
        if matches!(position.state, State::Open { .. }) {
            position.change(State::HalfOpen);
            tracing::debug!(breaker = %self.name, "circuit breaker tries one call");
        }
        Ok(Entry {
            breaker: self.clone(),
            generation: position.generation,
            reported: false,
        })
    }

    fn remaining(&self, state: State) -> Result<(), BreakerOpen> {
        let remaining = match state {
            State::Closed { .. } => return Ok(()),
            State::Open { until } => {
                let remaining = until.saturating_duration_since(Instant::now());
                if remaining.is_zero() {
                    return Ok(());
                }
                remaining
            }
            State::HalfOpen => Duration::ZERO,
        };
        Err(BreakerOpen {
            name: self.name.clone(),
            remaining,
        })
    }

    fn report(&self, generation: u64, end: End) {
        let mut position = self.lock();
        if position.generation != generation {
            return;
        }
        let success = end == End::Success;
        match position.state {
            State::Closed { .. } if end == End::Unknown => {}
            State::Closed { .. } if success => {
                position.state = State::Closed { failures: 0 };
                if std::mem::take(&mut position.on_probation) {
                    position.failed_trials = 0;
                }
            }
            State::Closed { failures } if failures + 1 < self.settings.max_failures => {
                position.state = State::Closed {
                    failures: failures + 1,
                };
            }
            State::Closed { .. } => {
                if position.on_probation {
                    position.failed_trials = position.failed_trials.saturating_add(1);
                }
                self.open(&mut position);
            }
            State::HalfOpen if success => {
                position.failed_trials = 0;
                position.change(State::Closed { failures: 0 });
                tracing::debug!(breaker = %self.name, "circuit breaker closed");
            }
            State::HalfOpen if end == End::Unknown => self.open(&mut position),
            State::HalfOpen => {
                position.failed_trials = position.failed_trials.saturating_add(1);
                self.open(&mut position);
            }
            // No call enters an open breaker, so no entry has its generation.
            State::Open { .. } => {}
        }
        let has_opened = matches!(position.state, State::Open { .. });
        drop(position);
        if has_opened {
            let message = format!("the circuit breaker for {} has opened", self.name);
            let error = StorageError::new(StorageErrorKind::Unavailable, Operation::ReadHead);
            self.health.failed(&error.with_message(message));
        }
    }

    fn open(&self, position: &mut Position) {
        let open_for = self.settings.open_for(position.failed_trials);
        position.change(State::Open {
            until: deadline_after(open_for),
        });
        tracing::debug!(breaker = %self.name, ?open_for, "circuit breaker opened");
    }

    fn lock(&self) -> MutexGuard<'_, Position> {
        self.position
            .lock()
            .expect("nothing panics while it holds the lock")
    }
}

impl Barrier for CircuitBreaker {
    fn readmit(&self) {
        let mut position = self.lock();
        if !matches!(position.state, State::Closed { .. }) {
            let failures = self.settings.max_failures.saturating_sub(1);
            position.on_probation = true;
            position.change(State::Closed { failures });
            tracing::debug!(breaker = %self.name, "circuit breaker closed by a probe");
        }
    }
}

impl Position {
    fn change(&mut self, state: State) {
        self.state = state;
        self.generation += 1;
    }
}

impl Entry {
    /// Reports that the call worked, or failed for a reason that is not the store's.
    pub fn succeeded(mut self) {
        self.report(End::Success);
    }

    /// Reports that the call failed.
    pub fn failed(mut self) {
        self.report(End::Failure);
    }

    /// Reports that the call never came to the store: neither a success nor a failure. If it was a trial, another one
    /// is made, as late as this one was.
    pub fn showed_nothing(mut self) {
        self.report(End::Unknown);
    }

    /// Records the result of the call: an error counts as a failure if its kind is the store's fault.
    ///
    /// A call that never came to the store, because the process asked too much of it at once, counts as neither.
    pub fn ended<T>(self, result: &Result<T, StorageError>) {
        self.breaker.health.note(result);
        match result {
            Err(error) if error.kind() == StorageErrorKind::Busy => self.showed_nothing(),
            Err(error) if error.kind().counts_as_store_failure() => self.failed(),
            _ => self.succeeded(),
        }
    }

    /// Reports a call whose asker had less time than a call may take: what it returns in the `rest` of that, or a
    /// failure.
    ///
    /// # Cancel safety
    /// Dropping the future counts as a failure; the call goes on.
    pub async fn watch<T>(self, late: LateCall<T>, rest: Duration) {
        match late.within(rest).await {
            CallEnd::InTime(result) => self.ended(&result),
            CallEnd::Late(late) => self.ended::<T>(&Err(late.error())),
        }
    }

    fn report(&mut self, end: End) {
        self.reported = true;
        self.breaker.report(self.generation, end);
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        if !self.reported {
            self.report(End::Failure);
        }
    }
}

impl From<BreakerOpen> for Refusal {
    fn from(open: BreakerOpen) -> Self {
        let message = if open.remaining.is_zero() {
            format!(
                "circuit breaker {} waits for the outcome of a trial",
                open.name
            )
        } else {
            format!(
                "the circuit breaker for {} is open for another {:?}",
                open.name, open.remaining
            )
        };
        Refusal::new(StorageErrorKind::Unavailable, message)
    }
}

#[cfg(test)]
mod tests;
