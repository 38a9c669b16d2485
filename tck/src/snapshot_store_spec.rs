//! `snapshot_store_spec`: every clause of the contract of a snapshot store.

use actix_persistence_storage_api::SnapshotStore;

use crate::case::Spec;

mod delete;
mod fields;
mod identity;
mod initialize;
mod load;
mod race;
mod save;

/// The spec; the groups stand in the order in which a new plugin wants to make them pass.
pub(crate) const SPEC: Spec<dyn SnapshotStore> = Spec {
    name: "snapshot_store_spec",
    groups: &[
        initialize::CASES,
        load::CASES,
        save::CASES,
        delete::CASES,
        fields::CASES,
        identity::CASES,
        race::CASES,
    ],
};
