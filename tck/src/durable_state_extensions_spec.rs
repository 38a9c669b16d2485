//! `durable_state_extensions_spec`: what an application adds to a state store.

use actix_persistence_storage_api::StateStore;

use crate::case::Spec;

mod columns;
mod finding;
mod handlers;
mod sessions;

/// The spec; the groups stand in the order in which a new plugin wants to make them pass.
pub(crate) const SPEC: Spec<dyn StateStore> = Spec {
    name: "durable_state_extensions_spec",
    groups: &[
        sessions::CASES,
        columns::CASES,
        finding::CASES,
        handlers::CASES,
    ],
};
