//! The progress of a reset.

/// The result of one call of [`Journal::reset`](crate::Journal::reset).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a reset that is not done has to be called again"]
pub enum ResetProgress {
    /// Events are left to be removed: call again.
    Unfinished,
    /// The reset has ended: nothing is left, and numbers start at 1.
    Done,
}
