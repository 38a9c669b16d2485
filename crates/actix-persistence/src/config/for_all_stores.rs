//! The settings of stores that the section `persistence` sets for all of them.

use actix_persistence_storage_api::Origin;

use super::named_code::NamedCode;

/// The key with the number of actors that may recover at the same time, of all stores and of one.
pub(crate) const MAX_CONCURRENT_RECOVERIES: &str = "max-concurrent-recoveries";

/// The settings that hold for a store unless its own section sets them.
pub(crate) struct ForAllStores<'a> {
    /// The code that sections may name.
    pub(super) code: &'a NamedCode,
    /// The number of actors that may recover from a journal or a state store at the same time.
    pub(super) max_concurrent_recoveries: usize,
    /// The place at which that was written, if it was.
    pub(super) max_concurrent_recoveries_origin: Option<Origin>,
}
