//! The keys that all journals share.

use actix_persistence_journal_actor::JournalSettings;
use actix_persistence_query::QuerySettings;
use actix_persistence_storage_api::SectionReader;

use super::super::durations::shown_duration;
use super::super::keys::{Key, default};
use super::super::numbers::shown_number;
use super::{
    ForAllStores, MAX_HELD_REQUESTS, StoreSettings, circuit_breaker, query, replay_filter,
};

const WRITE_TIMEOUT: &str = "write-timeout";

/// The settings of the actor in front of a journal, and of its queries.
#[derive(Clone, Debug)]
pub(crate) struct JournalStoreSettings {
    pub(crate) actor: JournalSettings,
    pub(crate) query: QuerySettings,
}

impl StoreSettings for JournalStoreSettings {
    const NAME: &'static str = "journal";
    const SECTION: &'static str = "journal";
    const FALLBACK: &'static str = "journal-plugin-fallback";
    const KEYS: &'static [Key<Self>] = &[
        Key::duration("initialize-timeout", |journal| {
            &mut journal.actor.initialize_timeout
        }),
        Key::count(MAX_HELD_REQUESTS, |journal| {
            &mut journal.actor.max_held_requests
        }),
        Key::duration(WRITE_TIMEOUT, |journal| &mut journal.actor.write_timeout),
        Key::duration("recovery-event-timeout", |journal| {
            &mut journal.actor.recovery_event_timeout
        }),
        Key::duration("recovery-permit-timeout", |journal| {
            &mut journal.actor.recovery_permit_timeout
        }),
        Key::recoveries(|journal| &mut journal.actor.max_concurrent_recoveries),
        Key::own("lanes", read_lanes, |journal, _, _, _| {
            journal
                .actor
                .lanes
                .map(|lanes| default(shown_number(lanes)))
        }),
        Key::own(
            circuit_breaker::KEY,
            |journal, reader, _, all| {
                circuit_breaker::read(&mut journal.actor.circuit_breaker, reader, all);
            },
            |journal, section, _, all| {
                Some(circuit_breaker::shown(
                    &journal.actor.circuit_breaker,
                    section,
                    all,
                ))
            },
        ),
        Key::own(
            replay_filter::KEY,
            |journal, reader, _, all| {
                replay_filter::read(&mut journal.actor.replay_filter, reader, all)
            },
            |journal, section, _, all| {
                Some(replay_filter::shown(
                    &journal.actor.replay_filter,
                    section,
                    all,
                ))
            },
        ),
        Key::own(
            query::KEY,
            |journal, reader, _, all| query::read(&mut journal.query, reader, all),
            |journal, section, _, all| Some(query::shown(&journal.query, section, all)),
        ),
    ];

    fn defaults(plugin_id: &str, all: &ForAllStores<'_>) -> Self {
        let mut actor = JournalSettings::new(plugin_id);
        actor.max_concurrent_recoveries = all.max_concurrent_recoveries;
        Self {
            actor,
            query: QuerySettings::default(),
        }
    }

    fn doubt(&self) -> Option<String> {
        let call = self.actor.circuit_breaker.call_timeout;
        (self.actor.write_timeout <= call).then(|| {
            format!(
                "'{WRITE_TIMEOUT}' ({}) is not longer than '{}.{}' ({}), so writes are given up that are about to be \
                 answered",
                shown_duration(self.actor.write_timeout),
                circuit_breaker::KEY,
                circuit_breaker::CALL_TIMEOUT,
                shown_duration(call)
            )
        })
    }
}

fn read_lanes(
    journal: &mut JournalStoreSettings,
    reader: &mut SectionReader<'_>,
    key: &'static str,
    _: &ForAllStores<'_>,
) {
    // 0 is outside the range, so it stands for a key that is missing or wrong.
    let lanes = reader.integer_or(key, 0, 1..=1_024);
    journal.actor.lanes = usize::try_from(lanes).ok().filter(|lanes| *lanes > 0);
}
