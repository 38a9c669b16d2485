//! The keys of the queries over a journal or a state store.

use actix_persistence_query::QuerySettings;
use actix_persistence_storage_api::{Item, Section, SectionReader};

use super::super::keys::{Key, read_section, shown_section};
use super::ForAllStores;

/// The key under which a section of a store has a section of these keys.
pub(super) const KEY: &str = "query";

const KEYS: &[Key<QuerySettings>] = &[
    Key::duration("refresh-interval", |query| &mut query.refresh_interval),
    Key::count("page-size", |query| &mut query.page_size),
    Key::duration("max-back-off", |query| &mut query.max_back_off),
    Key::duration("held-back-timeout", |query| &mut query.held_back_timeout),
];

/// Reads the section of queries within the section of their store.
pub(super) fn read(
    query: &mut QuerySettings,
    store: &mut SectionReader<'_>,
    all: &ForAllStores<'_>,
) {
    read_section(KEYS, query, store, KEY, all, |_, _| ());
}

/// Returns the section with the values that hold.
pub(super) fn shown(query: &QuerySettings, store: &Section, all: &ForAllStores<'_>) -> Item {
    shown_section(KEYS, query, store, KEY, all)
}
