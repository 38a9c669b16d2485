//! The fates of calls: each is drawn for itself, from the seed and from which call it is.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Mutex;
use std::time::Duration;

use actix_persistence_storage_api::Operation;
use fastrand::Rng;

use crate::run::hold;

/// The longest time that a call takes which nothing is wrong with.
const LONGEST_LAG: Duration = Duration::from_millis(20);
/// The longest time after which something is done that is said to be unknown.
const LATEST: Duration = Duration::from_secs(20);

/// The fates of the calls of a process.
///
/// It depends on the seed, and on the operation, on what that is about and on how often that was called before; not on
/// what other calls there are, nor on their order. So what a call of one id has drawn stays when others come or go.
pub(super) struct Fates {
    seed: u64,
    /// The share of calls that go wrong: one in this many.
    fault_in: Option<u32>,
    /// The number of calls so far, by the hash of the operation and of what it is about.
    calls: Mutex<HashMap<u64, u64>>,
}

/// The fate of one call, and the time that it takes.
pub(super) struct Draw {
    random: Rng,
    fault_in: Option<u32>,
}

/// The fate of a call.
#[derive(Clone, Copy)]
pub(super) enum Fate {
    Works,
    Fails,
    /// A read meets what cannot be read.
    Corrupt,
    UnknownDone,
    UnknownNotDone,
    /// The call is done after the answer, such as after a later recovery.
    UnknownLater,
    PanicsBefore,
    PanicsAfter,
    /// The call is done, long after the caller has stopped waiting.
    Hangs,
}

impl Fates {
    pub(super) fn new(seed: u64, fault_in: Option<u32>) -> Self {
        Self {
            seed,
            fault_in,
            calls: Mutex::default(),
        }
    }

    /// The next call of an operation that is about this: an id, or what a reader asks for.
    pub(super) fn draw(&self, operation: Operation, about: impl Hash) -> Draw {
        // Its keys are always the same.
        let mut hasher = DefaultHasher::new();
        (self.seed, operation).hash(&mut hasher);
        about.hash(&mut hasher);
        let call = hasher.finish();
        let count = {
            let mut calls = hold(&self.calls);
            let count = calls.entry(call).or_default();
            *count += 1;
            *count
        };
        count.hash(&mut hasher);
        Draw {
            random: Rng::with_seed(hasher.finish()),
            fault_in: self.fault_in,
        }
    }

    /// Returns whether anything may go wrong at all.
    pub(super) fn is_cruel(&self) -> bool {
        self.fault_in.is_some()
    }
}

impl Draw {
    /// Returns one of these faults, or that it works.
    pub(super) fn fate(&mut self, faults: &[Fate]) -> Fate {
        if self.once_in(1) {
            faults[self.random.usize(..faults.len())]
        } else {
            Fate::Works
        }
    }

    /// Returns whether a call is one of those that are rarer by this factor than the calls that go wrong.
    pub(super) fn once_in(&mut self, times: u32) -> bool {
        let random = &mut self.random;
        self.fault_in
            .is_some_and(|fault_in| random.u32(..fault_in * times) == 0)
    }

    /// Returns the time that the call takes before it is done, or after that.
    pub(super) fn lag(&mut self) -> Option<Duration> {
        let lags = self.fault_in.is_some() && self.random.bool();
        lags.then(|| LONGEST_LAG.mul_f64(self.random.f64()))
    }

    /// Returns the time from its answer until the call is done.
    pub(super) fn lateness(&mut self) -> Duration {
        LATEST.mul_f64(self.random.f64())
    }

    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.random.usize(..limit)
    }

    pub(super) fn coin(&mut self) -> bool {
        self.random.bool()
    }
}
