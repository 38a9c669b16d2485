//! `state_queries_spec`: every clause of the contract of queries over states.

use actix_persistence_storage_api::StateStore;

use crate::case::Spec;

mod changes;
mod ids;
mod last;
mod offset;
mod while_written;

/// The spec of queries of states; ignored as a whole for a store without queries.
pub(crate) const SPEC: Spec<dyn StateStore> = Spec {
    name: "state_queries_spec",
    groups: &[
        ids::CASES,
        changes::CASES,
        offset::CASES,
        last::CASES,
        while_written::CASES,
    ],
};
