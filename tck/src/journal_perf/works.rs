//! The works: the loads of JournalPerfSpec, and for groups of ids the group commit as well.

use super::calls::Calls;
use crate::capability::Capability;

/// The events of an atomic write where one has several, as in JournalPerfSpec.
const BATCH: usize = 50;

/// A load that is measured by itself.
pub(super) struct Work {
    pub(super) name: &'static str,
    /// The number of ids.
    pub(super) ids: u64,
    share: Share,
    pub(super) load: Load,
}

/// The number of events of each id.
enum Share {
    /// As many as a round has: with several ids the round has a multiple.
    All,
    /// An equal part of the events of a round, within these bounds, both inclusive.
    Part { least: u64, most: u64 },
}

/// The thing that is done with the events of the ids.
pub(super) enum Load {
    /// They are stored, in atomic writes of this number of events.
    Write { events: usize, calls: Calls },
    /// They are read, by all ids at the same time.
    Recover,
}

/// All works, in the order in which they are measured.
pub(super) const WORKS: &[Work] = &[
    one("persist", 1, Calls::Each),
    one("persist_all", BATCH, Calls::Each),
    one("persist_async", 1, Calls::Full),
    one("persist_all_async", BATCH, Calls::Full),
    group("persist_group_10", 10, 100, Calls::Each),
    group("persist_group_25", 25, 50, Calls::Each),
    group("persist_group_50", 50, 20, Calls::Each),
    group("persist_group_100", 100, 10, Calls::Each),
    group("persist_group_200", 200, 10, Calls::Each),
    group("group_commit_10", 10, 100, Calls::OneOfEachId),
    group("group_commit_25", 25, 50, Calls::OneOfEachId),
    group("group_commit_50", 50, 20, Calls::OneOfEachId),
    group("group_commit_100", 100, 10, Calls::OneOfEachId),
    group("group_commit_200", 200, 10, Calls::OneOfEachId),
    recovery("recovering", 1),
    recovery("recovering_two", 2),
    recovery("recovering_four", 4),
];

const fn one(name: &'static str, events: usize, calls: Calls) -> Work {
    Work {
        name,
        ids: 1,
        share: Share::All,
        load: Load::Write { events, calls },
    }
}

/// Returns a work of many ids, of which each has at least this number of events.
const fn group(name: &'static str, ids: u64, least: u64, calls: Calls) -> Work {
    let most = if ids == 200 { 500 } else { 1_000 };
    Work {
        name,
        ids,
        share: Share::Part { least, most },
        load: Load::Write { events: 1, calls },
    }
}

const fn recovery(name: &'static str, ids: u64) -> Work {
    Work {
        name,
        ids,
        share: Share::All,
        load: Load::Recover,
    }
}

impl Work {
    /// Returns the number of events of each id, of a round of this number of events.
    pub(super) fn events_of_an_id(&self, events: u64) -> u64 {
        match self.share {
            Share::All => events,
            Share::Part { least, most } => (events / self.ids).min(most).max(least),
        }
    }

    /// Returns the number of events that a round really has.
    pub(super) fn events(&self, events: u64) -> u64 {
        self.ids * self.events_of_an_id(events)
    }

    /// Returns the capability without which the work is skipped.
    pub(super) fn needs(&self) -> Option<Capability> {
        match self.load {
            Load::Write { events: 2.., .. } => Some(Capability::AtomicBatches),
            Load::Write { .. } | Load::Recover => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events_of_an_id(name: &str, events: u64) -> u64 {
        let work = WORKS.iter().find(|work| work.name == name).unwrap();
        work.events_of_an_id(events)
    }

    #[test]
    fn groups_have_the_numbers_of_journal_perf_spec() {
        let expected = [(10, 1_000), (25, 400), (50, 200), (100, 100), (200, 50)];
        for (ids, events) in expected {
            for work in ["persist_group", "group_commit"] {
                assert_eq!(events_of_an_id(&format!("{work}_{ids}"), 10_000), events);
            }
        }
        assert_eq!(events_of_an_id("persist_group_10", 1), 100);
        assert_eq!(events_of_an_id("persist_group_100", 1_000_000), 1_000);
        assert_eq!(events_of_an_id("persist_group_200", 1_000_000), 500);
    }

    #[test]
    fn each_id_of_a_recovery_has_the_events_of_a_round() {
        let work = &WORKS[WORKS.len() - 1];
        assert_eq!(
            (work.name, work.events(10_000)),
            ("recovering_four", 40_000)
        );
    }
}
