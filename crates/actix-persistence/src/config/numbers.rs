//! Numbers of the config, read and shown.

use actix_persistence_storage_api::SectionReader;

/// A whole number from 1 that fits into any counter, or the default.
pub(super) fn positive_count(reader: &mut SectionReader<'_>, key: &str, default: usize) -> usize {
    count_to(reader, key, default, u32::MAX)
}

/// A whole number from 1 to `most`, or the default.
pub(super) fn count_to(
    reader: &mut SectionReader<'_>,
    key: &str,
    default: usize,
    most: u32,
) -> usize {
    let number = reader.integer_or(key, default as u64, 1..=u64::from(most));
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// The number as the config would say it.
pub(super) fn shown_number(number: impl TryInto<i64>) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}
