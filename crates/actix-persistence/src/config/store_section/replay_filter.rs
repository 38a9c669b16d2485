//! The keys of a journal's replay filter.

use actix_persistence_journal_actor::{ReplayFilterMode, ReplayFilterSettings};
use actix_persistence_storage_api::{Item, Section, SectionReader};

use super::super::keys::{Key, default, read_section, shown_section};
use super::ForAllStores;

/// The key of the section with these keys.
pub(super) const KEY: &str = "replay-filter";

const KEYS: &[Key<ReplayFilterSettings>] = &[
    Key::own(
        "mode",
        |filter, reader, key, _| filter.mode = reader.choice_or(key, &MODES, filter.mode),
        |filter, _, _, _| {
            let (name, _) = MODES.iter().find(|(_, mode)| *mode == filter.mode)?;
            Some(default(*name))
        },
    ),
    Key::count("window-size", |filter| &mut filter.window_size),
    Key::count("max-old-writers", |filter| &mut filter.max_old_writers),
    Key::boolean("debug", |filter| &mut filter.debug),
];

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
    filter: &mut ReplayFilterSettings,
    journal: &mut SectionReader<'_>,
    all: &ForAllStores<'_>,
) {
    read_section(KEYS, filter, journal, KEY, all, |_, _| ());
}

/// Returns the section with the values that hold.
pub(super) fn shown(
    filter: &ReplayFilterSettings,
    journal: &Section,
    all: &ForAllStores<'_>,
) -> Item {
    shown_section(KEYS, filter, journal, KEY, all)
}
