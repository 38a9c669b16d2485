//! The section of one plugin id: what all stores of its kind share, and what is left for the plugin.

mod change_event_journal;
mod circuit_breaker;
mod compression;
mod journal;
mod offset_store;
mod query;
mod replay_filter;
mod snapshot_store;
mod state_extensions;
mod state_store;

use std::fmt;

use actix_persistence_offset_actor::OffsetSettings;
use actix_persistence_persistent_actor::{Compression, Serializer};
use actix_persistence_snapshot_actor::SnapshotSettings;
use actix_persistence_storage_api::{ConfigErrors, Origin, Section, SectionReader, Value};

use super::for_all_stores::ForAllStores;
use super::inherited::Inherited;
use super::keys::{self, Key, default, default_origin};
use super::plugin_kind::{MADE_IN_CODE, PluginKind};
use super::unknown_name::{known_names, unknown_name};
use super::{Mistakes, NamedCode, effective};

/// The journals of the config.
pub(crate) type JournalSections = StoreSections<JournalStoreSettings>;
/// The snapshot stores of the config.
pub(crate) type SnapshotSections = StoreSections<SnapshotSettings>;
/// The offset stores of the config.
pub(crate) type OffsetSections = StoreSections<OffsetSettings>;
/// The state stores of the config.
pub(crate) type StateSections = StoreSections<StateStoreSettings>;

pub(super) use change_event_journal::bind_change_event_journals;
pub(crate) use journal::JournalStoreSettings;
pub(crate) use state_store::StateStoreSettings;

/// The stores of one kind, sorted by plugin id.
#[derive(Debug)]
pub(crate) struct StoreSections<S> {
    pub(crate) stores: Vec<StoreSection<S>>,
    /// The plugin id (short) of the store for actors that name none.
    pub(crate) default: Option<String>,
}

/// A store of the config, with its fallback section merged in.
///
/// `Debug` shows no values of the plugin's own keys: any of them may be a secret.
pub(crate) struct StoreSection<S> {
    /// The name of its section.
    pub(crate) plugin_id: String,
    /// The registered plugin that makes it.
    pub(crate) kind: &'static str,
    /// The serializer for types that name none.
    pub(crate) serializer: Serializer,
    /// The compression for types that name none.
    pub(crate) compression: Compression,
    /// The settings of the actor in front of the store.
    pub(crate) settings: S,
    /// The keys that are left for the plugin.
    pub(crate) section: Section,
    /// Every key with its place, even those that are not written and have a default.
    pub(super) effective: Section,
    secret_keys: &'static [&'static str],
    pub(super) inherited: Inherited,
}

/// A kind of stores: where it stands in the config, and the keys that all of its kind have.
pub(crate) trait StoreSettings: Clone + Send + Sync + 'static {
    /// The name of the kind in messages.
    const NAME: &'static str;
    /// The key of the section that has one section for each plugin id.
    const SECTION: &'static str;
    /// The key of the section that each of those falls back to.
    const FALLBACK: &'static str;
    /// The keys that all stores of the kind have.
    const KEYS: &'static [Key<Self>];

    /// Returns the settings of a store that sets none.
    fn defaults(plugin_id: &str, all: &ForAllStores<'_>) -> Self;

    /// Returns a warning about settings that are valid but probably unintended.
    fn doubt(&self) -> Option<String> {
        None
    }

    /// Returns a plugin id that may be given as the path of its section too.
    fn short_id(plugin_id: &str) -> &str {
        let id = plugin_id.strip_prefix("persistence.");
        let id = id.and_then(|path| path.strip_prefix(Self::SECTION)?.strip_prefix('.'));
        id.unwrap_or(plugin_id)
    }
}

/// The context in which the sections of one kind of stores are read.
pub(super) struct StoreContext<'a> {
    pub(super) kinds: &'a [PluginKind],
    pub(super) all: &'a ForAllStores<'a>,
    pub(super) fallback: &'a Section,
}

impl<S> StoreSection<S> {
    /// Returns all settings of this store as TOML: each value with the place it comes from, secrets masked.
    pub(crate) fn effective_toml(&self) -> String {
        effective::toml(&self.effective, self.secret_keys)
    }

    /// Returns what a plugin says about its part of the section, with each key named where it was written.
    ///
    /// A plugin does not see all keys, and knows of the others no more than where the section begins.
    ///
    /// # Errors
    /// Always, if there are `errors`.
    pub(crate) fn where_written(&self, errors: ConfigErrors) -> Result<(), ConfigErrors> {
        let mut errors = errors.into_errors();
        for error in &mut errors {
            if error.origin == *self.section.origin()
                && let Some(origin) = origin_of(&self.effective, &error.path)
            {
                error.origin = origin;
            }
        }
        let errors = errors.into_iter();
        ConfigErrors::check(
            errors
                .map(|error| self.inherited.where_written(error))
                .collect(),
        )
    }
}

/// Reads the section of a plugin id; `None` if no registered plugin can make the store.
pub(super) fn read_store<S: StoreSettings>(
    plugin_id: &str,
    own: Section,
    context: &StoreContext<'_>,
    mistakes: &mut Mistakes,
) -> Option<StoreSection<S>> {
    let inherited = Inherited::between(&own, context.fallback);
    let mut section = own;
    section.fall_back_to(context.fallback);
    let mut effective = section.clone();

    let common = take_common::<S>(&mut section);
    let mut reader = common.reader();
    let kind = read_kind(plugin_id, &mut reader, context.kinds);
    let serializer = read_serializer(&mut reader, context.all.code);
    let compression = compression::read(&mut reader, context.all.code);
    let settings = read_settings::<S>(plugin_id, &mut reader, context.all);
    mistakes.add_written(&inherited, reader.finish());

    let kind = kind?;
    let defaults = Section::new(section.path(), default_origin());
    let mut shown = keys::shown(S::KEYS, &settings, defaults, context.all);
    shown.insert(KIND, default(kind.name));
    shown.insert(
        SERIALIZER,
        default(serializer_name(serializer, context.all.code)),
    );
    compression::show(compression, &mut shown);
    effective::give_types(&mut effective, &shown);
    effective.fall_back_to(&shown);
    Some(StoreSection {
        plugin_id: plugin_id.to_owned(),
        kind: kind.name,
        serializer,
        compression,
        settings,
        section,
        effective,
        secret_keys: kind.secret_keys,
        inherited,
    })
}

/// Reads the common keys of a fallback section for their mistakes: it may be that no section falls back to it.
pub(super) fn check_fallback<S: StoreSettings>(
    fallback: &Section,
    kinds: &[PluginKind],
    all: &ForAllStores<'_>,
    mistakes: &mut Mistakes,
) {
    let common = take_common::<S>(&mut fallback.clone());
    let mut reader = common.reader();
    if common.get(KIND).is_some() {
        read_kind("", &mut reader, kinds);
    }
    read_serializer(&mut reader, all.code);
    compression::read(&mut reader, all.code);
    read_settings::<S>("", &mut reader, all);
    mistakes.add(reader.finish());
}

/// Returns the place of the key with this path, even if it lies within sections of the section.
fn origin_of(section: &Section, path: &str) -> Option<Origin> {
    section.iter().find_map(|(key, item)| match &item.value {
        _ if section.path_of(key) == path => Some(item.origin.clone()),
        Value::Section(inner) => origin_of(inner, path),
        _ => None,
    })
}

fn read_settings<S: StoreSettings>(
    plugin_id: &str,
    reader: &mut SectionReader<'_>,
    all: &ForAllStores<'_>,
) -> S {
    let mut settings = S::defaults(plugin_id, all);
    keys::read(S::KEYS, &mut settings, reader, all);
    settings
}

/// Moves the keys that all stores of a kind share out of a section, which is left to the plugin.
fn take_common<S: StoreSettings>(section: &mut Section) -> Section {
    let mut common = Section::new(section.path(), section.origin().clone());
    let of_kind = S::KEYS.iter().map(|key| key.name);
    let keys = || COMMON.into_iter().chain(of_kind.clone());
    for key in keys() {
        if let Some(item) = section.remove(key) {
            common.insert(key, item);
        }
    }
    section.also_known(keys());
    common
}

fn read_kind<'k>(
    plugin_id: &str,
    reader: &mut SectionReader<'_>,
    kinds: &'k [PluginKind],
) -> Option<&'k PluginKind> {
    let written = reader.string(KIND);
    let name = written.as_deref().unwrap_or(plugin_id);
    let found = kinds.iter().find(|kind| kind.name == name);
    if found.is_none() {
        let known = kinds.iter().map(|kind| kind.name);
        // That one is for the stores of the builder, which need no section.
        let known: Vec<_> = known.filter(|name| *name != MADE_IN_CODE).collect();
        let message = match &written {
            _ if FEATURES.contains(&name) => {
                format!("is {name:?}, which needs the feature '{name}' of actix-persistence")
            }
            Some(name) => unknown_name("kind", name, &known),
            None => {
                let known = known_names("kind", plugin_id, &known);
                format!("is missing, and {plugin_id:?} is no kind of plugin; {known}")
            }
        };
        reader.reject(KIND, message);
    }
    found
}

/// The key that chooses a plugin.
const KIND: &str = "kind";
/// The key that chooses the serializer.
const SERIALIZER: &str = "serializer";
/// The keys that stores of all kinds have.
const COMMON: [&str; 4] = [KIND, SERIALIZER, compression::KEY, compression::MIN_BYTES];

/// The key with the number of requests that a store of any kind holds while it initialises.
const MAX_HELD_REQUESTS: &str = "max-held-requests";

/// Kinds of plugin that are there if a feature of the same name is.
const FEATURES: [&str; 3] = ["sqlite", "postgres", "mysql"];

fn read_serializer(reader: &mut SectionReader<'_>, code: &NamedCode) -> Serializer {
    let Some(name) = reader.string(SERIALIZER) else {
        return Serializer::default();
    };
    if let Some(serializer) = code.serializers.by_name(&name) {
        return serializer;
    }
    if !code.may_lack_serializers {
        let known: Vec<_> = code.serializers.known().map(|(_, name)| name).collect();
        let message = unknown_name("serializer", &name, &known);
        reader.reject(SERIALIZER, not_registered(message, "Builder::serializer"));
    }
    Serializer::default()
}

fn serializer_name(serializer: Serializer, code: &NamedCode) -> &str {
    let mut known = code.serializers.known();
    known
        .find(|(id, _)| *id == serializer.id())
        .map_or("", |(_, name)| name)
}

/// Returns a message about a name that is not known, with the method that would make it known.
fn not_registered(message: String, method: &str) -> String {
    format!("{message}; register it with '{method}'")
}

impl<S> Default for StoreSections<S> {
    fn default() -> Self {
        Self {
            stores: Vec::new(),
            default: None,
        }
    }
}

impl<S: fmt::Debug> fmt::Debug for StoreSection<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreSection")
            .field("plugin_id", &self.plugin_id)
            .field("kind", &self.kind)
            .field("serializer", &self.serializer)
            .field("compression", &self.compression)
            .field("settings", &self.settings)
            .field("section", &self.section)
            .finish_non_exhaustive()
    }
}
