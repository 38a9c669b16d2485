//! The keys that all snapshot stores share.

use actix_persistence_snapshot_actor::SnapshotSettings;
use actix_persistence_storage_api::{Section, SectionReader};

use super::super::durations::{positive_duration, shown_duration};
use super::super::settings::ForAllStores;
use super::{StoreSettings, circuit_breaker, default};

impl StoreSettings for SnapshotSettings {
    const SECTION: &'static str = "snapshot-store";
    const FALLBACK: &'static str = "snapshot-store-plugin-fallback";
    const KEYS: &'static [&'static str] = &[
        "initialize-timeout",
        "load-timeout",
        "save-timeout",
        "max-concurrent-calls",
        "snapshot-is-optional",
        circuit_breaker::KEY,
    ];

    fn read(plugin_id: &str, reader: &mut SectionReader<'_>, _: &ForAllStores<'_>) -> Self {
        let mut settings = SnapshotSettings::new(plugin_id);
        settings.initialize_timeout =
            positive_duration(reader, "initialize-timeout", settings.initialize_timeout);
        settings.load_timeout = positive_duration(reader, "load-timeout", settings.load_timeout);
        settings.save_timeout = positive_duration(reader, "save-timeout", settings.save_timeout);
        let calls = settings.max_concurrent_calls as u64;
        let calls = reader.integer_or("max-concurrent-calls", calls, 1..=1_024);
        settings.max_concurrent_calls = usize::try_from(calls).unwrap_or(usize::MAX);
        settings.snapshot_is_optional =
            reader.boolean_or("snapshot-is-optional", settings.snapshot_is_optional);
        settings.circuit_breaker = circuit_breaker::read(reader, settings.circuit_breaker);
        settings
    }

    fn doubt(&self) -> Option<String> {
        None
    }

    fn shown(&self, section: Section, _: &ForAllStores<'_>) -> Section {
        let section = circuit_breaker::shown(&self.circuit_breaker, section);
        let section = default(
            section,
            "initialize-timeout",
            shown_duration(self.initialize_timeout),
        );
        let section = default(section, "load-timeout", shown_duration(self.load_timeout));
        let section = default(section, "save-timeout", shown_duration(self.save_timeout));
        let calls = i64::try_from(self.max_concurrent_calls).unwrap_or(i64::MAX);
        let section = default(section, "max-concurrent-calls", calls);
        default(section, "snapshot-is-optional", self.snapshot_is_optional)
    }
}
