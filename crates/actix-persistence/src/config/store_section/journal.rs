//! The keys that all journals share.

use actix_persistence_journal_actor::JournalSettings;
use actix_persistence_storage_api::SectionReader;

use super::super::durations::shown_duration;
use super::super::keys::{Key, default};
use super::super::numbers::shown_number;
use super::{ForAllStores, MAX_HELD_REQUESTS, StoreSettings, circuit_breaker, replay_filter};

const WRITE_TIMEOUT: &str = "write-timeout";

impl StoreSettings for JournalSettings {
    const NAME: &'static str = "journal";
    const SECTION: &'static str = "journal";
    const FALLBACK: &'static str = "journal-plugin-fallback";
    const KEYS: &'static [Key<Self>] = &[
        Key::duration("initialize-timeout", |journal| {
            &mut journal.initialize_timeout
        }),
        Key::count(MAX_HELD_REQUESTS, |journal| &mut journal.max_held_requests),
        Key::duration(WRITE_TIMEOUT, |journal| &mut journal.write_timeout),
        Key::duration("recovery-event-timeout", |journal| {
            &mut journal.recovery_event_timeout
        }),
        Key::duration("recovery-permit-timeout", |journal| {
            &mut journal.recovery_permit_timeout
        }),
        Key::recoveries(|journal| &mut journal.max_concurrent_recoveries),
        Key::own("lanes", read_lanes, |journal, _, _, _| {
            journal.lanes.map(|lanes| default(shown_number(lanes)))
        }),
        Key::own(
            circuit_breaker::KEY,
            |journal, reader, _, all| {
                circuit_breaker::read(&mut journal.circuit_breaker, reader, all);
            },
            |journal, section, _, all| {
                Some(circuit_breaker::shown(
                    &journal.circuit_breaker,
                    section,
                    all,
                ))
            },
        ),
        Key::own(
            replay_filter::KEY,
            |journal, reader, _, all| replay_filter::read(&mut journal.replay_filter, reader, all),
            |journal, section, _, all| {
                Some(replay_filter::shown(&journal.replay_filter, section, all))
            },
        ),
    ];

    fn defaults(plugin_id: &str, all: &ForAllStores<'_>) -> Self {
        let mut journal = JournalSettings::new(plugin_id);
        journal.max_concurrent_recoveries = all.max_concurrent_recoveries;
        journal
    }

    fn doubt(&self) -> Option<String> {
        let call = self.circuit_breaker.call_timeout;
        (self.write_timeout <= call).then(|| {
            format!(
                "'{WRITE_TIMEOUT}' ({}) is not longer than '{}.{}' ({}), so writes are given up that are about to be \
                 answered",
                shown_duration(self.write_timeout),
                circuit_breaker::KEY,
                circuit_breaker::CALL_TIMEOUT,
                shown_duration(call)
            )
        })
    }
}

fn read_lanes(
    journal: &mut JournalSettings,
    reader: &mut SectionReader<'_>,
    key: &'static str,
    _: &ForAllStores<'_>,
) {
    // 0 is outside the range, so it stands for a key that is missing or wrong.
    let lanes = reader.integer_or(key, 0, 1..=1_024);
    journal.lanes = usize::try_from(lanes).ok().filter(|lanes| *lanes > 0);
}
