//! The signals between the stop of everything and a live actor.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Context;

use futures_util::task::AtomicWaker;

use crate::UnfinishedWork;

/// The signal to end, shared by an actor and the code that stops it.
#[derive(Debug)]
pub(crate) struct DrainSignal {
    urgency: AtomicU8,
    /// Wakes the task of the actor.
    waker: AtomicWaker,
    left: Mutex<Option<Left>>,
}

/// The urgency with which an actor has to end; it only grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Urgency {
    /// The actor lives as long as it wants.
    None,
    /// The actor ends when everything that has arrived is done.
    Drain,
    /// The actor ends with its present turn.
    End,
}

/// The work that an actor still has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Left {
    pub(crate) work: UnfinishedWork,
    /// The number of messages that wait for the actor.
    pub(crate) waiting: usize,
}

impl DrainSignal {
    pub(crate) fn new() -> Self {
        Self {
            urgency: AtomicU8::new(Urgency::None as u8),
            waker: AtomicWaker::new(),
            // True until the actor says something else: it may never run again.
            left: Mutex::new(Some(Left {
                work: UnfinishedWork::Unresponsive,
                waiting: 0,
            })),
        }
    }

    /// Asks the actor to end with at least this urgency.
    pub(crate) fn raise(&self, urgency: Urgency) {
        self.urgency.fetch_max(urgency as u8, Ordering::AcqRel);
        self.waker.wake();
    }

    /// Returns the urgency with which the actor has to end; wakes its task when that changes.
    pub(crate) fn urgency(&self, cx: &Context<'_>) -> Urgency {
        // Listens before looking, so that no signal slips through in between.
        self.waker.register(cx.waker());
        match self.urgency.load(Ordering::Acquire) {
            0 => Urgency::None,
            1 => Urgency::Drain,
            _ => Urgency::End,
        }
    }

    /// Returns the work that the actor still has to do, as it last reported; `None` if it has ended as it should.
    pub(crate) fn left(&self) -> Option<Left> {
        *self.lock()
    }

    pub(crate) fn set_left(&self, left: Option<Left>) {
        *self.lock() = left;
    }

    fn lock(&self) -> MutexGuard<'_, Option<Left>> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
