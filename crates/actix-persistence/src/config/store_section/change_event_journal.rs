//! The journal into which a state store writes the events of its changes.

use actix_persistence_storage_api::{ConfigError, ConfigErrors};

use super::super::Mistakes;
use super::super::akka::without_library;
use super::super::unknown_name::unknown_name;
use super::{
    JournalSections, JournalStoreSettings, StateSections, StateStoreSettings, StoreSection,
    StoreSettings,
};

/// The key that names the journal.
pub(super) const KEY: &str = "change-event-journal";

/// Adds to each state store the section of the journal that it names, for its plugin: both are in one database.
pub(in super::super) fn bind_change_event_journals(
    state_stores: &mut StateSections,
    journals: &JournalSections,
    mistakes: &mut Mistakes,
) {
    for store in &mut state_stores.stores {
        let Some(named) = &store.settings.change_event_journal else {
            continue;
        };
        match find(named, store.kind, &journals.stores) {
            Ok(journal) => {
                store.settings.extensions.change_event_journal = Some(journal.section.clone());
                store.settings.change_event_journal = Some(journal.plugin_id.clone());
            }
            Err(message) => {
                let error = mistake(store, &message);
                mistakes.add(store.where_written(ConfigErrors::one(error)));
            }
        }
    }
}

fn find<'j>(
    named: &str,
    kind: &str,
    journals: &'j [StoreSection<JournalStoreSettings>],
) -> Result<&'j StoreSection<JournalStoreSettings>, String> {
    let plugin_id = JournalStoreSettings::short_id(without_library(named));
    match journals
        .iter()
        .find(|journal| journal.plugin_id == plugin_id)
    {
        Some(journal) if journal.kind == kind => Ok(journal),
        Some(journal) => Err(format!(
            "names a journal of the kind \"{}\", but must name one in the database of the states",
            journal.kind
        )),
        None => {
            let known: Vec<_> = journals.iter().map(|journal| &*journal.plugin_id).collect();
            Err(unknown_name("journal", named, &known))
        }
    }
}

fn mistake(store: &StoreSection<StateStoreSettings>, message: &str) -> ConfigError {
    let path = store.effective.path_of(KEY);
    let item = store.effective.get(KEY);
    let origin = item.map_or(store.effective.origin(), |item| &item.origin);
    ConfigError {
        message: format!("'{path}' {message}"),
        origin: origin.clone(),
        path,
    }
}
