//! The list of all specs, by the kind of store that they are for.

use actix_persistence_storage_api::{Journal, OffsetStore, SnapshotStore, StateStore};

use crate::case::{CaseInfo, Spec};
use crate::subject::UnderTest;
use crate::{durable_state_extensions_spec, durable_state_store_spec, state_queries_spec};
use crate::{event_queries_spec, journal_serialization_spec, journal_spec, offset_store_spec};
use crate::{snapshot_store_serialization_spec, snapshot_store_spec};

/// A kind of store that the kit has specs for.
pub(crate) trait Specified: UnderTest {
    /// Every spec of this kind.
    const SPECS: &'static [Spec<Self>];
}

impl Specified for dyn Journal {
    const SPECS: &'static [Spec<Self>] = &[
        journal_spec::SPEC,
        journal_serialization_spec::SPEC,
        event_queries_spec::SPEC,
    ];
}

impl Specified for dyn SnapshotStore {
    const SPECS: &'static [Spec<Self>] = &[
        snapshot_store_spec::SPEC,
        snapshot_store_serialization_spec::SPEC,
    ];
}

impl Specified for dyn StateStore {
    const SPECS: &'static [Spec<Self>] = &[
        durable_state_store_spec::SPEC,
        durable_state_extensions_spec::SPEC,
        state_queries_spec::SPEC,
    ];
}

impl Specified for dyn OffsetStore {
    const SPECS: &'static [Spec<Self>] = &[offset_store_spec::SPEC];
}

/// Returns every case of every spec, in the order of the specs.
pub fn cases() -> Vec<CaseInfo> {
    infos::<dyn Journal>()
        .chain(infos::<dyn SnapshotStore>())
        .chain(infos::<dyn StateStore>())
        .chain(infos::<dyn OffsetStore>())
        .collect()
}

/// Returns the names of the cases that need one of these capabilities, such as `tags`.
///
/// A fixture whose store declares none of them returns these from
/// [`expected_ignored`](crate::Fixture::expected_ignored).
pub fn cases_needing(capabilities: &[&str]) -> Vec<String> {
    let mut needing = cases();
    needing.retain(|case| {
        case.needs
            .iter()
            .any(|needed| capabilities.contains(needed))
    });
    needing.into_iter().map(|case| case.name).collect()
}

fn infos<S: Specified + ?Sized>() -> impl Iterator<Item = CaseInfo> {
    S::SPECS
        .iter()
        .flat_map(|spec| spec.cases().map(|case| case.info(spec)))
}
