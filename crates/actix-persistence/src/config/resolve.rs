//! The way from the keys of a config to settings.

use actix_persistence_storage_api::{ConfigErrors, Item, Origin, Section, SectionReader, Value};

use super::akka::{self, Place, take_meaningless};
use super::back_off::read_back_off;
use super::for_all_stores::{ForAllStores, MAX_CONCURRENT_RECOVERIES};
use super::named_code::NamedCode;
use super::notifications::read_notification_capacities;
use super::numbers::positive_count;
use super::plugin_kind::PluginKind;
use super::stash::read_stash_policy;
use super::store_section::{
    StoreContext, StoreSections, StoreSettings, bind_change_event_journals, check_fallback,
    read_store,
};
use super::unknown_name::unknown_name;
use super::{Config, Mistakes, Settings};

const DEFAULT_MAX_CONCURRENT_RECOVERIES: usize = 50;

/// The settings that a config means, and its mistakes.
///
/// The settings are complete even if there are mistakes, with defaults in their place, so that the plugins can look for
/// theirs too before [`Mistakes::check`] reports them together.
#[derive(Debug)]
pub(crate) struct Resolution {
    pub(crate) settings: Settings,
    pub(crate) mistakes: Mistakes,
}

impl Config {
    /// Finds out what the keys mean, and logs a warning for each that is ignored.
    pub(crate) fn resolve(&self, kinds: &[PluginKind], code: &NamedCode) -> Resolution {
        let (resolution, warnings) = self.resolve_silently(kinds, code);
        for warning in warnings {
            tracing::warn!("{warning}");
        }
        resolution
    }

    fn resolve_silently(
        &self,
        kinds: &[PluginKind],
        code: &NamedCode,
    ) -> (Resolution, Vec<String>) {
        let mut mistakes = Mistakes::new(self.mistakes.clone());
        let mut warnings = self.warnings.clone();
        let nothing = Section::new("persistence", Origin::code());
        let mut root = self.root.reader();
        let mut persistence = root.section("persistence").unwrap_or(&nothing).clone();
        mistakes.add(root.finish());
        let refused = akka::take_over_persistence(&mut persistence, &mut warnings);
        mistakes.add(ConfigErrors::check(refused));

        let mut reader = persistence.reader();
        let all = read_for_all_stores(&persistence, &mut reader, code);
        let stash_policy = read_stash_policy(&mut reader, &code.overflow);
        let back_off = read_back_off(&mut reader);
        let notifications = read_notification_capacities(&mut reader);
        let mut stores = Stores {
            kinds,
            all: &all,
            mistakes: &mut mistakes,
            warnings: &mut warnings,
        };
        let journals = stores.read(&mut reader);
        let snapshot_stores = stores.read(&mut reader);
        let mut state_stores = stores.read(&mut reader);
        let offset_stores = stores.read(&mut reader);
        bind_change_event_journals(&mut state_stores, &journals, &mut mistakes);
        mistakes.add(reader.finish());
        let settings = Settings {
            stash_policy,
            back_off,
            notifications,
            journals,
            snapshot_stores,
            state_stores,
            offset_stores,
        };
        (Resolution { settings, mistakes }, warnings)
    }
}

fn read_for_all_stores<'a>(
    persistence: &Section,
    reader: &mut SectionReader<'_>,
    code: &'a NamedCode,
) -> ForAllStores<'a> {
    const KEY: &str = MAX_CONCURRENT_RECOVERIES;
    ForAllStores {
        code,
        max_concurrent_recoveries: positive_count(reader, KEY, DEFAULT_MAX_CONCURRENT_RECOVERIES),
        max_concurrent_recoveries_origin: persistence.get(KEY).map(|item| item.origin.clone()),
    }
}

/// Reads all stores of one kind.
struct Stores<'a> {
    kinds: &'a [PluginKind],
    all: &'a ForAllStores<'a>,
    mistakes: &'a mut Mistakes,
    warnings: &'a mut Vec<String>,
}

impl Stores<'_> {
    fn read<S: StoreSettings>(&mut self, persistence: &mut SectionReader<'_>) -> StoreSections<S> {
        let mut fallback = persistence
            .section(S::FALLBACK)
            .cloned()
            .unwrap_or_default();
        take_meaningless(Place::Store, &mut fallback, self.warnings);
        check_fallback::<S>(&fallback, self.kinds, self.all, self.mistakes);
        let Some(mut section) = persistence.section(S::SECTION).cloned() else {
            return StoreSections::default();
        };
        take_meaningless(Place::Stores, &mut section, self.warnings);
        let context = StoreContext {
            kinds: self.kinds,
            all: self.all,
            fallback: &fallback,
        };
        let mut reader = section.reader();
        let mut plugin_ids = Vec::new();
        let mut stores = Vec::new();
        for (plugin_id, own) in sections(&section) {
            let mut own = own.clone();
            let refused = akka::take_over(plugin_id, &mut own, self.warnings);
            self.mistakes.add(ConfigErrors::check(refused));
            let store = read_store::<S>(plugin_id, own, &context, self.mistakes);
            if let Some(doubt) = store.as_ref().and_then(|store| store.settings.doubt()) {
                let path = section.path_of(plugin_id);
                self.warnings.push(format!("'{path}': {doubt}"));
            }
            stores.extend(store);
            plugin_ids.push(plugin_id);
            // Now the reader knows the section.
            reader.section(plugin_id);
        }
        let default = read_default(&section, &mut reader, &plugin_ids);
        self.mistakes.add(reader.finish());
        StoreSections { stores, default }
    }
}

/// Returns the sections of plugin ids.
fn sections(section: &Section) -> impl Iterator<Item = (&str, &Section)> {
    section.iter().filter_map(|(key, item)| match item {
        Item {
            value: Value::Section(own),
            ..
        } if key != "plugin" => Some((key, own)),
        _ => None,
    })
}

/// Returns the default plugin id, for actors that name none; an empty text means that there is no default.
fn read_default(
    section: &Section,
    reader: &mut SectionReader<'_>,
    plugin_ids: &[&str],
) -> Option<String> {
    let reference = reader.string("plugin").filter(|text| !text.is_empty())?;
    if akka::is_no_snapshot_store(&reference) {
        return None;
    }
    let prefix = section.path_of("");
    let path = akka::without_library(&reference);
    let plugin_id = path.strip_prefix(&prefix).unwrap_or(path);
    if !plugin_ids.contains(&plugin_id) {
        let mut message = unknown_name("plugin id", &reference, plugin_ids);
        if plugin_ids.is_empty() {
            message = format!("{message}; each has a section [{prefix}<plugin id>]");
        }
        reader.reject("plugin", message);
        return None;
    }
    Some(plugin_id.to_owned())
}

#[cfg(test)]
mod tests;
