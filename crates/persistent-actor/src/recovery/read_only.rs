//! Looking at a stream without becoming its writer.

use std::sync::Arc;

use actix_persistence_storage_api::{PersistenceId, ReplayRange, SequenceNr};

use crate::environment::Environment;
use crate::recovery::decoded_pages::DecodedPages;
use crate::recovery::event_pages::EventPages;
use crate::recovery::process::{RecoveryProcess, RecoveryStep};
use crate::recovery::standing;
use crate::time_slice::TimeSlice;
use crate::{Event, EventMeta, PersistentActor, RecoveryError};

/// Brings an actor's state back without starting it: nothing is written, no epoch is raised, and an actor of the same
/// id that is live anywhere goes on undisturbed.
///
/// Returns the actor and the number of the last event in its state, or its revision; 0 if nothing was ever stored.
///
/// # Errors
/// [`RecoveryError`] as for a real recovery, [`RecoveryError::Overtaken`] among them: start over then, as if the
/// environment is one of actors of the other kind. [`RecoveryError::SnapshotNeeded`] if the actor's retention deletes
/// events, and no snapshot covers those that are deleted.
///
/// # Cancel safety
/// Has no effect that could be lost.
pub async fn replay_actor<A: PersistentActor>(
    mut actor: A,
    environment: Arc<Environment>,
) -> Result<(A, SequenceNr), RecoveryError> {
    let id = actor.persistence_id();
    let mut process: RecoveryProcess<A::Event, A::Snapshot> = match A::STORED_AS.hooks() {
        None => RecoveryProcess::for_reader(environment, id, actor.recovery()),
        Some(hooks) => RecoveryProcess::of_state(environment, id, hooks.read, false),
    };
    let (mut last, mut snapshot, mut deleted_to) = (0, 0, 0);
    loop {
        match process.next().await? {
            RecoveryStep::Begun(standing) => deleted_to = standing.deleted_to,
            RecoveryStep::Snapshot(offer) => {
                let (sequence_nr, answer) = (offer.metadata.sequence_nr, offer.answer());
                actor.on_snapshot(offer);
                if answer.is_taken() {
                    (last, snapshot) = (sequence_nr, sequence_nr);
                }
            }
            RecoveryStep::Events(events) => {
                let mut slice = TimeSlice::begin();
                for numbered in events {
                    let meta = numbered.meta();
                    for event in numbered.events.as_slice() {
                        actor.on_event_at(event, &meta);
                    }
                    last = numbered.sequence_nr;
                    slice.share().await;
                }
            }
            RecoveryStep::State { revision, state } => {
                A::STORED_AS.give(&mut actor, state.as_ref());
                last = revision;
            }
            RecoveryStep::Completed(_) => {
                check_snapshot(&actor, snapshot, deleted_to)?;
                return Ok((actor, last));
            }
        }
    }
}

/// Fails where an actor that deletes only what a snapshot covers lacks events: its state never was.
fn check_snapshot<A: PersistentActor>(
    actor: &A,
    snapshot: SequenceNr,
    deleted_to: SequenceNr,
) -> Result<(), RecoveryError> {
    let lacks_events = deleted_to > snapshot && actor.recovery().needs_what_was_deleted();
    if lacks_events
        && actor
            .retention()
            .is_some_and(|retention| retention.delete_events)
    {
        return Err(RecoveryError::SnapshotNeeded {
            persistence_id: actor.persistence_id(),
            deleted_to,
            source: None,
        });
    }
    Ok(())
}

/// Folds the events of an id that are stored now and not deleted, in order; `fold` gets what is stored with each too.
///
/// Events that are read from one that is stored have its number, see [`Upcasters::split`](crate::Upcasters::split).
///
/// # Errors
/// [`RecoveryError`] if an event is missing or cannot be decoded; [`RecoveryError::Overtaken`] if events were deleted
/// meanwhile that were to be given: starting over returns those that are left.
///
/// # Cancel safety
/// Has no effect that could be lost.
pub async fn replay_events<E: Event, S>(
    environment: &Environment,
    persistence_id: PersistenceId,
    range: ReplayRange,
    mut state: S,
    mut fold: impl FnMut(&mut S, &EventMeta, E),
) -> Result<S, RecoveryError> {
    let standing = standing::read(environment, &persistence_id).await?;
    let pages = EventPages::new(
        environment,
        persistence_id,
        ReplayRange::new(range.from, range.to.min(standing.highest_sequence_nr)),
        u64::MAX,
        standing.deleted_to,
    )?;
    let mut pages = DecodedPages::new(environment, pages)?;
    loop {
        let events = pages.next_portion().await?;
        if events.is_empty() {
            return Ok(state);
        }
        let mut slice = TimeSlice::begin();
        for numbered in events {
            let meta = numbered.meta();
            numbered
                .events
                .for_each(|event| fold(&mut state, &meta, event));
            slice.share().await;
        }
    }
}
