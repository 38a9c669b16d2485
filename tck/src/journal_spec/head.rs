//! The head of a stream, with which a recovery begins that takes the id over with its first write.

use actix_persistence_storage_api::{EventDeletion, Journal, StreamHead};
use tokio::task::yield_now;

use crate::case::{Case, case};
use crate::failure::{CaseResult, Failure, expect, expect_eq};
use crate::journal_steps::{MAX, expect_head, expect_highest};
use crate::subject::Subject;
use crate::writer::{Writer, fresh_id};

pub(super) const CASES: &[Case<dyn Journal>] = &[
    case!(tell_where_an_id_stands, ["J-HEAD-1"]),
    case!(
        report_no_writer_of_an_id_never_seen,
        ["J-HEAD-1", "J-HEAD-2"]
    ),
    case!(
        tell_where_an_id_stands_after_a_restart,
        ["J-HEAD-1", "J-TAKEOVER-5", "J-DELETE-5"]
    ),
    case!(change_nothing_when_looking, ["J-HEAD-2"]),
    case!(
        see_what_another_instance_did,
        ["J-HEAD-3", "J-WRITE-3", "J-WRITE-11"]
    ),
    case!(
        tell_where_an_id_stands_as_of_one_moment,
        ["J-HEAD-1", "J-WRITE-11"]
    ),
];

async fn tell_where_an_id_stands(subject: Subject<dyn Journal>) -> CaseResult {
    let journal = subject.store();
    let writer = subject.five_events().await?;
    // Of this one nothing must be seen in the other.
    let neighbour = Writer::of_fresh_id(journal).await?;
    expect_head(journal, &writer.id, (5, 0, 1)).await?;
    for (to, deleted_to) in [(2, 2), (1, 2), (MAX, 5)] {
        let deletion = EventDeletion::up_to(to);
        journal.delete_messages_to(&writer.id, deletion).await?;
        expect_head(journal, &writer.id, (5, deleted_to, 1)).await?;
    }
    let mut next = Writer::holder_of(journal, &writer.id).await?;
    let epoch = next.taken.epoch;
    expect_head(journal, &writer.id, (5, 5, epoch)).await?;
    next.store(journal, 2).await?;
    expect_head(journal, &writer.id, (7, 5, epoch)).await?;
    expect_head(journal, &neighbour.id, (0, 0, 1)).await
}

async fn report_no_writer_of_an_id_never_seen(subject: Subject<dyn Journal>) -> CaseResult {
    let journal = subject.store();
    subject.five_events().await?;
    let id = fresh_id();
    for _ in 0..3 {
        let head = journal.read_head(&id).await?;
        expect_eq("head of an id never seen", head, StreamHead::default())?;
    }
    let writer = Writer::holder_of(journal, &id).await?;
    expect_eq("first epoch", writer.taken.epoch, 1)
}

async fn tell_where_an_id_stands_after_a_restart(subject: Subject<dyn Journal>) -> CaseResult {
    let first = subject.five_events().await?;
    let next = Writer::holder_of(subject.store(), &first.id).await?;
    let deletion = EventDeletion::up_to(3);
    let journal = subject.store();
    journal.delete_messages_to(&first.id, deletion).await?;
    let epoch = next.taken.epoch;
    let subject = subject.restart().await?;
    expect_head(subject.store(), &first.id, (5, 3, epoch)).await?;
    let mut second = Writer::look(subject.store(), &first.id).await?;
    second.take_over(subject.store()).await?;
    let subject = subject.restart().await?;
    expect_head(subject.store(), &first.id, (6, 3, epoch + 1)).await?;
    second.store(subject.store(), 1).await?;
    expect_head(subject.store(), &first.id, (7, 3, epoch + 1)).await
}

async fn change_nothing_when_looking(subject: Subject<dyn Journal>) -> CaseResult {
    let journal = subject.store();
    let elsewhere = subject.another().await?;
    let mut writer = subject.five_events().await?;
    for number in 6..=10 {
        Writer::look(journal, &writer.id).await?;
        Writer::look(&*elsewhere, &writer.id).await?;
        // A look takes nothing from the writer.
        writer.store(journal, 1).await?;
        expect_highest(journal, &writer.id, number).await?;
    }
    expect_head(journal, &writer.id, (10, 0, 1)).await?;
    writer.expect_events(journal, 1..=10).await
}

async fn see_what_another_instance_did(subject: Subject<dyn Journal>) -> CaseResult {
    let journal = subject.store();
    let elsewhere = subject.another().await?;
    let id = fresh_id();
    // Something that could be kept in memory.
    expect_head(&*elsewhere, &id, (0, 0, 0)).await?;
    let mut writer = Writer::look(journal, &id).await?;
    for round in 0..3 {
        let highest = 2 * round;
        writer.take_over(journal).await?;
        let epoch = writer.taken.epoch;
        expect_head(&*elsewhere, &id, (highest + 1, highest, epoch)).await?;
        writer.store(journal, 1).await?;
        expect_head(&*elsewhere, &id, (highest + 2, highest, epoch)).await?;
        let deletion = EventDeletion::up_to(highest + 2);
        journal.delete_messages_to(&id, deletion).await?;
        expect_head(&*elsewhere, &id, (highest + 2, highest + 2, epoch)).await?;
        writer = Writer::holder_of(journal, &id).await?;
        let epoch = writer.taken.epoch;
        expect_head(&*elsewhere, &id, (highest + 2, highest + 2, epoch)).await?;
    }
    Ok(())
}

async fn tell_where_an_id_stands_as_of_one_moment(subject: Subject<dyn Journal>) -> CaseResult {
    const LAST: u64 = 40;
    let id = fresh_id();
    let reader = subject.another().await?;
    let (journal, written) = (subject.share(), id.clone());
    // Each takes over with one event, so that the epoch is the highest number at every look.
    let writing = tokio::spawn(async move {
        for _ in 0..LAST {
            let mut writer = Writer::look(&*journal, &written).await?;
            writer.take_over(&*journal).await?;
            let deletion = EventDeletion::up_to(writer.next - 1);
            journal.delete_messages_to(&written, deletion).await?;
            yield_now().await;
        }
        Ok::<_, Failure>(())
    });
    let mut seen = 0;
    while seen < LAST {
        yield_now().await;
        let ended = writing.is_finished();
        let head = reader.read_head(&id).await?;
        let highest = head.highest_sequence_nr;
        expect_eq(format!("epoch at number {highest}"), head.epoch, highest)?;
        expect(
            head.deleted_to == highest || head.deleted_to + 1 == highest,
            format!("everything before number {highest} to be deleted, found {head:?}"),
        )?;
        expect(
            highest >= seen,
            format!("a number not below {seen}, found {highest}"),
        )?;
        if ended {
            expect_eq("highest after the last write", highest, LAST)?;
        }
        seen = highest;
    }
    writing.await?
}
