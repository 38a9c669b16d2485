//! The promises that a history shows to be broken.

use std::fmt;

/// Declares the invariants and the list of all of them, so that none is missing in the list.
macro_rules! invariants {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// A promise that a history can show to be broken.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Invariant {
            $($(#[$doc])* $name,)*
        }

        impl Invariant {
            /// The list of all invariants.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];
        }
    };
}

invariants! {
    /// The history itself contradicts itself, or uses an id twice: the program that wrote it is wrong.
    WellFormed,
    /// The history keeps everything that was acknowledged, or seen, for ever, unless it was deleted.
    NothingLost,
    /// The numbers of an id are 1, 2, 3 and so on, without a gap.
    NoGap,
    /// No number belongs to two events, even after a delete.
    NoNumberTwice,
    /// No event is stored under two numbers.
    NoEventTwice,
    /// An id shows only what was written to it.
    NothingOfOthers,
    /// A batch is stored whole, in order and without another's event in it, or not at all.
    WholeBatches,
    /// A write that was reported as certainly not stored never is.
    RefusedNeverStored,
    /// Of each incarnation the handlers run once per event, in order.
    HandlersOnceInOrder,
    /// After a failed write, and after its end, no handler of an incarnation runs.
    StopsOnFailure,
    /// An incarnation stores nothing on top of a state that missed an event: what it stores follows on what it
    /// recovered.
    NothingUnseenBelow,
    /// A recovery that fences shows every write of earlier writers: none is stored later that it did not show.
    NoLateWrite,
    /// A write that begins after another was acknowledged comes later; one sender's commands are handled in order.
    OrderOfWrites,
    /// The state is the result of its events, applied in order.
    StateIsFold,
    /// A recovery shows a whole state: a snapshot and every event after it.
    WholeRecovery,
    /// A snapshot is never newer than the events that made it.
    SnapshotOfStored,
    /// A snapshot that is loaded was saved, and was not deleted since.
    SnapshotWasSaved,
    /// A delete is final, and removes only what was to be deleted: nothing that was deleted is shown again.
    DeletesAsAsked,
    /// Retention deletes no event before a snapshot of it is stored.
    DeleteIsCovered,
    /// The revisions of a state are 1, 2, 3 and so on, each of one change.
    OneChangePerRevision,
    /// A state that was stored or seen is never replaced by an older one; a deleted one stays deleted.
    StatesNeverGoBack,
    /// A change is stored on top of the revision that its writer knew.
    NoLostUpdate,
    /// The rows of a change handler are there exactly for the changes that are stored.
    ChangesWithTheirRows,
    /// A reader is shown everything.
    ReadersMissNothing,
    /// A reader is shown nothing twice, and each id in order.
    ReadersInOrder,
    /// A query returns each state that it selects, once, and no other.
    QueriesExact,
}

/// A broken promise, and the records that prove it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The promise that is broken.
    pub invariant: Invariant,
    /// A sentence that says what happened.
    pub sentence: String,
    /// The records that prove it, as lines from 1 on, ascending.
    pub lines: Vec<usize>,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.invariant, self.sentence)?;
        let lines: Vec<_> = self.lines.iter().map(usize::to_string).collect();
        write!(f, " (lines {})", lines.join(", "))
    }
}

/// The violations that were found so far.
#[derive(Debug, Default)]
pub(crate) struct Violations(pub(crate) Vec<Violation>);

impl Violations {
    pub(crate) fn add<const N: usize>(
        &mut self,
        invariant: Invariant,
        lines: [usize; N],
        sentence: String,
    ) {
        let mut lines = lines.to_vec();
        lines.sort_unstable();
        lines.dedup();
        self.0.push(Violation {
            invariant,
            sentence,
            lines,
        });
    }
}
