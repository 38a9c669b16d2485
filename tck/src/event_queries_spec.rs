//! `event_queries_spec`: every clause of the contract of queries over events.

use actix_persistence_storage_api::Journal;

use crate::case::Spec;

mod bound;
mod deletes;
mod events;
mod ids;
mod newest;
mod offset;
mod pages;
mod place;
mod selection;
mod while_written;

/// The spec of queries of events; ignored as a whole for a journal without queries.
pub(crate) const SPEC: Spec<dyn Journal> = Spec {
    name: "event_queries_spec",
    groups: &[
        ids::CASES,
        events::CASES,
        selection::CASES,
        pages::CASES,
        offset::CASES,
        deletes::CASES,
        newest::CASES,
        place::CASES,
        while_written::CASES,
        bound::CASES,
    ],
};
