//! The keys that all journals share.

use actix_persistence_journal_actor::JournalSettings;
use actix_persistence_storage_api::{Item, Section, SectionReader, Value};

use super::super::durations::{positive_duration, shown_duration};
use super::super::settings::{ForAllStores, positive_count};
use super::{StoreSettings, circuit_breaker, default, default_origin, replay_filter};

impl StoreSettings for JournalSettings {
    const SECTION: &'static str = "journal";
    const FALLBACK: &'static str = "journal-plugin-fallback";
    const KEYS: &'static [&'static str] = &[
        "initialize-timeout",
        "write-timeout",
        "recovery-event-timeout",
        "recovery-permit-timeout",
        "max-concurrent-recoveries",
        "lanes",
        circuit_breaker::KEY,
        replay_filter::KEY,
    ];

    fn read(plugin_id: &str, reader: &mut SectionReader<'_>, all: &ForAllStores<'_>) -> Self {
        let mut settings = JournalSettings::new(plugin_id);
        settings.initialize_timeout =
            positive_duration(reader, "initialize-timeout", settings.initialize_timeout);
        settings.write_timeout = positive_duration(reader, "write-timeout", settings.write_timeout);
        settings.recovery_event_timeout = positive_duration(
            reader,
            "recovery-event-timeout",
            settings.recovery_event_timeout,
        );
        settings.recovery_permit_timeout = positive_duration(
            reader,
            "recovery-permit-timeout",
            settings.recovery_permit_timeout,
        );
        settings.max_concurrent_recoveries = positive_count(
            reader,
            "max-concurrent-recoveries",
            all.max_concurrent_recoveries,
        );
        // 0 is outside the range, so it stands for a key that is missing or wrong.
        let lanes = reader.integer_or("lanes", 0, 1..=1_024);
        settings.lanes = usize::try_from(lanes).ok().filter(|lanes| *lanes > 0);
        settings.circuit_breaker = circuit_breaker::read(reader, settings.circuit_breaker);
        settings.replay_filter = replay_filter::read(reader, settings.replay_filter);
        settings
    }

    fn doubt(&self) -> Option<String> {
        let call = self.circuit_breaker.call_timeout;
        (self.write_timeout <= call).then(|| {
            format!(
                "'write-timeout' ({}) is not longer than 'circuit-breaker.call-timeout' ({}), so writes are given up \
                 that are about to be answered",
                shown_duration(self.write_timeout),
                shown_duration(call)
            )
        })
    }

    fn shown(&self, section: Section, all: &ForAllStores<'_>) -> Section {
        let section = circuit_breaker::shown(&self.circuit_breaker, section);
        let mut section = replay_filter::shown(&self.replay_filter, section);
        for (key, duration) in [
            ("initialize-timeout", self.initialize_timeout),
            ("write-timeout", self.write_timeout),
            ("recovery-event-timeout", self.recovery_event_timeout),
            ("recovery-permit-timeout", self.recovery_permit_timeout),
        ] {
            section = default(section, key, shown_duration(duration));
        }
        let recoveries = i64::try_from(self.max_concurrent_recoveries).unwrap_or(i64::MAX);
        let origin = all.max_concurrent_recoveries_origin.clone();
        let origin = origin.unwrap_or_else(default_origin);
        let value = Value::Integer(recoveries);
        section.insert("max-concurrent-recoveries", Item { value, origin });
        match self.lanes.and_then(|lanes| i64::try_from(lanes).ok()) {
            Some(lanes) => default(section, "lanes", lanes),
            None => section,
        }
    }
}
