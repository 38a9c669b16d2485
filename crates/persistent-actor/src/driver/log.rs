//! The log of drivers and incarnations. What is generic is compiled for each type of actors, and these once.

use std::error::Error;
use std::time::Duration;

use actix_persistence_storage_api::{PersistenceId, SequenceNr};

use crate::{ErrorChain, PersistError, RecoveryError, RejectionCause};

/// An event of an actor.
pub(crate) struct Place<'a> {
    pub(crate) persistence_id: &'a PersistenceId,
    pub(crate) sequence_nr: SequenceNr,
    pub(crate) manifest: &'a str,
}

pub(crate) fn failed_too_often(persistence_id: &PersistenceId, restarts: u32) {
    tracing::error!(
        %persistence_id,
        restarts,
        "the actor failed too often and ends for good"
    );
}

pub(crate) fn will_be_rebuilt(
    persistence_id: &PersistenceId,
    delay: Duration,
    waits_for_store: bool,
) {
    let delay_ms = delay.as_millis() as u64;
    if waits_for_store {
        tracing::debug!(%persistence_id, delay_ms, "the actor will be rebuilt when its store works, or after the delay");
    } else {
        tracing::info!(%persistence_id, delay_ms, "the actor will be rebuilt from its factory");
    }
}

pub(crate) fn not_rebuilt(persistence_id: &PersistenceId, error: &RecoveryError) {
    tracing::error!(
        %persistence_id,
        error = %ErrorChain(error),
        "the actor could not be rebuilt"
    );
}

pub(crate) fn not_wanted(persistence_id: &PersistenceId) {
    tracing::info!(
        %persistence_id,
        "the actor is not rebuilt: nothing waits for it, and no one can reach it"
    );
}

pub(crate) fn panicked(persistence_id: &PersistenceId, sequence_nr: SequenceNr, panic: &str) {
    tracing::error!(
        %persistence_id,
        sequence_nr,
        panic,
        "the actor panicked and will be rebuilt"
    );
}

pub(crate) fn panicked_while_dropped(persistence_id: &PersistenceId, panic: &str) {
    tracing::error!(
        %persistence_id,
        panic,
        "the actor panicked while it was dropped"
    );
}

pub(crate) fn leftovers_panicked(persistence_id: &PersistenceId, panic: &str) {
    tracing::error!(
        %persistence_id,
        panic,
        "what the actor left panicked while it was dropped"
    );
}

pub(crate) fn overflowed(persistence_id: &PersistenceId, sequence_nr: SequenceNr) {
    tracing::error!(
        %persistence_id,
        sequence_nr,
        "the stash overflowed, the actor stops and will be recovered"
    );
}

pub(crate) fn store_request_failed(persistence_id: &PersistenceId, error: &(dyn Error + 'static)) {
    tracing::warn!(
        %persistence_id,
        error = %ErrorChain(error),
        "a snapshot or delete failed"
    );
}

/// Logs a failed recovery. That its store is away is logged once for all actors.
pub(crate) fn recovery_failed(place: &Place<'_>, error: &RecoveryError, is_outage: bool) {
    let persistence_id = place.persistence_id;
    if is_outage {
        tracing::debug!(
            %persistence_id,
            error = %ErrorChain(error),
            "the recovery failed with its store"
        );
    } else if let RecoveryError::Overtaken { .. } = error {
        tracing::info!(
            %persistence_id,
            error = %ErrorChain(error),
            "the recovery starts over"
        );
    } else {
        tracing::error!(
            %persistence_id,
            sequence_nr = place.sequence_nr,
            manifest = place.manifest,
            error = %ErrorChain(error),
            "the recovery failed"
        );
    }
}

pub(crate) fn write_rejected(place: &Place<'_>, cause: &RejectionCause) {
    tracing::warn!(
        persistence_id = %place.persistence_id,
        sequence_nr = place.sequence_nr,
        manifest = place.manifest,
        error = %ErrorChain(cause),
        "a write was rejected"
    );
}

/// Logs that persisting failed. That its store is away is logged once for all actors.
pub(crate) fn persisting_failed(place: &Place<'_>, error: &PersistError, is_outage: bool) {
    if is_outage {
        tracing::debug!(
            persistence_id = %place.persistence_id,
            sequence_nr = place.sequence_nr,
            error = %ErrorChain(error),
            "persisting failed with the store, the actor stops and will be recovered"
        );
    } else {
        tracing::error!(
            persistence_id = %place.persistence_id,
            sequence_nr = place.sequence_nr,
            manifest = place.manifest,
            error = %ErrorChain(error),
            "persisting failed, the actor stops and will be recovered"
        );
    }
}
