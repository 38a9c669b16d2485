//! The config once its keys have been understood.

use actix_persistence_persistent_actor::{BackOffSettings, OnConflict, StashPolicy};
use actix_persistence_storage_api::{Origin, SectionReader};

use super::durations::positive_duration;
use super::named_code::NamedCode;
use super::notifications::NotificationCapacities;
use super::store_section::{JournalSection, SnapshotSection, StateSection};

/// The config once its keys have been understood.
#[derive(Debug)]
pub(crate) struct Settings {
    /// The number of messages that an actor holds while it recovers or persists, and the fate of further ones.
    pub(crate) stash_policy: StashPolicy,
    /// The back-off of failed actors.
    pub(crate) back_off: BackOffSettings,
    /// The number of notifications that are kept for slow readers.
    pub(crate) notifications: NotificationCapacities,
    /// Every journal, sorted by plugin id.
    pub(crate) journals: Vec<JournalSection>,
    /// Every snapshot store, sorted by plugin id.
    pub(crate) snapshot_stores: Vec<SnapshotSection>,
    /// Every state store, sorted by plugin id.
    pub(crate) state_stores: Vec<StateSection>,
    /// The plugin id (short) of the journal for actors that name none.
    pub(crate) default_journal: Option<String>,
    /// The plugin id (short) of the snapshot store for actors that name none.
    pub(crate) default_snapshot_store: Option<String>,
    /// The plugin id (short) of the state store for actors that name none.
    pub(crate) default_state_store: Option<String>,
}

/// The settings that hold for a store unless its own section sets them.
pub(super) struct ForAllStores<'a> {
    /// The code that sections may name.
    pub(super) code: &'a NamedCode,
    /// The number of actors that may recover from a journal or a state store at the same time.
    pub(super) max_concurrent_recoveries: usize,
    /// The place at which that was written, if it was.
    pub(super) max_concurrent_recoveries_origin: Option<Origin>,
}

/// Returns a whole number from 1 that fits into any counter, or the default.
pub(super) fn positive_count(reader: &mut SectionReader<'_>, key: &str, default: usize) -> usize {
    let number = reader.integer_or(key, default as u64, 1..=u64::from(u32::MAX));
    usize::try_from(number).unwrap_or(usize::MAX)
}

pub(super) fn read_back_off(persistence: &mut SectionReader<'_>) -> BackOffSettings {
    let mut settings = BackOffSettings::default();
    let Some(section) = persistence.section("back-off") else {
        return settings;
    };
    let mut reader = section.reader();
    settings.min = positive_duration(&mut reader, "min", settings.min);
    // Raising only the shortest delay is no contradiction.
    let longest = settings.max.max(settings.min);
    settings.max = positive_duration(&mut reader, "max", longest);
    if settings.max < settings.min {
        reader.reject("max", "must not be shorter than 'min'");
    }
    settings.random_factor = reader.float_or("random-factor", settings.random_factor, 0.0..=1.0);
    let unlimited = u64::MAX;
    let restarts = reader.integer_or("max-restarts", unlimited, 0..=u64::from(u32::MAX));
    settings.max_restarts = u32::try_from(restarts).ok();
    // As in Akka: half-way between the two.
    let half_way = (settings.min + settings.max) / 2;
    settings.reset_after = Some(positive_duration(&mut reader, "reset-after", half_way));
    settings.keep_stash = reader.boolean_or("keep-stash", settings.keep_stash);
    let choices = [("recover", OnConflict::Recover), ("stop", OnConflict::Stop)];
    settings.on_conflict = reader.choice_or("on-conflict", &choices, settings.on_conflict);
    persistence.absorb(reader.finish());
    settings
}
