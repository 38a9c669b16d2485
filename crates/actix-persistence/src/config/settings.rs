//! The config once its keys have been understood.

use actix_persistence_persistent_actor::{BackOffSettings, StashPolicy};

use super::notifications::NotificationCapacities;
use super::store_section::{JournalSections, OffsetSections, SnapshotSections, StateSections};

/// The config once its keys have been understood.
#[derive(Debug)]
pub(crate) struct Settings {
    /// The number of messages that an actor holds while it recovers or persists, and the fate of further ones.
    pub(crate) stash_policy: StashPolicy,
    /// The back-off of failed actors.
    pub(crate) back_off: BackOffSettings,
    /// The number of notifications that are kept for slow readers.
    pub(crate) notifications: NotificationCapacities,
    pub(crate) journals: JournalSections,
    pub(crate) snapshot_stores: SnapshotSections,
    pub(crate) state_stores: StateSections,
    pub(crate) offset_stores: OffsetSections,
}
