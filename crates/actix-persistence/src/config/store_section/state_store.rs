//! The keys that all state stores share.

use actix_persistence_query::QuerySettings;
use actix_persistence_state_actor::StateSettings;
use actix_persistence_storage_api::{Item, Section, SectionReader, StateExtensions, Value};

use super::super::durations::{positive_duration, shown_duration};
use super::super::settings::{ForAllStores, positive_count};
use super::{
    StoreSettings, change_event_journal, circuit_breaker, default, default_origin, query,
    state_extensions,
};

/// The settings of the actor in front of a state store, of its queries, and of what the store holds beside its states.
#[derive(Debug)]
pub(crate) struct StateStoreSettings {
    pub(crate) actor: StateSettings,
    pub(crate) query: QuerySettings,
    pub(crate) extensions: StateExtensions,
    /// The plugin id (short) of the journal that gets an event with every change.
    pub(crate) change_event_journal: Option<String>,
}

impl StoreSettings for StateStoreSettings {
    const SECTION: &'static str = "state";
    const FALLBACK: &'static str = "state-plugin-fallback";
    const KEYS: &'static [&'static str] = &[
        "initialize-timeout",
        "recovery-timeout",
        "write-timeout",
        "recovery-permit-timeout",
        "max-concurrent-recoveries",
        "max-concurrent-calls",
        circuit_breaker::KEY,
        query::KEY,
        state_extensions::COLUMNS,
        state_extensions::TABLE,
        state_extensions::HANDLER,
        change_event_journal::KEY,
    ];

    fn read(plugin_id: &str, reader: &mut SectionReader<'_>, all: &ForAllStores<'_>) -> Self {
        let mut actor = StateSettings::new(plugin_id);
        for (key, duration) in [
            ("initialize-timeout", &mut actor.initialize_timeout),
            ("recovery-timeout", &mut actor.recovery_timeout),
            ("write-timeout", &mut actor.write_timeout),
            (
                "recovery-permit-timeout",
                &mut actor.recovery_permit_timeout,
            ),
        ] {
            *duration = positive_duration(reader, key, *duration);
        }
        actor.max_concurrent_recoveries = positive_count(
            reader,
            "max-concurrent-recoveries",
            all.max_concurrent_recoveries,
        );
        let calls = actor.max_concurrent_calls as u64;
        let calls = reader.integer_or("max-concurrent-calls", calls, 1..=1_024);
        actor.max_concurrent_calls = usize::try_from(calls).unwrap_or(usize::MAX);
        actor.circuit_breaker = circuit_breaker::read(reader, actor.circuit_breaker);
        let journal = reader.string(change_event_journal::KEY);
        Self {
            actor,
            query: query::read(reader),
            extensions: state_extensions::read(reader, all.code),
            change_event_journal: journal.filter(|plugin_id| !plugin_id.is_empty()),
        }
    }

    fn doubt(&self) -> Option<String> {
        None
    }

    fn shown(&self, section: Section, all: &ForAllStores<'_>) -> Section {
        let section = circuit_breaker::shown(&self.actor.circuit_breaker, section);
        let mut section = query::shown(&self.query, section);
        for (key, duration) in [
            ("initialize-timeout", self.actor.initialize_timeout),
            ("recovery-timeout", self.actor.recovery_timeout),
            ("write-timeout", self.actor.write_timeout),
            (
                "recovery-permit-timeout",
                self.actor.recovery_permit_timeout,
            ),
        ] {
            section = default(section, key, shown_duration(duration));
        }
        let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
        let origin = all.max_concurrent_recoveries_origin.clone();
        let origin = origin.unwrap_or_else(default_origin);
        let value = Value::Integer(count(self.actor.max_concurrent_recoveries));
        section.insert("max-concurrent-recoveries", Item { value, origin });
        let calls = count(self.actor.max_concurrent_calls);
        default(section, "max-concurrent-calls", calls)
    }
}
