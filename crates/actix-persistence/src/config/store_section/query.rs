//! The keys of the queries over a state store.

use actix_persistence_query::QuerySettings;
use actix_persistence_storage_api::{Section, SectionReader};

use super::super::durations::{positive_duration, shown_duration};
use super::super::settings::positive_count;
use super::{default, default_origin};

/// The key of the section with these keys.
pub(super) const KEY: &str = "query";

/// Reads the section of queries within the section of their store.
pub(super) fn read(store: &mut SectionReader<'_>) -> QuerySettings {
    let mut settings = QuerySettings::default();
    let Some(section) = store.section(KEY) else {
        return settings;
    };
    let mut reader = section.reader();
    settings.refresh_interval =
        positive_duration(&mut reader, "refresh-interval", settings.refresh_interval);
    settings.page_size = positive_count(&mut reader, "page-size", settings.page_size);
    settings.max_back_off = positive_duration(&mut reader, "max-back-off", settings.max_back_off);
    store.absorb(reader.finish());
    settings
}

/// The values that hold, within a section of values that were not written.
pub(super) fn shown(settings: &QuerySettings, store: Section) -> Section {
    let page_size = i64::try_from(settings.page_size).unwrap_or(i64::MAX);
    let section = Section::new(store.path_of(KEY), default_origin());
    let interval = shown_duration(settings.refresh_interval);
    let section = default(section, "refresh-interval", interval);
    let section = default(section, "page-size", page_size);
    let back_off = shown_duration(settings.max_back_off);
    let section = default(section, "max-back-off", back_off);
    default(store, KEY, section)
}
