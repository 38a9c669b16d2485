//! The keys that all snapshot stores share.

use actix_persistence_snapshot_actor::SnapshotSettings;

use super::super::keys::{Key, default};
use super::super::numbers::shown_number;
use super::{ForAllStores, MAX_HELD_REQUESTS, StoreSettings, circuit_breaker};

impl StoreSettings for SnapshotSettings {
    const NAME: &'static str = "snapshot store";
    const SECTION: &'static str = "snapshot-store";
    const FALLBACK: &'static str = "snapshot-store-plugin-fallback";
    const KEYS: &'static [Key<Self>] = &[
        Key::duration("initialize-timeout", |store| &mut store.initialize_timeout),
        Key::count(MAX_HELD_REQUESTS, |store| &mut store.max_held_requests),
        Key::duration("load-timeout", |store| &mut store.load_timeout),
        Key::duration("save-timeout", |store| &mut store.save_timeout),
        Key::count_to(
            "max-concurrent-calls",
            |store| &mut store.max_concurrent_calls,
            1_024,
        ),
        Key::own(
            "bytes-per-second",
            |store, reader, key, _| {
                store.bytes_per_second = reader.bytes_or(key, store.bytes_per_second);
            },
            |store, _, _, _| Some(default(shown_number(store.bytes_per_second))),
        ),
        Key::boolean("snapshot-is-optional", |store| {
            &mut store.snapshot_is_optional
        }),
        Key::own(
            circuit_breaker::KEY,
            |store, reader, _, all| circuit_breaker::read(&mut store.circuit_breaker, reader, all),
            |store, section, _, all| {
                Some(circuit_breaker::shown(&store.circuit_breaker, section, all))
            },
        ),
    ];

    fn defaults(plugin_id: &str, _: &ForAllStores<'_>) -> Self {
        SnapshotSettings::new(plugin_id)
    }
}
