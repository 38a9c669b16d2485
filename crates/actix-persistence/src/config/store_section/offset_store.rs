//! The keys that all offset stores share.

use actix_persistence_offset_actor::OffsetSettings;

use super::super::keys::Key;
use super::{ForAllStores, MAX_HELD_REQUESTS, StoreSettings, circuit_breaker};

impl StoreSettings for OffsetSettings {
    const NAME: &'static str = "offset store";
    const SECTION: &'static str = "offset-store";
    const FALLBACK: &'static str = "offset-store-plugin-fallback";
    const KEYS: &'static [Key<Self>] = &[
        Key::duration("initialize-timeout", |store| &mut store.initialize_timeout),
        Key::count(MAX_HELD_REQUESTS, |store| &mut store.max_held_requests),
        Key::duration("read-timeout", |store| &mut store.read_timeout),
        Key::duration("write-timeout", |store| &mut store.write_timeout),
        Key::count_to(
            "max-concurrent-calls",
            |store| &mut store.max_concurrent_calls,
            1_024,
        ),
        Key::own(
            circuit_breaker::KEY,
            |store, reader, _, all| circuit_breaker::read(&mut store.circuit_breaker, reader, all),
            |store, section, _, all| {
                Some(circuit_breaker::shown(&store.circuit_breaker, section, all))
            },
        ),
    ];

    fn defaults(plugin_id: &str, _: &ForAllStores<'_>) -> Self {
        OffsetSettings::new(plugin_id)
    }
}
