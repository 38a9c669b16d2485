//! The keys of a store's circuit breaker.

use actix_persistence_storage_api::{Item, Section, SectionReader};
use actix_persistence_store_actor::BreakerSettings;

use super::super::keys::{Key, default, read_section, shown_section};
use super::ForAllStores;

/// The key of the section with these keys.
pub(super) const KEY: &str = "circuit-breaker";

pub(super) const CALL_TIMEOUT: &str = "call-timeout";
const RESET_TIMEOUT: &str = "reset-timeout";
const MAX_RESET_TIMEOUT: &str = "max-reset-timeout";

const KEYS: &[Key<BreakerSettings>] = &[
    Key::own("max-failures", read_max_failures, |breaker, _, _, _| {
        Some(default(i64::from(breaker.max_failures)))
    }),
    Key::duration(CALL_TIMEOUT, |breaker| &mut breaker.call_timeout),
    Key::duration(RESET_TIMEOUT, |breaker| &mut breaker.reset_timeout),
    Key::duration(MAX_RESET_TIMEOUT, |breaker| &mut breaker.max_reset_timeout),
    Key::float(
        "exponential-backoff",
        |breaker| &mut breaker.exponential_backoff,
        1.0..=1_000.0,
    ),
    Key::float(
        "random-factor",
        |breaker| &mut breaker.random_factor,
        0.0..=1.0,
    ),
];

/// Reads the breaker's section within the section of its store.
pub(super) fn read(
    breaker: &mut BreakerSettings,
    store: &mut SectionReader<'_>,
    all: &ForAllStores<'_>,
) {
    read_section(KEYS, breaker, store, KEY, all, |breaker, reader| {
        if breaker.max_reset_timeout < breaker.reset_timeout {
            let message = format!("must not be shorter than '{RESET_TIMEOUT}'");
            reader.reject(MAX_RESET_TIMEOUT, message);
        }
    });
}

/// Returns the section with the values that hold.
pub(super) fn shown(breaker: &BreakerSettings, store: &Section, all: &ForAllStores<'_>) -> Item {
    shown_section(KEYS, breaker, store, KEY, all)
}

fn read_max_failures(
    breaker: &mut BreakerSettings,
    reader: &mut SectionReader<'_>,
    key: &'static str,
    _: &ForAllStores<'_>,
) {
    let default = u64::from(breaker.max_failures);
    let failures = reader.integer_or(key, default, 1..=u64::from(u32::MAX));
    breaker.max_failures = u32::try_from(failures).unwrap_or(u32::MAX);
}
