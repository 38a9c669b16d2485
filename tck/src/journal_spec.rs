//! `journal_spec`: every clause of the contract of a journal.

use actix_persistence_storage_api::Journal;

use crate::case::Spec;

mod cancel;
mod command;
mod conflict;
mod delete;
mod delete_and_replay;
mod fence;
mod fenced_delete;
mod fields;
mod head;
mod highest;
mod identity;
mod initialize;
mod outcomes;
mod page;
mod purge;
mod race;
mod replay;
mod size;
mod take_over;
mod take_over_at_once;
mod take_over_in_groups;
mod take_over_with_a_write;
mod write;

/// The spec; the groups stand in the order in which a new plugin wants to make them pass.
pub(crate) const SPEC: Spec<dyn Journal> = Spec {
    name: "journal_spec",
    groups: &[
        initialize::CASES,
        take_over::CASES,
        head::CASES,
        write::CASES,
        replay::CASES,
        page::CASES,
        highest::CASES,
        delete::CASES,
        delete_and_replay::CASES,
        purge::CASES,
        conflict::CASES,
        outcomes::CASES,
        fence::CASES,
        take_over_with_a_write::CASES,
        take_over_in_groups::CASES,
        fenced_delete::CASES,
        fields::CASES,
        size::CASES,
        identity::CASES,
        race::CASES,
        take_over_at_once::CASES,
        cancel::CASES,
        command::CASES,
    ],
};
