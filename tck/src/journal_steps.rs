//! The steps of which the cases for journals are made.

use actix_persistence_storage_api::{
    AtomicWrite, Effect, Epoch, EventRecord, Journal, PageLimit, PersistenceId, ReplayPage,
    ReplayRange, SequenceConflict, SequenceNr, StorageError, StorageErrorKind, StreamHead,
    WriteOutcome,
};

use crate::failure::{CaseResult, Failure, expect, expect_eq};

/// The limit that allows any number of events.
pub(crate) const ALL: usize = usize::MAX;
/// The bound of a range without an upper end.
pub(crate) const MAX: SequenceNr = SequenceNr::MAX;

/// Reads one page.
pub(crate) async fn page(
    journal: &dyn Journal,
    id: &PersistenceId,
    (from, to): (SequenceNr, SequenceNr),
    max_events: usize,
) -> Result<ReplayPage, Failure> {
    let range = ReplayRange::new(from, to);
    let limit = PageLimit::events(max_events);
    Ok(journal.replay_messages(id, range, limit).await?)
}

/// Reads every event of an id.
pub(crate) async fn replayed(
    journal: &dyn Journal,
    id: &PersistenceId,
) -> Result<Vec<EventRecord>, Failure> {
    let page = page(journal, id, (1, MAX), ALL).await?;
    expect_eq("more after an unlimited page", page.more, false)?;
    Ok(page.events)
}

/// Returns the numbers of events, in the order given.
pub(crate) fn numbers(events: &[EventRecord]) -> Vec<SequenceNr> {
    events.iter().map(|event| event.sequence_nr).collect()
}

/// Expects every event of the id to have these numbers.
pub(crate) async fn expect_numbers(
    journal: &dyn Journal,
    id: &PersistenceId,
    expected: impl IntoIterator<Item = SequenceNr>,
) -> CaseResult {
    let found = numbers(&replayed(journal, id).await?);
    expect_eq("replayed numbers", found, expected.into_iter().collect())
}

/// Expects these records, first by number, then field by field.
#[track_caller]
pub(crate) fn expect_records(found: &[EventRecord], expected: &[EventRecord]) -> CaseResult {
    expect_eq("replayed numbers", numbers(found), numbers(expected))?;
    for (found, expected) in found.iter().zip(expected) {
        let number = expected.sequence_nr;
        expect_eq(
            format!("writer of event {number}"),
            found.writer,
            expected.writer,
        )?;
        expect(
            found.payload.bytes == expected.payload.bytes,
            format!("the bytes of event {number} as they were written"),
        )?;
        expect_eq(format!("event {number}"), found, expected)?;
    }
    Ok(())
}

/// Expects the highest number of the id.
pub(crate) async fn expect_highest(
    journal: &dyn Journal,
    id: &PersistenceId,
    expected: SequenceNr,
) -> CaseResult {
    let found = journal.read_highest_sequence_nr(id).await?;
    expect_eq("highest sequence number", found, expected)
}

/// Expects where the id stands: the highest number, the highest deleted one, and the epoch.
pub(crate) async fn expect_head(
    journal: &dyn Journal,
    id: &PersistenceId,
    (highest_sequence_nr, deleted_to, epoch): (SequenceNr, SequenceNr, Epoch),
) -> CaseResult {
    let expected = StreamHead {
        highest_sequence_nr,
        deleted_to,
        epoch,
        holds_changes: false,
    };
    expect_eq("head", journal.read_head(id).await?, expected)
}

/// Writes one atomic write and returns its outcome.
pub(crate) async fn outcome_of(
    journal: &dyn Journal,
    write: AtomicWrite,
) -> Result<WriteOutcome, Failure> {
    let mut outcomes = outcomes_of(journal, vec![write]).await?;
    outcomes
        .pop()
        .ok_or_else(|| Failure::new("expected an outcome"))
}

/// Writes in one call; expects one outcome per write.
pub(crate) async fn outcomes_of(
    journal: &dyn Journal,
    writes: Vec<AtomicWrite>,
) -> Result<Vec<WriteOutcome>, Failure> {
    let count = writes.len();
    let outcomes = journal.write_messages(writes).await?;
    expect_eq("number of outcomes", outcomes.len(), count)?;
    Ok(outcomes)
}

/// Writes in one call and expects all of it to be stored.
pub(crate) async fn expect_stored(journal: &dyn Journal, writes: Vec<AtomicWrite>) -> CaseResult {
    for (place, outcome) in outcomes_of(journal, writes).await?.iter().enumerate() {
        expect(
            outcome.is_stored(),
            format!("write {place} of the call to be stored, found {outcome:?}"),
        )?;
    }
    Ok(())
}

/// Returns the conflict of a write that lost, certain not to be stored.
#[track_caller]
pub(crate) fn conflict_in(outcome: &WriteOutcome) -> Result<SequenceConflict, Failure> {
    let WriteOutcome::Failed(error) = outcome else {
        let text = format!("expected a write that failed with a conflict, found {outcome:?}");
        return Err(Failure::new(text));
    };
    expect_eq("kind", error.kind(), StorageErrorKind::SequenceConflict)?;
    expect_eq("effect", error.effect(), Some(Effect::NotStored))?;
    error.sequence_conflict().copied().ok_or_else(|| {
        Failure::new(format!(
            "expected a conflict that names both writers, found {error:?}"
        ))
    })
}

/// Expects a rejection of this kind, certain not to be stored.
#[track_caller]
pub(crate) fn expect_rejected(outcome: &WriteOutcome, kind: StorageErrorKind) -> CaseResult {
    let WriteOutcome::Rejected(error) = outcome else {
        let text = format!("expected a write rejected as {kind:?}, found {outcome:?}");
        return Err(Failure::new(text));
    };
    expect_eq("kind", StorageError::kind(error), kind)?;
    expect_eq("effect", error.effect(), Some(Effect::NotStored))
}

/// Expects a write that was not tried.
#[track_caller]
pub(crate) fn expect_skipped(outcome: &WriteOutcome) -> CaseResult {
    let skipped = matches!(outcome, WriteOutcome::Skipped);
    expect(skipped, format!("a skipped write, found {outcome:?}"))
}
