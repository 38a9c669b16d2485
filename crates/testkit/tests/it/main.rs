//! Intercepted stores: the calls that they change, and those that they leave alone.
#![allow(clippy::unwrap_used)]

mod decided;
mod every_method;
mod held_calls;
mod offset_store;
mod plugin;
mod rules;
mod writes;

use actix_persistence_storage_api::{AtomicWrite, EventRecord, Payload, PersistenceId, Timestamp};
use actix_persistence_storage_api::{SequenceNr, StateUpdate, WriterId};

fn id(name: &str) -> PersistenceId {
    PersistenceId::of("Account", name)
}

/// The first write of an id, or a later one by the same writer.
fn write(name: &str, sequence_nr: SequenceNr, epoch: u64) -> AtomicWrite {
    let payload = Payload::new(1, "event", "x");
    let record = EventRecord::new(sequence_nr, Timestamp::UNSET, WriterId::NIL, payload);
    AtomicWrite::new(id(name), epoch, vec![record]).unwrap()
}

fn update(name: &str, revision: u64) -> StateUpdate {
    StateUpdate::new(id(name), revision, Payload::new(1, "state", "x"))
}
