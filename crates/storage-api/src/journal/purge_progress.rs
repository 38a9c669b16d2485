//! The progress of a purge.

/// The result of one call of [`Journal::purge`](crate::Journal::purge).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a purge that is not done has to be called again"]
pub enum PurgeProgress {
    /// Events are left to be removed: call again.
    Unfinished,
    /// The purge has ended: nothing is left, and numbers start at 1.
    Done,
}
