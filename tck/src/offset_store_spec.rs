//! `offset_store_spec`: the store that keeps how far projections have read.

use actix_persistence_storage_api::OffsetStore;

use crate::case::Spec;

mod attempt;
mod attend;
mod change;
mod commit;
mod counts;
mod halt;
mod initialize;
mod keys;
mod live;
mod parked;
mod parking;
mod parking_race;
mod race;
mod read;
mod register;
mod release;
mod skipped;
mod take;
mod work;

/// The spec; the groups stand in the order in which a new plugin wants to make them pass.
pub(crate) const SPEC: Spec<dyn OffsetStore> = Spec {
    name: "offset_store_spec",
    groups: &[
        initialize::CASES,
        register::CASES,
        read::CASES,
        keys::CASES,
        take::CASES,
        release::CASES,
        attend::CASES,
        attempt::CASES,
        commit::CASES,
        skipped::CASES,
        halt::CASES,
        change::CASES,
        counts::CASES,
        parking::CASES,
        parked::CASES,
        live::CASES,
        work::CASES,
        race::CASES,
        parking_race::CASES,
    ],
};
