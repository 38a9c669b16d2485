//! Deletes of a writer that may have lost its id.

use actix_persistence_storage_api::{
    Effect, Epoch, EventDeletion, Journal, SequenceNr, StorageErrorKind, StreamHead, WriterId,
};

use crate::case::{Case, case};
use crate::failure::{CaseResult, Failure, expect_eq};
use crate::journal_steps::{MAX, expect_head, expect_numbers};
use crate::subject::Subject;
use crate::writer::{Writer, fresh_id};

pub(super) const CASES: &[Case<dyn Journal>] = &[
    case!(delete_at_the_present_epoch, ["J-DELETE-7", "J-DELETE-1"]),
    case!(
        refuse_a_delete_at_an_epoch_that_is_not_the_present_one,
        ["J-DELETE-7"]
    ),
    case!(
        leave_no_trace_when_deleting_at_an_epoch_of_an_id_never_seen,
        ["J-DELETE-7", "J-DELETE-4"]
    ),
];

async fn delete_at_the_present_epoch(subject: Subject<dyn Journal>) -> CaseResult {
    let journal = subject.store();
    let first = subject.five_events().await?;
    let delete = |to, epoch| {
        let deletion = EventDeletion::up_to(to).at_epoch(epoch);
        journal.delete_messages_to(&first.id, deletion)
    };
    delete(2, first.taken.epoch).await?;
    expect_numbers(journal, &first.id, 3..=5).await?;
    let mut second = Writer::look(journal, &first.id).await?;
    // A process that only looked deletes at the epoch that it saw.
    delete(3, second.taken.epoch).await?;
    second.take_over(journal).await?;
    delete(4, second.taken.epoch).await?;
    expect_numbers(journal, &first.id, 5..=6).await?;
    let third = Writer::holder_of(journal, &first.id).await?;
    delete(MAX, third.taken.epoch).await?;
    expect_head(journal, &first.id, (6, 6, third.taken.epoch)).await
}

/// Expects a delete to lose against the holder, and to delete nothing.
async fn expect_refused(
    journal: &dyn Journal,
    to: SequenceNr,
    epoch: Epoch,
    holder: &Writer,
    highest: SequenceNr,
) -> CaseResult {
    let before = journal.read_head(&holder.id).await?;
    let deletion = EventDeletion::up_to(to).at_epoch(epoch);
    let Err(error) = journal.delete_messages_to(&holder.id, deletion).await else {
        return Err(Failure::new(format!(
            "expected a delete at epoch {epoch} to be refused, found that it was done"
        )));
    };
    expect_eq("kind", error.kind(), StorageErrorKind::SequenceConflict)?;
    expect_eq("effect", error.effect(), Some(Effect::NotStored))?;
    let conflict = error.sequence_conflict().copied();
    let conflict = conflict.ok_or_else(|| {
        Failure::new(format!(
            "expected a conflict that names who has the id, found {error:?}"
        ))
    })?;
    expect_eq("refused epoch", conflict.refused.epoch, epoch)?;
    expect_eq("refused number", conflict.refused.sequence_nr, to)?;
    expect_eq("stored writer", conflict.stored.writer, holder.writer)?;
    expect_eq("stored epoch", conflict.stored.epoch, holder.taken.epoch)?;
    expect_eq("stored number", conflict.stored.sequence_nr, highest)?;
    let after = journal.read_head(&holder.id).await?;
    expect_eq("head after a refused delete", after, before)
}

async fn refuse_a_delete_at_an_epoch_that_is_not_the_present_one(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    let journal = subject.store();
    let first = subject.five_events().await?;
    let never = [i64::MAX as u64, u64::MAX];
    for epoch in [0, 2].into_iter().chain(never) {
        expect_refused(journal, 3, epoch, &first, 5).await?;
    }
    let mut second = Writer::look(journal, &first.id).await?;
    second.take_over(journal).await?;
    for epoch in [0, 1, 3].into_iter().chain(never) {
        expect_refused(journal, MAX, epoch, &second, 6).await?;
    }
    let third = Writer::holder_of(journal, &first.id).await?;
    for epoch in [0, 1, second.taken.epoch].into_iter().chain(never) {
        expect_refused(journal, 3, epoch, &third, 6).await?;
    }
    expect_numbers(journal, &first.id, 1..=6).await
}

async fn leave_no_trace_when_deleting_at_an_epoch_of_an_id_never_seen(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    let journal = subject.store();
    let id = fresh_id();
    let nobody = Writer::stranger(&id, WriterId::NIL, 0);
    for to in [0, 3, MAX] {
        let deletion = EventDeletion::up_to(to).at_epoch(0);
        journal.delete_messages_to(&id, deletion).await?;
        for epoch in [1, 2, u64::MAX] {
            expect_refused(journal, to, epoch, &nobody, 0).await?;
        }
        let head = journal.read_head(&id).await?;
        expect_eq("head of an id never seen", head, StreamHead::default())?;
    }
    let mut writer = Writer::look(journal, &id).await?;
    writer.take_over(journal).await?;
    expect_head(journal, &id, (1, 0, 1)).await?;
    writer.expect_events(journal, 1..=1).await
}
