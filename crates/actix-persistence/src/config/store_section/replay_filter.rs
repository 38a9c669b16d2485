//! The keys of a journal's replay filter.

use actix_persistence_journal_actor::{ReplayFilterMode, ReplayFilterSettings};
use actix_persistence_storage_api::{Section, SectionReader};

use super::super::settings::positive_count;
use super::{default, default_origin};

/// The key of the section with these keys.
pub(super) const KEY: &str = "replay-filter";

const MODES: [(&str, ReplayFilterMode); 4] = [
    (
        "repair-by-discard-old",
        ReplayFilterMode::RepairByDiscardOld,
    ),
    ("fail", ReplayFilterMode::Fail),
    ("warn", ReplayFilterMode::Warn),
    ("off", ReplayFilterMode::Off),
];

/// Reads the filter's section within the section of its journal.
pub(super) fn read(
    journal: &mut SectionReader<'_>,
    defaults: ReplayFilterSettings,
) -> ReplayFilterSettings {
    let mut filter = defaults;
    let Some(section) = journal.section(KEY) else {
        return filter;
    };
    let mut reader = section.reader();
    filter.mode = reader.choice_or("mode", &MODES, filter.mode);
    filter.window_size = positive_count(&mut reader, "window-size", filter.window_size);
    filter.max_old_writers = positive_count(&mut reader, "max-old-writers", filter.max_old_writers);
    filter.debug = reader.boolean_or("debug", filter.debug);
    journal.absorb(reader.finish());
    filter
}

/// Returns the section of the journal with the settings of the filter in it, each marked as a default.
pub(super) fn shown(filter: &ReplayFilterSettings, journal: Section) -> Section {
    let mode = MODES.iter().find(|(_, mode)| *mode == filter.mode);
    let mode = mode.map_or("", |(name, _)| name);
    let count = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    let section = Section::new(journal.path_of(KEY), default_origin());
    let section = default(section, "mode", mode);
    let section = default(section, "window-size", count(filter.window_size));
    let section = default(section, "max-old-writers", count(filter.max_old_writers));
    let section = default(section, "debug", filter.debug);
    default(journal, KEY, section)
}
