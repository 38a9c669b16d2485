//! `durable_state_store_spec`: every clause of the contract of a state store.

use actix_persistence_storage_api::StateStore;

use crate::case::Spec;

mod delete;
mod fields;
mod get;
mod group;
mod hard_delete;
mod identity;
mod initialize;
mod race;
mod upsert;

/// The spec of state stores; its groups stand in the order in which a new plugin wants to make them pass.
pub(crate) const SPEC: Spec<dyn StateStore> = Spec {
    name: "durable_state_store_spec",
    groups: &[
        initialize::CASES,
        get::CASES,
        upsert::CASES,
        delete::CASES,
        hard_delete::CASES,
        fields::CASES,
        identity::CASES,
        race::CASES,
        group::CASES,
    ],
};
