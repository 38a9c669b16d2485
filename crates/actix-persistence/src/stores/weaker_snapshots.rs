//! A snapshot store that keeps less than the journal beside it.
//!
//! This is a warning and no error: it does harm only to actors that delete events which a snapshot stands for, and whether
//! there are any is not known when stores are opened. Snapshots in memory beside a durable journal are fine for the others.

use actix_persistence_storage_api::Durability;

use super::store_entries::{JournalEntry, SnapshotEntry};
use crate::persistence::Shared;

/// Warns of a snapshot store that loses what its journal keeps.
pub(crate) fn warn(journal: &JournalEntry, snapshots: &SnapshotEntry) {
    let kept = journal.handle.capabilities().durability;
    let kept_of_snapshots = snapshots.handle.capabilities().durability;
    if let Some(loss) = loss(kept, kept_of_snapshots) {
        tracing::warn!(
            journal = journal.plugin_id,
            snapshot_store = snapshots.plugin_id,
            "the snapshot store keeps less than the journal: {loss} takes snapshots whose events an actor may have deleted; \
             make both equally durable, or let no actor delete events",
        );
    }
}

/// Names the event that takes snapshots and leaves the events of the journal; `None` if there is none, or if it is not
/// known of both stores.
fn loss(journal: Option<Durability>, snapshots: Option<Durability>) -> Option<&'static str> {
    let (journal, snapshots) = (journal?, snapshots?);
    (snapshots < journal).then_some(match snapshots {
        Durability::None => "the end of the process",
        _ => "a crash of the machine",
    })
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
        for (journal, snapshots, expected) in [
            (machine, machine, None),
            (process, machine, None),
            (none, none, None),
            (None, none, None),
            (machine, None, None),
            (machine, process, Some("a crash of the machine")),
            (machine, none, Some("the end of the process")),
            (process, none, Some("the end of the process")),
        ] {
            assert_eq!(
                loss(journal, snapshots),
                expected,
                "{journal:?} {snapshots:?}"
            );
        }
    }
}
