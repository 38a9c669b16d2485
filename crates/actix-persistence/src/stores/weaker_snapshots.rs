//! A snapshot store that keeps less than the journal beside it.
//!
//! This is a warning and no error: it does harm only to actors that delete events which a snapshot stands for, and whether
//! there are any is not known when stores are opened. Snapshots in memory beside a durable journal are fine for the others.

use actix_persistence_storage_api::Durability;

use super::store_entries::{JournalEntry, SnapshotEntry};
use crate::persistence::Shared;

/// Warns of a snapshot store that loses what its journal keeps, or may do so.
pub(crate) fn warn(journal: &JournalEntry, snapshots: &SnapshotEntry) {
    let kept = journal.handle.capabilities().durability;
    let kept_of_snapshots = snapshots.handle.capabilities().durability;
    let Some((keeps_less, loss)) = loss(kept, kept_of_snapshots) else {
        return;
    };
    tracing::warn!(
        journal = journal.plugin_id,
        snapshot_store = snapshots.plugin_id,
        "the snapshot store {keeps_less} than the journal: {loss} takes snapshots whose events an actor may have deleted; \
         make both equally durable, or let no actor delete events",
    );
}

/// Tells how sure it is that snapshots keep less, and names the event that takes them and leaves the events of the journal;
/// `None` if there is none.
///
/// Two stores of unknown durability are taken for equal: as a rule they are on one server.
fn loss(
    journal: Option<Durability>,
    snapshots: Option<Durability>,
) -> Option<(&'static str, &'static str)> {
    const CERTAIN: &str = "keeps less";
    const POSSIBLE: &str = "may keep less";
    let loss = |of_snapshots| match of_snapshots {
        Durability::None => "the end of the process",
        _ => "a crash of the machine",
    };
    match (journal, snapshots) {
        (Some(journal), Some(snapshots)) => {
            (snapshots < journal).then_some((CERTAIN, loss(snapshots)))
        }
        (None, Some(snapshots)) => {
            (snapshots < Durability::MachineCrash).then_some((POSSIBLE, loss(snapshots)))
        }
        (Some(journal), None) => (journal > Durability::None)
            .then_some((POSSIBLE, "a crash that it does not promise to survive")),
        (None, None) => None,
    }
}

impl Shared {
    /// Warns if the default snapshot store is less durable than the default journal. Other pairs are compared when the
    /// first actor names them.
    pub(crate) fn warn_of_weaker_snapshots(&self) {
        let journal = self.stores.journals.find(None);
        let snapshots = self.stores.snapshot_stores.find(None);
        if let (Ok(Some(journal)), Ok(Some(snapshots))) = (journal, snapshots) {
            warn(journal, snapshots);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_snapshots_that_are_lost_before_their_events_are_warned_of() {
        let [none, process, machine] = [
            Durability::None,
            Durability::ProcessCrash,
            Durability::MachineCrash,
        ]
        .map(Some);
        let certain = |loss| Some(("keeps less", loss));
        let possible = |loss| Some(("may keep less", loss));
        for (journal, snapshots, expected) in [
            (machine, machine, None),
            (process, machine, None),
            (none, none, None),
            (none, None, None),
            (None, None, None),
            (None, machine, None),
            (machine, process, certain("a crash of the machine")),
            (machine, none, certain("the end of the process")),
            (process, none, certain("the end of the process")),
            (None, process, possible("a crash of the machine")),
            (None, none, possible("the end of the process")),
            (
                machine,
                None,
                possible("a crash that it does not promise to survive"),
            ),
            (
                process,
                None,
                possible("a crash that it does not promise to survive"),
            ),
        ] {
            assert_eq!(
                loss(journal, snapshots),
                expected,
                "{journal:?} {snapshots:?}"
            );
        }
    }
}
