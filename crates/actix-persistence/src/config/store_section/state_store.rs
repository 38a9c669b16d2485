//! The keys that all state stores share.

use actix_persistence_query::QuerySettings;
use actix_persistence_state_actor::StateSettings;
use actix_persistence_storage_api::StateExtensions;

use super::super::keys::Key;
use super::{
    ForAllStores, MAX_HELD_REQUESTS, StoreSettings, change_event_journal, circuit_breaker, query,
    state_extensions,
};

/// The settings of the actor in front of a state store, of its queries, and of what the store holds beside its states.
#[derive(Clone, Debug)]
pub(crate) struct StateStoreSettings {
    pub(crate) actor: StateSettings,
    pub(crate) query: QuerySettings,
    pub(crate) extensions: StateExtensions,
    /// The plugin id (short) of the journal that gets an event with every change.
    pub(crate) change_event_journal: Option<String>,
}

impl StoreSettings for StateStoreSettings {
    const NAME: &'static str = "state store";
    const SECTION: &'static str = "state";
    const FALLBACK: &'static str = "state-plugin-fallback";
    const KEYS: &'static [Key<Self>] = &[
        Key::duration("initialize-timeout", |store| {
            &mut store.actor.initialize_timeout
        }),
        Key::count(MAX_HELD_REQUESTS, |store| {
            &mut store.actor.max_held_requests
        }),
        Key::duration("recovery-timeout", |store| {
            &mut store.actor.recovery_timeout
        }),
        Key::duration("write-timeout", |store| &mut store.actor.write_timeout),
        Key::duration("recovery-permit-timeout", |store| {
            &mut store.actor.recovery_permit_timeout
        }),
        Key::recoveries(|store| &mut store.actor.max_concurrent_recoveries),
        Key::count_to(
            "max-concurrent-calls",
            |store| &mut store.actor.max_concurrent_calls,
            1_024,
        ),
        Key::own(
            circuit_breaker::KEY,
            |store, reader, _, all| {
                circuit_breaker::read(&mut store.actor.circuit_breaker, reader, all);
            },
            |store, section, _, all| {
                Some(circuit_breaker::shown(
                    &store.actor.circuit_breaker,
                    section,
                    all,
                ))
            },
        ),
        Key::own(
            query::KEY,
            |store, reader, _, all| query::read(&mut store.query, reader, all),
            |store, section, _, all| Some(query::shown(&store.query, section, all)),
        ),
        Key::own(
            state_extensions::TABLE,
            |store, reader, _, _| state_extensions::read_tables(&mut store.extensions, reader),
            |_, _, _, _| None,
        ),
        Key::own(
            state_extensions::COLUMNS,
            |store, reader, _, all| {
                state_extensions::read_columns(&mut store.extensions, reader, all.code);
            },
            |_, _, _, _| None,
        ),
        Key::own(
            state_extensions::HANDLER,
            |store, reader, _, all| {
                state_extensions::read_handlers(&mut store.extensions, reader, all.code);
            },
            |_, _, _, _| None,
        ),
        Key::own(
            change_event_journal::KEY,
            |store, reader, key, _| {
                let journal = reader.string(key);
                store.change_event_journal = journal.filter(|plugin_id| !plugin_id.is_empty());
            },
            |_, _, _, _| None,
        ),
    ];

    fn defaults(plugin_id: &str, all: &ForAllStores<'_>) -> Self {
        let mut actor = StateSettings::new(plugin_id);
        actor.max_concurrent_recoveries = all.max_concurrent_recoveries;
        Self {
            actor,
            query: QuerySettings::default(),
            extensions: StateExtensions::default(),
            change_event_journal: None,
        }
    }
}
