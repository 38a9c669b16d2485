//! The keys of a store's circuit breaker.

use actix_persistence_storage_api::{Section, SectionReader};
use actix_persistence_store_actor::BreakerSettings;

use super::super::durations::{positive_duration, shown_duration};
use super::{default, default_origin};

/// The key of the section with these keys.
pub(super) const KEY: &str = "circuit-breaker";

/// Reads the breaker's section within the section of its store.
pub(super) fn read(store: &mut SectionReader<'_>, defaults: BreakerSettings) -> BreakerSettings {
    let mut breaker = defaults;
    let Some(section) = store.section(KEY) else {
        return breaker;
    };
    let mut reader = section.reader();
    let max_failures = u64::from(breaker.max_failures);
    let max_failures = reader.integer_or("max-failures", max_failures, 1..=u64::from(u32::MAX));
    breaker.max_failures = u32::try_from(max_failures).unwrap_or(u32::MAX);
    breaker.call_timeout = positive_duration(&mut reader, "call-timeout", breaker.call_timeout);
    breaker.reset_timeout = positive_duration(&mut reader, "reset-timeout", breaker.reset_timeout);
    breaker.max_reset_timeout =
        positive_duration(&mut reader, "max-reset-timeout", breaker.max_reset_timeout);
    if breaker.max_reset_timeout < breaker.reset_timeout {
        reader.reject(
            "max-reset-timeout",
            "must not be shorter than 'reset-timeout'",
        );
    }
    breaker.exponential_backoff = reader.float_or(
        "exponential-backoff",
        breaker.exponential_backoff,
        1.0..=1_000.0,
    );
    breaker.random_factor = reader.float_or("random-factor", breaker.random_factor, 0.0..=1.0);
    store.absorb(reader.finish());
    breaker
}

/// The values that hold, within a section of values that were not written.
pub(super) fn shown(breaker: &BreakerSettings, store: Section) -> Section {
    let section = Section::new(store.path_of(KEY), default_origin());
    let section = default(section, "max-failures", i64::from(breaker.max_failures));
    let section = default(
        section,
        "call-timeout",
        shown_duration(breaker.call_timeout),
    );
    let section = default(
        section,
        "reset-timeout",
        shown_duration(breaker.reset_timeout),
    );
    let section = default(
        section,
        "max-reset-timeout",
        shown_duration(breaker.max_reset_timeout),
    );
    let section = default(section, "exponential-backoff", breaker.exponential_backoff);
    let section = default(section, "random-factor", breaker.random_factor);
    default(store, KEY, section)
}
