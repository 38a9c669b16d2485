//! The kit against stores that break the contract, each in one way: a kit that passes them proves nothing.
#![allow(clippy::unwrap_used)]

mod broken_extensions;
mod broken_journal;
mod broken_offset_store;
mod broken_snapshot_store;
mod broken_state_store;
mod contract;
mod coverage;
mod extension_defects;
mod extension_mutants;
mod fixture_checks;
mod journal_defects;
mod journal_mutants;
mod journal_perf;
mod mutant;
mod offset_defects;
mod offset_mutants;
mod snapshot_defects;
mod snapshot_mutants;
mod state_defects;
mod state_mutants;
