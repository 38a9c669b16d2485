//! Code of the application on a connection of the store.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A visit: code of the application that runs in a transaction, the time for which it may, and what is known of what it
/// did.
///
/// Known to the store even if the code, or what it waits for, is dropped at any await.
#[derive(Clone, Debug)]
pub(crate) struct Visit {
    limit: Duration,
    traces: Arc<Traces>,
}

#[derive(Debug, Default)]
struct Traces {
    may_have_committed: AtomicBool,
    may_have_changed_session: AtomicBool,
    is_in_a_statement: AtomicBool,
    is_lent: AtomicBool,
}

impl Visit {
    /// Returns a visit that may take longer than the store's own work by `limit`.
    pub(crate) fn of(limit: Duration) -> Self {
        Self {
            limit,
            traces: Arc::default(),
        }
    }

    /// Returns the longest time that it may take.
    pub(crate) fn limit(&self) -> Duration {
        self.limit
    }

    /// Notes that a statement begins which may do anything to the transaction and the session.
    pub(crate) fn may_change_anything(&self) {
        self.traces
            .may_have_committed
            .store(true, Ordering::Relaxed);
        self.traces
            .may_have_changed_session
            .store(true, Ordering::Relaxed);
    }

    /// Notes that the transaction is still the one that it was.
    pub(crate) fn has_committed_nothing(&self) {
        self.traces
            .may_have_committed
            .store(false, Ordering::Relaxed);
    }

    /// Returns whether something may be stored although the transaction was not committed by the store.
    pub(crate) fn may_have_committed(&self) -> bool {
        self.traces.may_have_committed.load(Ordering::Relaxed)
    }

    /// Notes that the answer to a statement is waited for, or has come.
    pub(crate) fn is_in_a_statement(&self, is_running: bool) {
        self.traces
            .is_in_a_statement
            .store(is_running, Ordering::Relaxed);
    }

    /// Returns whether a statement was begun and its end not seen: its answer would be taken for that of the next one,
    /// and it may go on with its locks.
    pub(crate) fn has_given_up_a_statement(&self) -> bool {
        self.traces.is_in_a_statement.load(Ordering::Relaxed)
    }

    /// Notes that the application has the driver's connection, or no longer.
    pub(crate) fn is_lent(&self, is_lent: bool) {
        self.traces.is_lent.store(is_lent, Ordering::Relaxed);
    }

    /// Returns whether a statement may still run on the connection, or its answer wait there.
    pub(super) fn may_have_left_a_statement(&self) -> bool {
        self.has_given_up_a_statement() || self.traces.is_lent.load(Ordering::Relaxed)
    }

    /// Returns whether the connection may be another one than it was, so that it must not be used again.
    pub(super) fn may_have_changed_session(&self) -> bool {
        self.traces.may_have_changed_session.load(Ordering::Relaxed)
    }
}
