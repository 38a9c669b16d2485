//! The time at which an actor becomes the writer of its id.

/// The time at which an actor takes its persistence id over from the writer before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum TakeOver {
    /// The actor takes its id over with its first write: the recovery only reads, and takes nothing over.
    ///
    /// A write is refused as a [`Conflict`](crate::PersistError::Conflict) if another writer has written since the
    /// recovery, in this process or another; then the actor is recovered onto what is there.
    #[default]
    WithFirstWrite,
    /// The actor takes its id over before its recovery: from then on no other writer can write, until one takes the id
    /// over.
    ///
    /// For an actor that must be the only writer before it does anything outside. It costs a write for each start, and
    /// makes the next write of a healthy actor of the same id elsewhere a conflict.
    BeforeRecovery,
}

/// The reaction of an actor to a conflict with another writer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnConflict {
    /// The actor is rebuilt with the same address, and recovered onto what is there: with the next command, or at
    /// once if commands wait or it has timers, streams or futures of its own. The first times without a delay.
    #[default]
    Recover,
    /// The actor ends, and its address closes: for programs that find the right actor by other means, and start it
    /// again.
    Stop,
}
